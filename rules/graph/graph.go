// Package graph says which jobs of a request may run: those whose needs are met.
//
// A graph is a set of jobs, numbered from 0, and what they need. It is sealed: it never gets another job. A job may run
// again in it, which is the next round of the same job.
//
//	blocked ──every need is met──▶ ready ──▶ success | failure | cancelled
//	   │ ▲                                    (the end of the job's newest round)
//	   ▼ │ the job that failed runs again
//	skipped
//
// Only the ends of jobs are in the log. What follows from them is computed here, once: the scheduler and the projector
// both call this package, so they cannot differ.
package graph

import (
	"cmp"
	"slices"

	"github.com/tachobench/tacho/events"
)

// The most that a graph may have.
const (
	MaxJobs  = 10_000
	MaxNeeds = 100_000
)

// State is the closed set of states of a job in a graph.
type State string

// The states of a job in a graph.
const (
	// Blocked: a need is not met yet.
	Blocked State = "blocked"
	// Ready: every need is met. The job itself knows whether it waits or runs.
	Ready State = "ready"
	// Skipped: a need cannot be met, because a job failed.
	Skipped State = "skipped"
	// Succeeded, Failed and Cancelled are the ends of the newest round.
	Succeeded State = "success"
	Failed    State = "failure"
	Cancelled State = "cancelled"
)

// Over reports whether nothing more happens to the job unless another one runs again, or it does itself.
func (s State) Over() bool { return s != Blocked && s != Ready }

// bad reports whether those who need a success cannot have it from a job in this state.
func (s State) bad() bool { return s.Over() && s != Succeeded }

// Need says that one job waits for another one. Both are numbers.
type Need struct {
	Job   int          `json:"job"`
	On    int          `json:"on"`
	Until events.Until `json:"until,omitempty"`
	// Output is the output of the other job that the need is met by; empty for one that is met by its end.
	Output string `json:"output,omitempty"`
}

// Graph is the jobs of one graph in their states. Make it with New or Restore.
type Graph struct {
	nodes []node
	// edges are sorted by On, then by Job. from has, for each job, its first edge as the one that is needed. ins has
	// the edges of the jobs that need, sorted by Job, then by On; into has, for each job, its first one there.
	edges []edge
	from  []int32
	into  []int32
	ins   []int32
	// jobs and needs are how many are still to be named. left counts the jobs that are not over, open the required ones
	// among them.
	jobs, needs, left, open int
	settled                 bool
	// failFast says that a required job that failed stops the jobs that have not begun. stop is the first such job, by number;
	// none if there is none.
	failFast bool
	stop     int32
	// stored are the outputs of the newest rounds, by number.
	stored map[int][]string
}

// none is the cause of a job that is not skipped.
const none = -1

type node struct {
	state    State
	known    bool
	optional bool
	forced   bool
	// begun is set in a fail-fast graph once the round was dispatched: it ends then, whatever fails. So does a round that is
	// made while the graph is stopped.
	begun bool
	// unmet counts its needs that are not met yet, dead those of them that cannot be met now.
	unmet, dead int32
	// cause is the job that failed, of a skipped one; else none.
	cause int32
}

// edge is a need, seen from the job that is needed.
type edge struct {
	on, job int32
	ended   bool // any end meets it
	met     bool
	output  string // this output meets it; empty for none
}

// meets reports whether the end of the needed job meets the need.
func (e edge) meets(s State) bool { return e.output == "" && (s == Succeeded || e.ended && s.Over()) }

// dies returns 1 if a need that is not met cannot be met by a job in this state.
func (e edge) dies(s State) int32 {
	if !e.ended && (s.bad() || e.output != "" && s.Over()) {
		return 1
	}
	return 0
}

