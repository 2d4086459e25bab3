package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// foldFault counts the artifacts in a row whose jobs a collector failed for reasons of its own: its machine broke or
// lost them, or could not fetch what another one could. What an artifact or a benchmark is to blame for tells that the
// machine works. A job that was cancelled tells nothing, and so does one that several machines lost, and an artifact
// that nobody has fetched.
func (s *state) foldFault(j *jobState, f events.JobFinished) {
	if f.Outcome == events.Cancelled || f.Collector == "" {
		return
	}
	blamed, key := f.Collector, artifactKey{j.spec.Artifact.Suite, j.spec.Artifact.Tag}
	// The other kinds of error are the job's own.
	//exhaustive:ignore
	switch f.Fault {
	case events.ErrorExhausted:
		if len(j.losers) == 1 {
			s.blame(j.losers[0], f)
		}
		return
	case events.ErrorInternal:
		s.blame(blamed, f)
		return
	case events.ErrorTransient:
		if a := s.artifacts[key]; a.others || a.good != "" && a.good != blamed {
			s.blame(blamed, f)
		}
		return
	}
	s.collector(blamed).failed = nil
	if f.Fault == "" {
		s.artifact(j.spec.Artifact, func(a *artifactState) {
			a.since, a.others = time.Time{}, a.others || a.good != "" && a.good != blamed
			a.good = cmp.Or(a.good, blamed)
		})
	}
}

// blame counts a failed job against a collector, one of each artifact.
func (s *state) blame(name events.CollectorName, f events.JobFinished) {
	c := s.collector(name)
	of := func(id events.JobID) events.Artifact { return s.jobs[id].spec.Artifact }
	known := slices.ContainsFunc(c.failed, func(id events.JobID) bool {
		return of(id).Suite == of(f.JobID).Suite && of(id).Tag == of(f.JobID).Tag
	})
	if !known {
		c.failed, c.failure = append(c.failed, f.JobID), f.Reason
	}
}

// foldReleased notes since when an artifact has transient errors: its jobs spend one budget. That reaches the jobs of other
// lanes, so it is the clock of the log that tells, and not the collector.
func (s *state) foldReleased(j *jobState, f events.AttemptReleased) {
	if !f.Transient {
		return
	}
	s.artifact(j.spec.Artifact, func(a *artifactState) {
		if a.since.IsZero() {
			a.since = s.newest
		}
	})
}

// artifact changes what is known of an artifact.
func (s *state) artifact(of events.Artifact, change func(*artifactState)) {
	key := artifactKey{of.Suite, of.Tag}
	a := s.artifacts[key]
	change(&a)
	s.artifacts[key] = a
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
				Reason: fmt.Sprintf("jobs of %d different artifacts in a row failed for reasons of its own, the last: %s", len(c.failed), c.failure),
			}},
		})
	}
	return out
}
