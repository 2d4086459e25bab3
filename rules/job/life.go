package job

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Life is one job in one of its rounds, from waiting to its end. Every part that asks for the state of a job, or for
// its results, folds the facts with Live: there is only one meaning. The zero value is a job that was never made.
type Life struct {
	State events.JobState `json:",omitzero"`
	// Place is its place on the lane; 0 before the dispatch.
	Place uint64 `json:",omitzero"`
	// Attempt counts its executions, Lost those that ended by a crash or by silence.
	Attempt, Lost int `json:",omitzero"`
	// Collector and Token are those of the last attempt.
	Collector events.CollectorName `json:",omitzero"`
	Token     events.Seq           `json:",omitzero"`
	// Reason says in words why it waits again, failed or was cancelled. Fault is the kind of error that ended the whole
	// job; empty when all its test cases were tried.
	Reason string           `json:",omitzero"`
	Fault  events.ErrorKind `json:",omitzero"`
	// EndedAt is when it ended; zero before.
	EndedAt time.Time `json:",omitzero"`
	// Results say which of its reports count.
	Results Results `json:",omitzero"`
}

// Results say which reports of a job count, folded from its result subject alone. A report counts unless its attempt
// was closed before, or a later attempt has reported before. So every report that an honest collector has stored
// counts, for ever.
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

// Late is why a job ends that had not ended by the deadline of its graph.
const Late = "its graph was not done by its deadline"

// Live returns the life after a fact about the job that was recorded at seq, and whether the fact counts. For facts on
// the work of a lane, ask Work.Take first: pass only those that count there.
//
// A terminal state never changes. Later attempts are still noted, because results count even if the job has ended
// meanwhile.
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
		switch w, _ := f.(events.JobsWithdrawn); {
		case w.Skipped:
			l.Reason = "skipped: a job that it needs did not succeed"
		case w.Expired:
			l.Reason = Late
		}
	case events.WorkFact:
		return liveWork(l, f, seq, at), true
	case events.ResultFact:
		if !l.reports(f) { // a forged token must not make Report refuse the honest reports that follow
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
	case events.JobMoved: // nothing that was begun on the lane before counts from here on
		if !l.State.Terminal() {
			l.Place = 0
		}
		l.Results.Closed = max(l.Results.Closed, l.Token)
		l.waits(f.Attempt, f.Lost, f.Reason)
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
	case events.GraphExpired: // no job ends so
	}
	l.Attempt, l.Lost, l.Reason, l.Fault, l.EndedAt = f.Attempt, f.Lost, f.Reason, f.Fault, at
}

// waits notes that the attempt has ended and the job waits again.
func (l *Life) waits(attempt, lost int, reason string) {
	if !l.State.Terminal() {
		l.State, l.Attempt, l.Lost, l.Reason = events.JobQueued, attempt, lost, reason
	}
}

// reports tells whether a fact comes from the job's last attempt. AttemptBegan, ResultsClosed and errors without a
// token pass too.
func (l Life) reports(f events.ResultFact) bool {
	switch f := f.(type) {
	case events.TestCasesMeasured:
		return f.Token == l.Token && f.Collector == l.Collector
	case events.ErrorRecorded:
		return f.Token == 0 || f.Token == l.Token && f.Collector == l.Collector
	case events.OutputStored:
		return f.Token == l.Token && f.Collector == l.Collector
	case events.DiagnosticsSeen:
		return f.Token == l.Token && f.Collector == l.Collector
	case events.AttemptBegan, events.ResultsClosed:
	}
	return true
}

// Yields reports whether an output counts as one of the job: its attempt runs. It asks for no other report of the job, so
// every part can tell.
func Yields(l Life, f events.OutputStored) bool {
	return l.State == events.JobInProgress && f.Attempt == l.Attempt && l.reports(f)
}

// Report applies a fact of the job's result subject and reports whether it counts. It needs no other fact of the job.
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
	case events.OutputStored:
		token, attempt = f.Token, f.Attempt
	case events.DiagnosticsSeen:
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

// Faulty reports whether the job failed by a fault and not by its test cases: those might have passed.
func (l Life) Faulty() bool {
	if l.State != events.JobFailure {
		return false
	}
	// For the other kinds the measured program is to blame.
	//exhaustive:ignore
	switch l.Fault {
	case events.ErrorArtifact, events.ErrorTransient, events.ErrorExhausted, events.ErrorInternal, events.ErrorDefinitions, events.ErrorSeal:
		return true
	}
	return false
}
