package readmodel

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// A request can have 10,000 jobs. What is shown of so many is counted by Postgres: the tables are not asked for each of them.

// MaxListed is how many jobs of a request are shown one by one. More are folded, and shown by the page.
const MaxListed = graph.MaxDrawn

// foldRow is some jobs in one state.
type foldRow struct {
	Kind     events.JobKind `db:"kind"`
	Target   events.Target  `db:"target"`
	Set      events.Set     `db:"set"`
	State    string         `db:"state"`
	Jobs     int            `db:"jobs"`
	Optional bool           `db:"optional"`
	Sampled  bool           `db:"sampled"`
}

// lineRow says that some jobs need others.
type lineRow struct {
	Kind     events.JobKind `db:"kind"`
	Target   events.Target  `db:"target"`
	Set      events.Set     `db:"set"`
	OnKind   events.JobKind `db:"on_kind"`
	OnTarget events.Target  `db:"on_target"`
	OnSet    events.Set     `db:"on_set"`
	Ended    bool           `db:"ended"`
}

// groupsRead bounds how many groups of jobs are read.
const groupsRead = 10 * graph.MaxDrawn

// foldsAt returns groups of jobs, and at which depth from the given one on a drawing has room for them. read returns at most so
// many of them at a depth.
func foldsAt(copies int, from graph.Depth, read func(depth graph.Depth, limit int) ([]foldRow, error)) ([]graph.Group, graph.Depth, error) {
	for depth := from; ; depth++ {
		rows, err := read(depth, groupsRead)
		if err != nil {
			return nil, depth, err
		}
		if len(rows) == groupsRead && depth < graph.Whole {
			continue
		}
		groups := make([]graph.Group, len(rows))
		for i, row := range rows {
			groups[i] = graph.Group{Label: graph.Label{Kind: row.Kind, Target: row.Target, Set: row.Set}, State: row.State, Jobs: row.Jobs, Optional: row.Optional}
			if row.Sampled {
				groups[i].Copies = copies
			}
		}
		for depth < graph.Whole && !graph.Fits(boxes(groups, depth), 0) {
			depth++
		}
		return groups, depth, nil
	}
}

// boxes returns how many boxes a drawing of the groups has.
func boxes(groups []graph.Group, depth graph.Depth) int {
	parts := map[graph.Label]bool{}
	for _, g := range groups {
		parts[depth.Part(g.Label)] = true
	}
	return len(parts)
}

// foldGraph returns the drawing of a graph that is too large to draw each job.
func (r *Reader) foldGraph(ctx context.Context, q querier, g Graph) (graph.Drawing, error) {
	groups, depth, err := foldsAt(g.Copies, graph.ByLane, func(depth graph.Depth, limit int) ([]foldRow, error) {
		return all[foldRow](ctx, q, "graph_folds", g.RequestID, g.Number, depth, limit)
	})
	if err != nil {
		return graph.Drawing{}, err
	}
	for ; depth < graph.Whole; depth++ {
		between, err := r.between(ctx, q, g, depth)
		if err != nil {
			return graph.Drawing{}, err
		}
		if graph.Fits(0, len(between)) {
			return graph.Fold(groups, between, depth), nil
		}
	}
	return graph.Fold(groups, nil, depth), nil
}

// between returns which jobs of a graph need which others, at most one more than a drawing has room for. A graph that is sealed
// keeps its needs, so they are read once.
func (r *Reader) between(ctx context.Context, q querier, g Graph, depth graph.Depth) ([]graph.Between, error) {
	if g.Needs == 0 {
		return nil, nil
	}
	key := needsKey{g.RequestID, g.Number, g.CreatedSeq, depth}
	if known, ok := r.needs.get(key); ok {
		return known, nil
	}
	rows, err := all[lineRow](ctx, q, "graph_fold_lines", g.RequestID, g.Number, depth, graph.MaxLines+1)
	if err != nil {
		return nil, err
	}
	between := make([]graph.Between, len(rows))
	for i, row := range rows {
		between[i] = graph.Between{On: graph.Label{Kind: row.OnKind, Target: row.OnTarget, Set: row.OnSet}, Job: graph.Label{Kind: row.Kind, Target: row.Target, Set: row.Set}}
		if row.Ended {
			between[i].Until = events.UntilEnded
		}
	}
	if g.Sealed {
		r.needs.put(key, between)
	}
	return between, nil
}

