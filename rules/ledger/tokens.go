package ledger

import (
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// held returns what an open place reserves on its machine: what its job requires, and the CPUs that it got.
func held(spec events.JobSpec) match.Requirement {
	if spec.Tokens == nil || spec.Tokens.Got == 0 {
		return needs(spec.Requires)
	}
	return needs(append(slices.Clip(spec.Requires), fmt.Sprintf("cpus=%d", spec.Tokens.Got)))
}

// Tokens returns the tokens of a job with those that it gets on a lane now; nil for a job that does not say how many it uses.
// A matched job has room on the machine of the lane: it gets its least, and up to its most of what else is free. A job on a
// lane of its own gets its most, if the host has as many CPUs.
func (l *Ledger) Tokens(lane *Lane, j *Job) *events.Tokens {
	if j.like.Tokens == nil {
		return nil
	}
	t := *j.like.Tokens
	most := max(t.Min, t.Max)
	if lane.Machine != "" {
		t.Got = max(t.Min, min(most, l.Machines[lane.Machine].room.FreeCPUs()))
		return &t
	}
	t.Got = t.Min
	if c := l.Collectors[lane.Assignment.Serving]; c != nil && c.CPUs > 0 {
		t.Got = min(most, c.CPUs)
	}
	return &t
}
