package ledger

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// Stuck is a graph in which nothing can happen any more, although jobs of it have not ended. No scheduler makes such a
// graph.
type Stuck struct {
	*Graph
	// Job waits for On, by their numbers. Both are -1 if jobs or needs of the graph were never named.
	Job, On int
}

// Stuck returns the open graphs in which nothing can happen any more: of the jobs that have not ended, none is ready or on
// a lane, and no wish and no cancellation is on its way.
func (l *Ledger) Stuck() (all []Stuck) {
	for _, id := range slices.Sorted(maps.Keys(l.Graphs)) {
		r := l.Requests[id]
		if r == nil || len(r.Wishes) > 0 {
			continue
		}
		for _, g := range l.Graphs[id] {
			switch {
			case g.Cancelled, l.Stopped(id) && (g.Kind == events.GraphInitial || g.Kind == events.GraphBackfill):
			case !g.States.Settled():
				if l.Owed == 0 { // else the rest of its batch is still to come
					all = append(all, Stuck{g, -1, -1})
				}
			case g.States.Left() > 0 && !slices.ContainsFunc(g.numbers(), func(i int) bool { return l.goesOn(g, i) }):
				all = append(all, l.stuckAt(g))
			}
		}
	}
	return all
}

// numbers returns the numbers of the jobs of the graph.
func (g *Graph) numbers() []int {
	all := make([]int, len(g.Jobs))
	for i := range all {
		all[i] = i
	}
	return all
}

// goesOn reports whether a job of a graph that has not ended there will end by itself.
func (l *Ledger) goesOn(g *Graph, number int) bool {
	if g.States.State(number).Over() { // most of the first ones are
		return false
	}
	j, ok := l.Jobs[g.Jobs[number]]
	return ok && !j.State.Terminal() && (j.Place > 0 || !l.Held(j))
}

// stuckAt finds a need in a stuck graph that cannot be met: the first one on a job that was never made, or else the first
// one. A job that was never made and that none needs is named as if it needed itself.
func (l *Ledger) stuckAt(g *Graph) Stuck {
	at := Stuck{g, -1, -1}
	g.States.Needs(func(n graph.Need, met bool) {
		_, there := l.Jobs[g.Jobs[n.On]]
		_, before := l.Jobs[g.Jobs[max(at.On, 0)]]
		if !met && !g.States.State(n.Job).Over() && (at.Job < 0 || before && !there) {
			at.Job, at.On = n.Job, n.On
		}
	})
	for i := range g.Jobs {
		if at.Job < 0 && !g.States.State(i).Over() {
			at.Job, at.On = i, i
		}
	}
	return at
}