// New returns a graph that will have so many jobs and needs. It is empty until Add and Need have named all of them.
// Numbers outside the limits count as the limits.
func New(jobs, needs int) *Graph {
	g := &Graph{stop: none, jobs: min(max(jobs, 0), MaxJobs), needs: min(max(needs, 0), MaxNeeds)}
	g.nodes, g.edges = make([]node, g.jobs), make([]edge, 0, g.needs)
	for i := range g.nodes {
		g.nodes[i] = node{state: Blocked, cause: none}
	}
	return g
}

// FailFast lets the failure of a required job skip every job that has not begun. It must be said before the graph is settled.
func (g *Graph) FailFast() { g.failFast = true }

// Add names a job of the graph. end is how it ended before the graph was made; empty if it has not. A number that the
// graph does not have, or has had, changes nothing.
func (g *Graph) Add(number int, optional bool, end events.Outcome) {
	if g.settled || !g.has(number) || g.nodes[number].known {
		return
	}
	n := &g.nodes[number]
	n.known, n.optional = true, optional
	if end != "" {
		n.state = State(end)
	}
	g.jobs--
}

// Need names a need. One that names a job that the graph does not have changes nothing but the count.
func (g *Graph) Need(n Need) {
	if g.settled || g.needs == 0 {
		return
	}
	g.needs-- // one that cannot be is counted, too, so that the graph becomes complete
	if g.has(n.Job) && g.has(n.On) && n.Job != n.On {
		g.edges = append(g.edges, edge{on: int32(n.On), job: int32(n.Job), ended: n.Until == events.UntilEnded && n.Output == "", output: n.Output})
	}
}

func (g *Graph) has(number int) bool { return number >= 0 && number < len(g.nodes) }

// Complete reports whether all jobs and needs are named.
func (g *Graph) Complete() bool { return g.jobs == 0 && g.needs == 0 }

// Len returns the number of jobs.
func (g *Graph) Len() int { return len(g.nodes) }

// Settled reports whether the graph is sealed and its jobs have their states.
func (g *Graph) Settled() bool { return g.settled }

// Open counts the required jobs that are not over, Left all that are not.
func (g *Graph) Open() int { return g.open }
func (g *Graph) Left() int { return g.left }

// State returns the state of a job; Blocked for a number that the graph does not have.
func (g *Graph) State(number int) State {
	if !g.has(number) {
		return Blocked
	}
	return g.nodes[number].state
}

// Optional reports whether the graph ends without waiting for the job.
func (g *Graph) Optional(number int) bool { return g.has(number) && g.nodes[number].optional }

// Cause returns the job because of whose end a job is skipped; false if it is not skipped.
func (g *Graph) Cause(number int) (int, bool) {
	if !g.has(number) || g.nodes[number].state != Skipped {
		return 0, false
	}
	return int(g.nodes[number].cause), true
}

// Forced reports whether a job runs whatever became of those that it needs.
func (g *Graph) Forced(number int) bool { return g.has(number) && g.nodes[number].forced }

// Needs calls f with each need, and whether it is met, in the order of the needed jobs.
func (g *Graph) Needs(f func(n Need, met bool)) {
	for _, e := range g.edges {
		until := events.UntilSuccess
		if e.ended {
			until = events.UntilEnded
		}
		f(Need{Job: int(e.job), On: int(e.on), Until: until, Output: e.output}, e.met)
	}
}

// Unmet reports whether a job has a need on another one that is not met.
func (g *Graph) Unmet(number, on int) bool {
	if !g.settled || !g.has(number) {
		return false
	}
	return slices.ContainsFunc(g.ins[g.into[number]:g.into[number+1]], func(i int32) bool { return int(g.edges[i].on) == on && !g.edges[i].met })
}

// Change is a job that is in another state than before, or skipped because of another job.
type Change struct {
	Job      int
	Was, Now State
}

