package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// foldFault counts the artifacts in a row whose jobs a collector failed for reasons of its own: its machine broke or
// lost them, or could not fetch what another machine could. An error of the artifact or of a benchmark shows that the
// machine works. Four things tell nothing about the machine: a job that was cancelled, a job that several machines
// lost, an artifact that no other machine has fetched, and a job without the seals that the collector wants.
func (l *Ledger) foldFault(j *Job, f events.JobFinished) {
	if f.Outcome == events.Cancelled || f.Collector == "" {
		return
	}
	blamed, key := f.Collector, KeyOf(j.of.artifact)
	// The other kinds of error are the job's own.
	//exhaustive:ignore
	switch f.Fault {
	case events.ErrorExhausted:
		if len(j.Losers) == 1 {
			l.blame(j.Losers[0], j, f)
		}
		return
	case events.ErrorInternal:
		l.blame(blamed, j, f)
		return
	case events.ErrorSeal:
		return
	case events.ErrorTransient:
		if a := l.Artifacts[key]; a.Others || a.Good != "" && a.Good != blamed {
			l.blame(blamed, j, f)
		}
		return
	}
	l.collector(blamed).Failed, l.collector(blamed).Unready = nil, 0
	delete(l.Blamed, blamed)
	if f.Fault == "" {
		l.artifact(j.of.artifact, func(a *Artifact) {
			a.Since, a.Others = time.Time{}, a.Others || a.Good != "" && a.Good != blamed
			a.Good = cmp.Or(a.Good, blamed)
		})
	}
}

// blame counts a failed job against a collector, at most one per artifact.
func (l *Ledger) blame(name events.CollectorName, j *Job, f events.JobFinished) {
	c := l.collector(name)
	l.Blamed[name] = true
	of := KeyOf(j.of.artifact)
	if !slices.ContainsFunc(c.Failed, func(known FailedJob) bool { return known.Artifact == of }) {
		c.Failed, c.Failure = append(c.Failed, FailedJob{j.ID, of}), f.Reason
	}
}

// foldReleased notes since when an artifact has transient errors: its jobs share one budget. It uses the ledger's
// clock, not the time of the collector, because the jobs are on several lanes. It counts what the machine alone is to
// blame for: no job can be.
func (l *Ledger) foldReleased(j *Job, f events.AttemptReleased) {
	if f.Unready {
		c := l.collector(f.Collector)
		l.Blamed[f.Collector] = true
		c.Unready++
		c.Failure = f.Reason
	}
	if !f.Transient {
		return
	}
	l.artifact(j.of.artifact, func(a *Artifact) {
		if a.Since.IsZero() {
			a.Since = l.Newest
		}
	})
}

// artifact changes what is known about an artifact.
func (l *Ledger) artifact(of events.Artifact, change func(*Artifact)) {
	key := KeyOf(of)
	a := l.Artifacts[key]
	change(&a)
	l.Artifacts[key] = a
}

// foldLoser notes which collector lost an attempt of a job.
func (l *Ledger) foldLoser(f events.AttemptLost) {
	if j, ok := l.Jobs[f.JobID]; ok && !slices.Contains(j.Losers, f.Collector) {
		j.fares(func(c *course) { c.Losers = append(slices.Clip(c.Losers), f.Collector) })
	}
}
