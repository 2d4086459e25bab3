package readmodel

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// GraphShown is a graph as the page of its request shows it.
type GraphShown struct {
	// Graph has Nodes only if Fold is nil and Drawn is set.
	Graph
	// Drawn says that the page has room for it. Fold is its drawing if it is too large to show each job.
	Drawn bool
	Fold  *graph.Drawing
}

// What a page draws at most: of all graphs so many boxes and lines, but for the first one, and so many graphs at all.
const (
	roomOnPage  = graph.MaxDrawn + graph.MaxLines
	graphsShown = 50
)

// GraphsShown returns the graphs of a request for its page, by number, and how many it leaves out: the oldest ones that people
// asked for. The chosen one is drawn in any case; negative for none. Others are drawn while the page has room.
func (r *Reader) GraphsShown(ctx context.Context, request events.RequestID, chosen int) (shown []GraphShown, more int, err error) {
	err = r.snapshot(ctx, func(tx pgx.Tx) error {
		list, err := all[Graph](ctx, tx, "graphs", request)
		if err != nil {
			return err
		}
		order := pageOrder(list, chosen)
		more = len(order) - min(len(order), graphsShown)
		order = order[:len(order)-more]
		whole := []int{} // the numbers of those whose jobs are shown one by one
		room := roomOnPage
		for i, at := range order {
			s := GraphShown{Graph: list[at]}
			cost := s.Jobs + s.Needs
			switch {
			case room <= 0:
			case s.Jobs <= graph.MaxDrawn && s.Needs <= graph.MaxLines:
				if s.Drawn = i == 0 || cost <= room; s.Drawn {
					whole = append(whole, s.Number)
				}
			default:
				fold, err := r.foldGraph(ctx, tx, s.Graph)
				if err != nil {
					return err
				}
				cost = len(fold.Boxes) + len(fold.Lines)
				if s.Drawn = i == 0 || cost <= room; s.Drawn {
					s.Fold = &fold
				}
			}
			if s.Drawn {
				room -= cost
			}
			shown = append(shown, s)
		}
		slices.SortFunc(shown, func(a, b GraphShown) int { return a.Number - b.Number })
		if len(whole) == 0 {
			return nil
		}
		nodes, err := all[GraphJob](ctx, tx, "graph_jobs", request, whole)
		for i := range shown {
			for ; len(nodes) > 0 && nodes[0].Graph == shown[i].Number; nodes = nodes[1:] {
				shown[i].Nodes = append(shown[i].Nodes, nodes[0])
			}
		}
		return err
	})
	return shown, more, err
}

// pageOrder returns the places of graphs in the order in which a page gives them room: the chosen one, those that the request
// waits for, and then the newest.
func pageOrder(list []Graph, chosen int) []int {
	order := make([]int, len(list))
	rank := func(at int) int {
		switch {
		case list[at].Number == chosen:
			return 0
		case list[at].Kind == events.GraphInitial || list[at].Kind == events.GraphBackfill:
			return 1 + at
		}
		return 1 + 2*len(list) - at
	}
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	return order
}

// Neighbour is a job that another one of its graph needs, or that needs it.
type Neighbour struct {
	JobID events.JobID
	Name  string
	State string
	// Until and Met are those of the need.
	Until events.Until
	Met   bool
	// Output is the output that meets it; empty for the end of the job.
	Output string
}

// Neighbours are what a job needs and what needs it in one graph.
type Neighbours struct {
	RequestID events.RequestID
	Number    int
	// Needs and NeededBy have the first ones; MoreNeeds and MoreNeededBy count the others.
	Needs, NeededBy         []Neighbour
	MoreNeeds, MoreNeededBy int
	// Skipped says that the graph skips the job, and Because for which one, such as "because of smoke".
	Skipped bool
	Because string
}

// graphsWith is in how many graphs the neighbours of a job are read.
const graphsWith = 10

// neighbourRow is a row of the query for the neighbours of a job.
type neighbourRow struct {
	Side     int          `db:"side"`
	SideJobs int          `db:"side_jobs"`
	Until    events.Until `db:"until"`
	Met      bool         `db:"met"`
	Output   string       `db:"output"`
	Number   int          `db:"number"`
	JobID    events.JobID `db:"job_id"`
	State    string       `db:"state"`
	graph.Label
	Sample string `db:"sample"`
}

// node returns the job of the row.
func (n neighbourRow) node() GraphJob {
	node := labelled(n.JobID, n.Label)
	node.Sample = n.Sample
	return node
}

// labelled returns a job of which only the label is known.
func labelled(id events.JobID, l graph.Label) GraphJob {
	return GraphJob{JobID: id, Kind: l.Kind, Target: l.Target, Set: l.Set, Backend: l.Backend, Profile: l.Profile}
}

// differs says in which parts of their labels the jobs of a kind differ.
type differs struct {
	Kind    events.JobKind `db:"kind"`
	Target  bool           `db:"target"`
	Set     bool           `db:"set"`
	Backend bool           `db:"backend"`
	Profile bool           `db:"profile"`
}

// Neighbours returns what a job needs and what needs it, at most limit of each, in the graphs that have it: those of the newest
// request first. A graph has the newest round of a job only.
func (r *Reader) Neighbours(ctx context.Context, job events.JobID, limit int) ([]Neighbours, error) {
	var list []Neighbours
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		graphs, err := all[Graph](ctx, tx, "graphs_with", job, graphsWith)
		if err != nil {
			return err
		}
		for _, g := range graphs {
			rows, err := all[neighbourRow](ctx, tx, "graph_of_job", job, g.RequestID, g.Number, limit)
			if err != nil {
				return err
			}
			var kinds []events.JobKind
			for _, row := range rows {
				kinds = append(kinds, row.Kind)
			}
			parts, err := all[differs](ctx, tx, "graph_kinds", g.RequestID, g.Number, kinds)
			if err != nil {
				return err
			}
			list = append(list, neighbours(g, rows, parts))
		}
		return nil
	})
	return list, err
}

// The sides of a job in a graph.
const (
	itself = iota
	needed
	needing
	skipper
)

func neighbours(g Graph, rows []neighbourRow, parts []differs) Neighbours {
	differ := map[events.JobKind][5]bool{}
	for _, p := range parts {
		differ[p.Kind] = [5]bool{false, p.Target, p.Set, p.Backend, p.Profile}
	}
	n := Neighbours{RequestID: g.RequestID, Number: g.Number}
	for _, row := range rows {
		node := row.node()
		name := node.Label().Short(differ[node.Label().Kind])
		if sample := node.sampleName(); sample != "" {
			name += " · " + sample
		}
		one := Neighbour{JobID: row.JobID, Name: name, State: row.State, Until: row.Until, Met: row.Met, Output: row.Output}
		switch row.Side {
		case itself:
			n.Skipped = row.State == string(graph.Skipped)
		case needed:
			n.Needs = append(n.Needs, one)
			n.MoreNeeds = row.SideJobs - len(n.Needs)
		case needing:
			n.NeededBy = append(n.NeededBy, one)
			n.MoreNeededBy = row.SideJobs - len(n.NeededBy)
		case skipper:
			if n.Skipped {
				n.Because = "because of " + name
			}
		}
	}
	return n
}
