package projector

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
)

// graphKey names a graph: the request that has it, and its number there.
type graphKey struct {
	request events.RequestID
	number  int
}

// openGraph is a graph that may still change. One that has ended is in the state only while a batch names it.
type openGraph struct {
	row graphRow
	// rules is nil for a graph that had ended before the batch. jobs are the ids of its jobs by number, empty for those
	// that are not named yet.
	rules *graph.Graph
	jobs  []events.JobID
	// forced says why jobs run whatever became of what they need, by number.
	forced map[int]string
	// written is what its rows in graph_job were made from.
	written []standing
}

// standing is what tells the row of a job in a graph from the one before. Needs that are met stay met, so their number
// says which ones are.
type standing struct {
	job        events.JobID
	optional   bool
	state      graph.State
	cause      int
	needs, met int
	forced     string
	begun      bool
	outputs    int
	stale      bool
}

// place is a job's place in an open graph.
type place struct {
	graph  *openGraph
	number int
}

func newOpenGraph(row graphRow) *openGraph {
	g := &openGraph{
		row: row, rules: graph.New(row.Jobs, row.Needs), jobs: make([]events.JobID, row.Jobs), written: make([]standing, row.Jobs),
		forced: map[int]string{},
	}
	if row.OnFailure == events.FailFast {
		g.rules.FailFast()
	}
	return g
}

func (g *openGraph) key() graphKey { return graphKey{g.row.RequestID, g.row.Number} }

func (g *openGraph) ended() bool { return g.row.EndedAt != nil }

func (g *openGraph) has(number int) bool { return number >= 0 && number < len(g.jobs) }

// newRows returns the rows of the jobs that differ from what was written, and notes that they are.
func (g *openGraph) newRows() (rows []graphJobRow) {
	now := make([]standing, len(g.jobs))
	for i, id := range g.jobs {
		now[i] = standing{job: id, optional: g.rules.Optional(i), state: g.rules.State(i), cause: -1, forced: g.forced[i], begun: g.rules.Begun(i), outputs: len(g.rules.Outputs(i)), stale: g.rules.Stale(i)}
		if cause, skipped := g.rules.Cause(i); skipped {
			now[i].cause = cause
		}
	}
	g.rules.Needs(func(n graph.Need, met bool) {
		now[n.Job].needs++
		if met {
			now[n.Job].met++
		}
	})
	at := map[int]int{}
	for i, s := range now {
		if s == g.written[i] || s.job == "" && s.needs == 0 {
			continue
		}
		at[i] = len(rows)
		row := graphJobRow{
			RequestID: g.row.RequestID, Graph: g.row.Number, Number: i, JobID: s.job, Optional: s.optional, State: s.state, Needs: []readmodel.GraphNeed{},
			Forced: s.forced, Begun: s.begun, Outputs: append([]string{}, g.rules.Outputs(i)...), Stale: s.stale,
		}
		if s.cause >= 0 {
			row.SkippedBy = pointer(s.cause)
		}
		rows = append(rows, row)
	}
	g.rules.Needs(func(n graph.Need, met bool) {
		if i, differs := at[n.Job]; differs {
			rows[i].Needs = append(rows[i].Needs, readmodel.GraphNeed{On: n.On, Until: n.Until, Output: n.Output, Met: met})
		}
	})
	for _, row := range rows { // the needs of a graph that is not sealed are in the order of the log
		slices.SortFunc(row.Needs, func(a, b readmodel.GraphNeed) int {
			return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Until, b.Until), cmp.Compare(a.Output, b.Output))
		})
	}
	g.written = now
	return rows
}

