package scheduler

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// Preview returns what a scheduler with the policy p would make for a wish if it was asked for now. The ledger stays as it
// is. The wish is as request.CheckWish returned it; parts are those of a graph that somebody wrote.
func Preview(l *ledger.Ledger, id events.RequestID, wish events.GraphWanted, p Policy, parts ...events.GraphProposed) graph.Preview {
	s := &state{l}
	r, ok := l.Requests[id]
	if !ok {
		return graph.Preview{Refused: "there is no request " + string(id)}
	}
	switch {
	case wish.Kind == events.GraphExternal:
		return s.previewExternal(r, wish, parts, p)
	case wish.Kind.Sampled():
		return s.previewSamples(r, wish, p)
	case wish.Kind == events.GraphAdded:
		return s.previewAdded(r, wish)
	}
	jobs, why := s.repairs(r, wish)
	out := graph.Preview{Token: graph.Token(jobs), Refused: why}
	for _, next := range jobs {
		rounds := next.Earlier()
		before := next
		before.ID, before.Round = rounds[len(rounds)-1], next.Round-1
		out.Jobs = append(out.Jobs, graph.Candidate{Spec: before, State: s.stateFor(r, s.Find(before))})
	}
	return out
}

func (s *state) previewSamples(r *request.Request, wish events.GraphWanted, p Policy) graph.Preview {
	plan, why := s.plan(r, wish)
	if why == "" {
		why = s.tooMany(plan, wish.Copies, p)
	}
	out := graph.Preview{Token: graph.Token(plan.Clones), Refused: why}
	for _, spec := range plan.Clones {
		out.Jobs = append(out.Jobs, graph.Candidate{Spec: spec, State: s.stateFor(r, s.Find(spec))})
	}
	return out
}

// previewAdded has no state for a job that would be made.
func (s *state) previewAdded(r *request.Request, wish events.GraphWanted) graph.Preview {
	a, why := s.add(r, wish)
	out := graph.Preview{Token: graph.Token(a.jobs()), Refused: why}
	for _, spec := range a.made {
		out.Jobs = append(out.Jobs, graph.Candidate{Spec: spec})
	}
	for _, spec := range a.shared {
		out.Jobs = append(out.Jobs, graph.Candidate{Spec: spec, State: s.stateFor(r, s.Find(spec))})
	}
	return out
}