// Settle seals a complete graph and gives its jobs their first states. It returns those that are not blocked, by number.
// A graph that is not complete, or is settled, does not change.
func (g *Graph) Settle() []Change {
	if g.settled || !g.Complete() {
		return nil
	}
	g.settled = true
	g.sortEdges()
	for i := range g.edges {
		e := &g.edges[i]
		if e.met = e.output != "" && slices.Contains(g.stored[int(e.on)], e.output); !e.met {
			g.nodes[e.job].unmet++
		}
	}
	ends := map[int]State{}
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.state != Blocked {
			ends[i] = n.state
			n.state = Blocked
		}
		if !n.optional {
			g.open++
		}
		g.left++
	}
	w := newWalk(g)
	for i := range g.nodes {
		if end, ended := ends[i]; ended {
			w.set(i, end, none)
		} else {
			w.look(i)
		}
	}
	return w.changes()
}

// sortEdges sorts the edges and finds the first one of each job.
func (g *Graph) sortEdges() {
	slices.SortStableFunc(g.edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.on, b.on), cmp.Compare(a.job, b.job), cmp.Compare(a.output, b.output))
	})
	g.from, g.into = make([]int32, len(g.nodes)+1), make([]int32, len(g.nodes)+1)
	for _, e := range g.edges {
		g.from[e.on+1]++
		g.into[e.job+1]++
	}
	for i := range g.nodes {
		g.from[i+1] += g.from[i]
		g.into[i+1] += g.into[i]
	}
	g.ins = make([]int32, len(g.edges))
	next := slices.Clone(g.into)
	for i, e := range g.edges { // in the order of On
		g.ins[next[e.job]] = int32(i)
		next[e.job]++
	}
}

// End notes how the newest round of a job ended. It returns the jobs whose state changed, by number, the job itself
// among them. A skipped job that is cancelled stays skipped: that is why it was.
func (g *Graph) End(number int, end events.Outcome) []Change {
	if !g.settled || !g.has(number) || end == "" || end == events.Cancelled && g.nodes[number].state == Skipped {
		return nil
	}
	w := newWalk(g)
	w.set(number, State(end), none)
	return w.changes()
}

// Again notes that a job that was over runs again. Its needs that were met stay met, and so do those on it: its outputs
// are to come again for the others only. It returns
// the jobs whose state changed, by number.
func (g *Graph) Again(number int) []Change {
	if !g.settled || !g.has(number) || !g.nodes[number].state.Over() {
		return nil
	}
	g.lose(number)
	w := newWalk(g)
	w.set(number, Blocked, none)
	g.nodes[number].begun = g.stop != none // somebody asks for it, although the graph is stopped
	w.look(number)
	return w.changes()
}

// Begin notes that the newest round of a job was dispatched. It returns the jobs whose state changed, by number: the job
// itself if it was skipped at the same moment, and what depends on it.
func (g *Graph) Begin(number int) []Change {
	if !g.failFast || !g.has(number) || g.nodes[number].begun || g.settled && g.nodes[number].state.Over() && g.nodes[number].state != Skipped {
		return nil
	}
	g.nodes[number].begun = true
	if !g.settled {
		return nil
	}
	w := newWalk(g)
	w.look(number)
	return w.changes()
}

// Rule returns what the failure of a required job means for the others.
func (g *Graph) Rule() events.OnFailure {
	if g.failFast {
		return events.FailFast
	}
	return events.KeepGoing
}

// Begun reports whether the newest round of a job goes on whatever fails. It is false in graphs where that means nothing.
func (g *Graph) Begun(number int) bool { return g.has(number) && g.nodes[number].begun }

// Force lets the needs of a job that is blocked or skipped count as met, for good. It returns the jobs whose state changed,
// by number: none if the job does not wait for others.
func (g *Graph) Force(number int) []Change {
	if !g.settled || !g.has(number) || g.nodes[number].state != Blocked && g.nodes[number].state != Skipped {
		return nil
	}
	n := &g.nodes[number]
	n.forced, n.unmet, n.dead = true, 0, 0
	for _, i := range g.ins[g.into[number]:g.into[number+1]] {
		g.edges[i].met = true
	}
	w := newWalk(g)
	w.look(number)
	return w.changes()
}
