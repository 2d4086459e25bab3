package graph

import "slices"

// Stored notes that the newest round of a job has stored an output: needs of it are met, for ever. Before the graph is
// settled it notes those of jobs that had stored them before. It returns the jobs whose state changed, by number.
func (g *Graph) Stored(number int, output string) []Change {
	if !g.has(number) || output == "" || slices.Contains(g.stored[number], output) {
		return nil
	}
	g.keep(number, append(slices.Clip(g.stored[number]), output))
	if !g.settled {
		return nil
	}
	w := newWalk(g)
	for i := g.from[number]; i < g.from[number+1]; i++ {
		e := &g.edges[i]
		if e.met || e.output != output {
			continue
		}
		to := &g.nodes[e.job]
		to.dead -= e.dies(g.nodes[number].state)
		e.met = true
		to.unmet--
		w.next = append(w.next, int(e.job))
	}
	return w.changes()
}

// keep notes the outputs of a job, sorted.
func (g *Graph) keep(number int, outputs []string) {
	if len(outputs) == 0 {
		return
	}
	if g.stored == nil {
		g.stored = map[int][]string{}
	}
	g.stored[number] = slices.Sorted(slices.Values(outputs))
}

// lose forgets the outputs of a job that runs again.
func (g *Graph) lose(number int) {
	if delete(g.stored, number); len(g.stored) == 0 {
		g.stored = nil
	}
}

// Outputs returns those that the newest round of a job has stored, sorted.
func (g *Graph) Outputs(number int) []string { return g.stored[number] }

// Stale reports whether a job uses an output of one whose newest round has failed since. The job is not undone: who looks
// at it should know.
func (g *Graph) Stale(number int) bool {
	if !g.settled || !g.has(number) || g.nodes[number].state == Skipped || g.nodes[number].forced {
		return false
	}
	return slices.ContainsFunc(g.ins[g.into[number]:g.into[number+1]], func(i int32) bool {
		e := g.edges[i]
		return e.met && e.output != "" && g.nodes[e.on].state.bad()
	})
}

// Inputs calls f with each output that a job uses, in the order of the needed jobs.
func (g *Graph) Inputs(number int, f func(on int, output string)) {
	if !g.settled || !g.has(number) {
		return
	}
	for _, i := range g.ins[g.into[number]:g.into[number+1]] {
		if e := g.edges[i]; e.output != "" {
			f(int(e.on), e.output)
		}
	}
}

// Uses calls f with each job that uses an output of another one.
func (g *Graph) Uses(number int, output string, f func(job int)) {
	if !g.settled || !g.has(number) {
		return
	}
	for _, e := range g.edges[g.from[number]:g.from[number+1]] {
		if e.output == output {
			f(int(e.job))
		}
	}
}

// UnmetOutput reports whether a job needs an output of another one that was never stored.
func (g *Graph) UnmetOutput(number, on int, output string) bool {
	if !g.settled || !g.has(number) {
		return false
	}
	return slices.ContainsFunc(g.ins[g.into[number]:g.into[number+1]], func(i int32) bool {
		e := g.edges[i]
		return int(e.on) == on && e.output == output && !e.met
	})
}
