package scheduler

import (
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
)

// foldFault counts the jobs that a collector failed in a row for reasons of its own: its machine broke or lost
// them, or could not fetch what they need. What a job is to blame for tells that the machine works. A job that
// was cancelled tells nothing, and so does one that several machines lost.
func (s *state) foldFault(f events.JobFinished) {
	blamed := f.Collector
	if f.Outcome == events.Cancelled || blamed == "" {
		return
	}
	own := false
	// The other kinds of error are the job's own.
	//exhaustive:ignore
	switch f.Fault {
	case events.ErrorExhausted:
		j, ok := s.jobs[f.JobID]
		if !ok || len(j.losers) != 1 {
			return
		}
		blamed, own = j.losers[0], true
	case events.ErrorTransient, events.ErrorInternal:
		own = f.Outcome == events.Failure
	}
	c := s.collector(blamed)
	if !own {
		c.failed = nil
		return
	}
	c.failed, c.failure = append(c.failed, f.JobID), f.Reason
}

// foldLoser notes whose process lost an attempt of a job.
func (s *state) foldLoser(f events.AttemptLost) {
	if j, ok := s.jobs[f.JobID]; ok && !slices.Contains(j.losers, f.Collector) {
		j.losers = append(j.losers, f.Collector)
	}
}

// decideQuarantine takes collectors out that failed too many jobs in a row, before they fail all of them.
func decideQuarantine(s *state, p Policy) []decision {
	var failing []events.CollectorName
	for name, c := range s.collectors {
		if p.QuarantineAfter > 0 && len(c.failed) >= p.QuarantineAfter && !c.standing.Quarantined && c.standing.Active {
			failing = append(failing, name)
		}
	}
	slices.Sort(failing)
	var out []decision
	for _, name := range failing {
		c := s.collectors[name]
		out = append(out, decision{
			cause: s.lastAbout(name), what: "quarantine collector",
			facts: []events.Fact{events.CollectorQuarantined{
				Name: name, Jobs: c.failed,
				Reason: fmt.Sprintf("%d different jobs in a row failed for reasons of its own, the last: %s", len(c.failed), c.failure),
			}},
		})
	}
	return out
}
