package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
)

// amends reports whether jobs of a request run again because an output of one of them is gone.
func (s *state) amends(r *request.Request) bool {
	_, ok := decideAmend(s, r)
	return ok
}

// decideAmend makes the next rounds of jobs because an output that one of them yielded is gone.
func decideAmend(s *state, r *request.Request) (decision, bool) {
	jobs, cause := s.Amends(r)
	var again []events.JobSpec
	for _, j := range jobs {
		if next := s.nextRound(j, r); next.Round < roundsInAll {
			again = append(again, next)
		}
	}
	if len(again) == 0 {
		return decision{}, false
	}
	d := s.grant(r, events.GraphRepair, fmt.Sprint("output-", len(r.Jobs)), "make an output again", again)
	d.cause = cause
	return d, true
}

// decideAmends is decideAmend for the first request that needs it.
func decideAmends(s *state) (decision, bool) {
	for _, id := range slices.Sorted(maps.Keys(s.Amending)) {
		if r := s.Requests[id]; r != nil {
			if d, ok := decideAmend(s, r); ok {
				return d, true
			}
		}
	}
	return decision{}, false
}

// whyNotWithout says which output a job cannot run without: forcing it would not make one; empty if it lacks none.
func (s *state) whyNotWithout(jobs []events.JobID, states *graph.Graph, number int) (why string) {
	states.Inputs(number, func(on int, output string) {
		if _, stored := s.OutputOf(jobs[on], output); !stored && states.UnmetOutput(number, on, output) && why == "" {
			why = fmt.Sprintf("job %s uses the output %s of job %s, which does not exist: `tacho job why %s` says why it was not built, `tacho job rerun %s` builds it again if that has ended",
				jobs[number], output, jobs[on], jobs[on], jobs[on])
		}
	})
	return why
}