// restore gives a graph the jobs and needs of its rows.
func (g *openGraph) restore(rows []*graphJobRow) {
	if g.row.Sealed {
		jobs, needs := make([]graph.Job, len(g.jobs)), make([]graph.Held, 0, g.row.Needs)
		for _, row := range rows {
			jobs[row.Number] = graph.Job{State: row.State, Optional: row.Optional, Forced: row.Forced != "", Begun: row.Begun, Outputs: row.Outputs}
			for _, n := range row.Needs {
				needs = append(needs, graph.Held{Need: graph.Need{Job: row.Number, On: n.On, Until: n.Until, Output: n.Output}, Met: n.Met})
			}
		}
		g.rules = graph.Restore(g.row.OnFailure, jobs, needs)
	} else {
		named := 0
		for _, row := range rows {
			if row.JobID != "" {
				g.rules.Add(row.Number, row.Optional, endOf(row.State))
			}
			if row.Begun {
				g.rules.Begin(row.Number)
			}
			for _, name := range row.Outputs {
				g.rules.Stored(row.Number, name)
			}
			for _, n := range row.Needs {
				g.rules.Need(graph.Need{Job: row.Number, On: n.On, Until: n.Until, Output: n.Output})
				named++
			}
		}
		for ; named < g.row.Needs-g.row.LeftNeeds; named++ {
			g.rules.Need(graph.Need{}) // one that could not be counts as named
		}
	}
	for _, row := range rows {
		if g.jobs[row.Number] = row.JobID; row.Forced != "" {
			g.forced[row.Number] = row.Forced
		}
	}
	g.newRows()
}

// endOf returns the end that a state is; empty for none.
func endOf(s graph.State) events.Outcome {
	if s == graph.Succeeded || s == graph.Failed || s == graph.Cancelled {
		return events.Outcome(s)
	}
	return ""
}

// loadGraphs reads the graphs that have not ended.
func (s *state) loadGraphs(ctx context.Context, conn *pgx.Conn) error {
	err := each(ctx, conn, "load_graphs", "graph", func(row *graphRow) {
		g := newOpenGraph(*row)
		s.graphs[g.key()] = g
	})
	if err != nil {
		return err
	}
	rows := make(map[graphKey][]*graphJobRow)
	err = each(ctx, conn, "load_graph_jobs", "graph_job", func(row *graphJobRow) {
		key := graphKey{row.RequestID, row.Graph}
		rows[key] = append(rows[key], row)
	})
	if err != nil {
		return err
	}
	for key, g := range s.graphs {
		g.restore(rows[key])
		for number, id := range g.jobs {
			s.enter(g, number, id)
		}
	}
	return nil
}

// batchGuestGraphs reads those of the graphs that have ended. They are in the state only so that none is made twice.
func (s *state) batchGuestGraphs(queries *pgx.Batch, wanted map[graphKey]bool) {
	var requests []events.RequestID
	var numbers []int
	for key := range wanted {
		requests, numbers = append(requests, key.request), append(numbers, key.number)
	}
	guests(queries, "guest_graphs", "graph", func(row *graphRow) {
		g := &openGraph{row: *row}
		s.graphs[g.key()] = g
	}, requests, numbers)
}

// enter notes that a job has a place in an open graph. No scheduler gives it two in one graph; if one does, their order must
// not depend on the batches.
func (s *state) enter(g *openGraph, number int, id events.JobID) {
	if id == "" {
		return
	}
	s.places[id] = append(s.places[id], place{g, number})
	slices.SortStableFunc(s.places[id], func(a, b place) int { return cmp.Compare(a.number, b.number) })
}

// leave forgets the place of a job in a graph.
func (s *state) leave(g *openGraph, number int) {
	id := g.jobs[number]
	left := slices.DeleteFunc(s.places[id], func(p place) bool { return p == place{g, number} })
	if s.places[id] = left; len(left) == 0 {
		delete(s.places, id)
	}
}

// forgetGraphs drops graphs that have ended, after they were written.
func (s *state) forgetGraphs() {
	for key, g := range s.graphs {
		if g.ended() {
			delete(s.graphs, key)
		}
	}
}

// batchGraphs adds the statements that store graphs, and those of their jobs that differ from before.
func (s *state) batchGraphs(b *pgx.Batch) error {
	var graphs []graphRow
	var jobs []graphJobRow
	for key := range s.dirtyGraphs {
		g := s.graphs[key]
		graphs, jobs = append(graphs, g.row), append(jobs, g.newRows()...)
	}
	if err := put(b, "graph", graphs); err != nil {
		return err
	}
	return put(b, "graph_job", jobs)
}