// needsKey names the needs of a graph at a depth.
type needsKey struct {
	request events.RequestID
	graph   int
	created events.Seq
	depth   graph.Depth
}

// knownNeeds remembers what the jobs of large graphs need.
type knownNeeds struct {
	mu   sync.Mutex
	of   map[needsKey][]graph.Between
	keys []needsKey // the oldest first
}

// needsKept is of how many graphs a Reader remembers the needs.
const needsKept = 64

func (k *knownNeeds) get(key needsKey) ([]graph.Between, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.of[key]
	return known, ok
}

func (k *knownNeeds) put(key needsKey, between []graph.Between) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.of[key]; known {
		return
	}
	if len(k.keys) == needsKept {
		delete(k.of, k.keys[0])
		k.keys = k.keys[1:]
	}
	k.of[key], k.keys = between, append(k.keys, key)
}

// JobFold selects jobs of a request that are shown together.
type JobFold struct {
	// Graph is the number of their graph; negative for the jobs of the request, but for samples.
	Graph int
	// Kind, Target and Set are what they have in common. Empty ones, and a negative set, select all.
	Kind   events.JobKind
	Target events.Target
	Set    int
	// After is how many of them are left out, Limit how many are shown at most.
	After, Limit int
}

// FoldedJobs returns jobs of a request: what failed first, then what is skipped.
func (r *Reader) FoldedJobs(ctx context.Context, request events.RequestID, f JobFold) ([]Job, error) {
	return all[Job](ctx, r.pool, "fold_jobs", pgx.NamedArgs{
		"request": request, "graph": f.Graph, "kind": f.Kind, "target": f.Target, "set": f.Set, "limit": f.Limit, "offset": f.After,
	})
}

// RequestFolded is a request as its page shows it.
type RequestFolded struct {
	RequestJobs
	// Fold counts its jobs by kind, target and set, if they are more than MaxListed. JobList is empty then.
	Fold *graph.Drawing
	// Repairable says that the newest round of some job of the request failed or was cancelled.
	Repairable bool
}

// RequestFolded is Request for a page.
func (r *Reader) RequestFolded(ctx context.Context, id events.RequestID) (RequestFolded, error) {
	var found RequestFolded
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		list, err := requests(ctx, tx, RequestFilter{ID: id})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("request %s: %w", id, ErrNotFound)
		}
		found.Request = list[0]
		if found.Jobs.Total-found.Jobs.Retired > MaxListed {
			groups, depth, err := foldsAt(0, graph.ByLane, func(depth graph.Depth, limit int) ([]foldRow, error) {
				return all[foldRow](ctx, tx, "request_folds", id, depth, limit)
			})
			if err != nil {
				return err
			}
			fold := graph.Fold(groups, nil, depth)
			found.Fold = &fold
		} else if found.JobList, err = jobs(ctx, tx, JobFilter{Request: id, Base: true, Limit: everything}); err != nil {
			return err
		}
		repairable, err := values[bool](ctx, tx, "repairable", id)
		if err != nil {
			return err
		}
		found.Repairable = len(repairable) > 0 && repairable[0]
		found.Why, err = whyRequest(ctx, tx, found.Request)
		return err
	})
	return found, err
}

// causeRow is the cause of a skip.
type causeRow struct {
	JobID events.JobID `db:"job_id"`
	Cause events.JobID `db:"cause"`
	graph.Label
}

// SkippedBecause returns why the graphs of a request skip some of its jobs, or did when they ended, such as "because of
// smoke/linux/0/gc/opt". Jobs that no graph skips are left out.
func (r *Reader) SkippedBecause(ctx context.Context, request events.RequestID, jobs []events.JobID) (map[events.JobID]string, error) {
	rows, err := all[causeRow](ctx, r.pool, "skip_causes", request, jobs)
	why := map[events.JobID]string{}
	for _, row := range rows {
		why[row.JobID] = ""
		if row.Cause != "" {
			why[row.JobID] = "because of " + labelled(row.Cause, row.Label).fullName()
		}
	}
	return why, err
}

// fullName names the job without regard to others.
func (n GraphJob) fullName() string {
	if n.Kind == "" {
		return string(n.Label().Kind)
	}
	return n.Label().String()
}
