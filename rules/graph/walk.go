package graph

import (
	"cmp"
	"slices"
)

// walk changes the states of jobs, and then those that follow from them. It looks at a job once for each need on it
// that changes.
type walk struct {
	g *Graph
	// was has what the jobs were before the walk, next those to look at.
	was  map[int]before
	next []int
	// freed is set when the graph is not stopped any more.
	freed bool
}

// before is a state with its cause.
type before struct {
	state State
	cause int32
}

func newWalk(g *Graph) *walk { return &walk{g: g, was: map[int]before{}} }

// set gives a job a state, and counts what it means for those who need the job.
func (w *walk) set(number int, now State, cause int32) {
	n := &w.g.nodes[number]
	was := before{n.state, n.cause}
	if was == (before{now, cause}) {
		return
	}
	if _, seen := w.was[number]; !seen {
		w.was[number] = was
	}
	more := isOpen(now) - isOpen(was.state)
	w.g.left += more
	if !n.optional {
		w.g.open += more
	}
	n.state, n.cause = now, cause
	w.stop(number)
	for i := w.g.from[number]; i < w.g.from[number+1]; i++ {
		e := &w.g.edges[i]
		if e.met {
			continue
		}
		to := &w.g.nodes[e.job]
		to.dead += e.dies(now) - e.dies(was.state)
		if e.meets(now) && (now != Skipped || w.g.stop == none) {
			e.met = true
			to.unmet--
		}
		if now.Over() || was.state.Over() {
			w.next = append(w.next, int(e.job))
		}
	}
}

// stop finds anew which job stops a fail-fast graph, after one has another state. What a stopped graph skips meets no need:
// when it goes on, the jobs run in their order.
func (w *walk) stop(number int) {
	g := w.g
	failed := g.nodes[number].state == Failed && !g.nodes[number].optional
	was := g.stop
	switch {
	case !g.failFast || failed == (was == int32(number)) || failed && was != none && int(was) < number:
		return
	case failed:
		g.stop = int32(number)
	default:
		g.stop = none
		for i, n := range g.nodes {
			if n.state == Failed && !n.optional {
				g.stop = int32(i)
				break
			}
		}
	}
	w.freed = g.stop == none
	for i, n := range g.nodes {
		if !n.state.Over() || n.state == Skipped {
			w.next = append(w.next, i)
		}
	}
}

// free lets the needs be met that were not while the graph was stopped, by jobs that stay skipped.
func (w *walk) free() {
	w.freed = false
	for i := range w.g.edges {
		if e := &w.g.edges[i]; e.ended && !e.met && w.g.nodes[e.on].state == Skipped {
			e.met = true
			w.g.nodes[e.job].unmet--
			w.next = append(w.next, int(e.job))
		}
	}
}

func isOpen(s State) int {
	if s.Over() {
		return 0
	}
	return 1
}

// look gives a job that has not ended the state that follows from its needs.
func (w *walk) look(number int) {
	n := &w.g.nodes[number]
	switch {
	case n.state.Over() && n.state != Skipped:
	case n.dead > 0:
		w.set(number, Skipped, w.cause(number))
	case w.g.stop != none && !n.begun && !n.forced:
		w.set(number, Skipped, w.g.stop)
	case n.unmet > 0:
		w.set(number, Blocked, none)
	default:
		w.set(number, Ready, none)
	}
}

// cause returns the job that failed because of which a job is skipped: through the first of its needs that cannot be
// met.
func (w *walk) cause(number int) int32 {
	for _, i := range w.g.ins[w.g.into[number]:w.g.into[number+1]] {
		e := w.g.edges[i]
		if on := w.g.nodes[e.on]; !e.met && e.dies(on.state) > 0 {
			if on.state == Skipped {
				return on.cause
			}
			return e.on
		}
	}
	return none
}

// changes lets everything follow that depends on what was set, and returns what changed, by number.
func (w *walk) changes() []Change {
	for len(w.next) > 0 || w.freed {
		if len(w.next) == 0 {
			w.free()
			continue
		}
		number := w.next[0]
		w.next = w.next[1:]
		w.look(number)
	}
	var all []Change
	for number, was := range w.was {
		if n := w.g.nodes[number]; was != (before{n.state, n.cause}) {
			all = append(all, Change{number, was.state, n.state})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Compare(a.Job, b.Job) })
	return all
}
