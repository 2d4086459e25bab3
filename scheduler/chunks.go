package scheduler

import (
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
)

// decideEmpty ends the chunks for which nothing is left to measure. A request about which something else is decided has to
// wait for the next time: each decision has subjects of its own.
func decideEmpty(s *state, others []decision) (out []decision) {
	empty := s.EmptyJobs()
	for _, id := range slices.Sorted(maps.Keys(empty)) {
		if slices.ContainsFunc(others, func(o decision) bool { return o.request == id }) {
			continue
		}
		out = append(out, decision{
			cause: s.Versions[events.RequestSubject(id)], request: id, what: "end empty chunks",
			facts: []events.Fact{events.JobsWithdrawn{RequestID: id, Jobs: empty[id], Empty: true}},
		})
	}
	return out
}
