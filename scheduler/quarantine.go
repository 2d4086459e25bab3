package scheduler

import (
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
)

// decideQuarantine quarantines collectors that failed too many jobs in a row, before they fail all jobs.
func decideQuarantine(s *state, p Policy) []decision {
	var failing []events.CollectorName
	for name := range s.Blamed {
		c := s.Collectors[name]
		if p.QuarantineAfter > 0 && max(len(c.Failed), c.Unready) >= p.QuarantineAfter && !c.Quarantined && c.Active {
			failing = append(failing, name)
		}
	}
	slices.Sort(failing)
	var out []decision
	for _, name := range failing {
		c := s.Collectors[name]
		var jobs []events.JobID
		for _, f := range c.Failed {
			jobs = append(jobs, f.Job)
		}
		reason := fmt.Sprintf("jobs of %d different artifacts in a row failed for reasons of its own, the last: %s", len(c.Failed), c.Failure)
		if c.Unready >= p.QuarantineAfter {
			reason = fmt.Sprintf("its machine could not be made ready %d times in a row, the last: %s", c.Unready, c.Failure)
		}
		out = append(out, decision{
			cause: s.LastAbout(name), what: "quarantine collector",
			facts: []events.Fact{events.CollectorQuarantined{
				Name: name, Jobs: jobs, Reason: reason,
			}},
		})
	}
	return out
}
