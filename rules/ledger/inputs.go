package ledger

import (
	"cmp"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// Builds reports whether a job builds, uses what others built, or is a chunk: only collectors that know how get it.
func (j *Job) Builds() bool {
	return j.Uses || j.like.Tokens != nil || j.of.more != nil && (j.of.more.recipe != "" || j.of.more.checkouts != "" || j.of.more.of > 0)
}

// able reports whether the collector that serves the lane of a job can execute it. One that cannot does not hold the lane up: the job
// leaves its seat, so the next one has its turn. Which machine a matched job gets is decided by its class.
func (l *Ledger) able(j *Job) bool {
	if j.like.Matched || !j.Builds() {
		return true
	}
	lane, ok := l.Lanes[j.like.Part()]
	return ok && lane.builds
}

// knowsBuilds reports whether the collector of a lane can build. While no collector serves the lane, it is not known.
func (l *Ledger) knowsBuilds(lane *Lane) bool {
	c := l.Collectors[lane.Assignment.Serving]
	return c != nil && c.Builds
}

// noteUse notes that a job of a graph uses an output of another one. One that is in a line already keeps its place there.
func (l *Ledger) noteUse(g *Graph, number int) {
	if number < 0 || number >= len(g.Jobs) {
		return
	}
	if j, ok := l.Jobs[g.Jobs[number]]; ok && !j.lined && !j.Uses {
		j.fares(func(c *course) { c.Uses = true })
	}
}

// Inputs returns the outputs that a job uses: that of its artifact first, then in the order of the needs of its kind. One
// that is not known any more is left out: its collector says so.
func (l *Ledger) Inputs(j *Job) []events.Input {
	inputs, _ := l.inputs(j)
	return inputs
}

// inputs is Inputs, and whether all of them are known.
func (l *Ledger) inputs(j *Job) (inputs []events.Input, all bool) {
	if !j.Uses {
		return nil, true
	}
	at, ok := l.readyIn(j)
	if !ok {
		return nil, false // its graph has ended
	}
	all = true
	at.graph.States.Inputs(at.number, func(on int, output string) {
		in, known := l.inputOf(at.graph.Jobs[on], output)
		if all = all && known; known {
			inputs = append(inputs, in)
		}
	})
	d := l.Definitions[j.of.definitions]
	slices.SortStableFunc(inputs, func(a, b events.Input) int { return cmp.Compare(orderOf(d, j, a), orderOf(d, j, b)) })
	return inputs, all
}

// readyIn returns a place of a job in a graph that lets it run; false if there is none.
func (l *Ledger) readyIn(j *Job) (place, bool) {
	for _, at := range l.in[j.ID] {
		if at.graph.States.State(at.number) == graph.Ready {
			return at, true
		}
	}
	return place{}, false
}

// inputOf returns what a job yielded under a name, or else what its last round did that yielded it.
func (l *Ledger) inputOf(id events.JobID, output string) (events.Input, bool) {
	rounds := []events.JobID{id}
	if j, ok := l.Jobs[id]; ok {
		rounds = append(j.Spec().Earlier(), id)
	}
	for _, round := range slices.Backward(rounds) {
		if y, ok := l.OutputOf(round, output); ok {
			return events.Input{Output: y.Output, JobID: round, Kind: y.Kind, Lane: y.Lane}, true
		}
	}
	return events.Input{}, false
}

// orderOf returns the place of an input among the needs of a job's kind.
func orderOf(d suite.Definitions, j *Job, in events.Input) int {
	k, _ := d.Kind(j.like.Kind)
	i := slices.IndexFunc(k.Needs, func(n suite.KindNeed) bool { return n.Kind == in.Kind && n.Output == in.Name })
	if i < 0 {
		return len(k.Needs)
	}
	return i
}
