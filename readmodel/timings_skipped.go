package readmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/waits"
)

// step is something that happened to a job of a graph. Of those of one moment, the lower kind comes first.
type step struct {
	at     time.Time
	kind   stepKind
	number int
	end    events.Outcome
}

type stepKind int

const (
	stepEnds stepKind = iota
	stepAgain
	stepForced
	stepBegins
)

// skip finds when the graph skipped its jobs: by the rules of graphs, from when their rounds began and ended.
func (g *toldGraph) skip(states map[events.JobID]events.JobState) {
	rules := graph.New(g.graph.Jobs, g.graph.Needs)
	if g.graph.OnFailure == events.FailFast {
		rules.FailFast()
	}
	steps, seen := slices.Clone(g.forced), map[int]bool{}
	for _, r := range g.rounds {
		if seen[r.Number] {
			steps = append(steps, step{at: r.From, kind: stepAgain, number: r.Number})
		}
		seen[r.Number] = true
		if len(r.Attempts) > 0 {
			steps = append(steps, step{at: r.Attempts[0].From, kind: stepBegins, number: r.Number})
		}
		if state := states[r.Job]; state.Terminal() && !r.Ended.IsZero() {
			steps = append(steps, step{at: r.Ended, kind: stepEnds, number: r.Number, end: events.Outcome(state)})
		}
	}
	for _, n := range g.graph.Nodes {
		end := events.Outcome("")
		if !seen[n.Number] && events.JobState(n.State).Terminal() { // it had ended before, or its times are gone
			end = events.Outcome(n.State)
		}
		rules.Add(n.Number, n.Optional, end)
		for _, need := range n.Needs {
			rules.Need(graph.Need{Job: n.Number, On: need.On, Until: need.Until})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind)) })
	spans := map[int][]waits.Span{}
	note := func(at time.Time, changes []graph.Change) {
		for _, c := range changes {
			list := spans[c.Job]
			open := len(list) > 0 && list[len(list)-1].To.IsZero()
			switch {
			case c.Now == graph.Skipped && !open:
				spans[c.Job] = append(list, waits.Span{From: at})
			case c.Now != graph.Skipped && open:
				list[len(list)-1].To = at
			}
		}
	}
	note(g.from, rules.Settle())
	for _, s := range steps {
		switch s.kind {
		case stepEnds:
			note(s.at, rules.End(s.number, s.end))
		case stepAgain:
			note(s.at, rules.Again(s.number))
		case stepForced:
			note(s.at, rules.Force(s.number))
		case stepBegins:
			note(s.at, rules.Begin(s.number))
		}
	}
	for i := range g.rounds {
		g.rounds[i].Skipped = spans[g.rounds[i].Number]
	}
}
