package job

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Life is one job in one of its rounds, from waiting to its end. Whoever asks what a job is now, and what of it is
// measured, folds its facts by Live: there is no second meaning. The zero value is a job that was never made.
type Life struct {
	State events.JobState `json:",omitzero"`
	// Place is where it was dispatched on its lane; 0 before.
	Place uint64 `json:",omitzero"`
	// Attempt counts its executions, Lost those that ended by a crash or silence.
	Attempt, Lost int `json:",omitzero"`
	// Collector and Token are those of the last attempt.
	Collector events.CollectorName `json:",omitzero"`
	Token     events.Seq           `json:",omitzero"`
	// Reason says in words why it waits again, failed or was cancelled; Fault is the kind of error that ended the whole
	// job, empty when its test cases were all tried.
	Reason string           `json:",omitzero"`
	Fault  events.ErrorKind `json:",omitzero"`
	// EndedAt is when it ended; zero before.
	EndedAt time.Time `json:",omitzero"`
	// Results tell which of its results count.
	Results Results `json:",omitzero"`
}

// Results tell which reports of a job count, folded from its result subject alone. A report counts unless its attempt
// was closed, or another one has begun after it: so each that an honest collector has stored counts, for ever.
type Results struct {
	// Token is the newest attempt that reported.
	Token events.Seq `json:",omitzero"`
	// Closed is the newest attempt that was closed.
	Closed events.Seq `json:",omitzero"`
	// Began is the newest attempt that began in logs of earlier versions, by its number.
	Began int `json:",omitzero"`
}

// Made returns the life of a job that was just made.
func Made() Life { return Life{State: events.JobQueued} }

// Live returns the life after a fact about the job that was recorded at seq, and whether the fact counts. Facts on the
// work of a lane count by the rule of the lane (Work.Take), which is asked first.
//
// A terminal state never changes. Attempts go on being noted: results of a job that has ended meanwhile count.
func Live(l Life, f events.Fact, seq events.Seq, at time.Time) (Life, bool) {
	// The other facts are not about one job.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDispatched:
		l.Place = f.Place
	case events.RequestCancelledWithJobs, events.JobsWithdrawn:
		if l.State != events.JobQueued || l.Place != 0 {
			return l, false
		}
		l.State, l.Reason, l.EndedAt = events.JobCancelled, "its request was cancelled", at
	case events.WorkFact:
		return liveWork(l, f, seq, at), true
	case events.ResultFact:
		if !l.reports(f) { // a forged token must not shut out the reports that follow
			return l, false
		}
		counts := l.Results.Report(f)
		return l, counts
	default:
		return l, false
	}
	return l, true
}

// liveWork applies a fact that counts on the work of the job's lane.
func liveWork(l Life, f events.WorkFact, seq events.Seq, at time.Time) Life {
	switch f := f.(type) {
	case events.JobDequeued:
		l.Attempt, l.Lost, l.Collector, l.Token = f.Attempt, f.Lost, f.Collector, seq
		if !l.State.Terminal() {
			l.State, l.Reason = events.JobInProgress, ""
		}
	case events.AttemptLost:
		l.waits(f.Attempt, f.Lost, f.Reason)
	case events.AttemptReleased:
		l.waits(f.Attempt, f.Lost, f.Reason)
	case events.JobFinished:
		l.ends(f, at)
	}
	return l
}

// ends notes how the job ended, unless it had ended before.
func (l *Life) ends(f events.JobFinished, at time.Time) {
	if l.State.Terminal() {
		return
	}
	switch f.Outcome {
	case events.Success:
		l.State = events.JobSuccess
	case events.Failure:
		l.State = events.JobFailure
	case events.Cancelled:
		l.State = events.JobCancelled
	}
	l.Attempt, l.Lost, l.Reason, l.Fault, l.EndedAt = f.Attempt, f.Lost, f.Reason, f.Fault, at
}

// waits notes that an attempt is over and the job is not.
func (l *Life) waits(attempt, lost int, reason string) {
	if !l.State.Terminal() {
		l.State, l.Attempt, l.Lost, l.Reason = events.JobQueued, attempt, lost, reason
	}
}

// reports tells whether a fact is the word of the job's last attempt, where it is one of an attempt.
func (l Life) reports(f events.ResultFact) bool {
	switch f := f.(type) {
	case events.TestCasesMeasured:
		return f.Token == l.Token && f.Collector == l.Collector
	case events.ErrorRecorded:
		return f.Token == 0 || f.Token == l.Token && f.Collector == l.Collector
	case events.AttemptBegan, events.ResultsClosed:
	}
	return true
}

// Report applies a fact of the job's result subject for somebody who reads nothing else of the job, and reports
// whether it counts.
func (r *Results) Report(f events.ResultFact) (counts bool) {
	token, attempt := events.Seq(0), 0
	switch f := f.(type) {
	case events.AttemptBegan:
		r.Began = max(r.Began, f.Attempt)
		return true
	case events.ResultsClosed:
		r.Closed = max(r.Closed, f.Token)
		return true
	case events.TestCasesMeasured:
		token, attempt = f.Token, f.Attempt
	case events.ErrorRecorded:
		if f.Token == 0 {
			return true
		}
		token, attempt = f.Token, f.Attempt
	}
	if token <= r.Closed || token < r.Token || attempt < r.Began {
		return false
	}
	r.Token = token
	return true
}

// Faulty reports whether the job failed by a fault: nothing says that its test cases would fail.
func (l Life) Faulty() bool {
	if l.State != events.JobFailure {
		return false
	}
	// The others are the fault of what was measured.
	//exhaustive:ignore
	switch l.Fault {
	case events.ErrorArtifact, events.ErrorTransient, events.ErrorExhausted, events.ErrorInternal, events.ErrorDefinitions:
		return true
	}
	return false
}
