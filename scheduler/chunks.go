package scheduler

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// decideSpent ends the chunks for which nothing is left to measure. A request about which something else is decided has to
// wait for the next time: each decision has subjects of its own.
func decideSpent(s *state, others []decision) (out []decision) {
	spent := s.SpentJobs()
	for _, id := range slices.Sorted(maps.Keys(spent)) {
		if slices.ContainsFunc(others, func(o decision) bool { return o.request == id }) {
			continue
		}
		out = append(out, decision{
			cause: s.Versions[events.RequestSubject(id)], request: id, what: "end empty chunks",
			facts: []events.Fact{events.JobsWithdrawn{RequestID: id, Jobs: spent[id], Empty: true}},
		})
	}
	return out
}
