package scheduler

import (
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// rank gives the jobs of a graph what they are expected to cost, and their order. made are to be made, existing are those that
// the graph shares, in its order. A graph without needs keeps the order of creation, and has neither.
func (s *state) rank(g *request.Graph, made, existing []events.JobSpec) {
	if len(g.Needs) == 0 || len(made) == 0 {
		return
	}
	costs, ranks := s.Rank(slices.Concat(made, existing), func(i int) bool {
		return i >= len(made) && g.Shared[i-len(made)].Outcome != ""
	}, g.Needs)
	g.CostMS, g.Rank = costs[:len(made)], ranks[:len(made)]
}
