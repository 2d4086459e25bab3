package job

import (
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// Decide returns the facts that follow from c on a lane in state l. It returns none when the place is already over, and
// a *Refusal when the attempt is not, or no longer, the caller's. The facts are one append: first those on the lane's
// work, then ResultsClosed of the job if another process may still hold the attempt that ends.
func Decide(l Lane, lane events.Lane, c Command) ([]events.Fact, error) {
	switch c := c.(type) {
	case Dequeue:
		return decideDequeue(l, lane, c)
	case Finish:
		if err := l.holds(c.Token); err != nil {
			return nil, err
		}
		finished := events.JobFinished{
			Lane: lane, Place: l.Place, JobID: l.JobID, RequestID: l.Job.RequestID, Collector: l.Collector,
			Token: c.Token, Attempt: l.Attempt, Lost: l.Lost, Outcome: c.Outcome, Reason: c.Reason, Fault: c.Fault,
			Measured: c.Measured, Skipped: c.Skipped, Failed: c.Failed, DurationMS: l.took(c.At), Evicted: c.Evicted,
			Used: c.Used, Key: c.Key, ReusedFrom: c.ReusedFrom, Printed: c.Printed, Phases: c.Phases, Jobserver: c.Jobserver,
		}
		if c.Outcome == events.Cancelled { // the collector did not end it itself
			return []events.Fact{finished, l.closed(lane)}, nil
		}
		return []events.Fact{finished}, nil
	case Lose:
		if err := l.holds(c.Token); err != nil {
			return nil, err
		}
		return []events.Fact{l.lost(lane, c.Reason), l.closed(lane)}, nil
	case Release:
		return decideRelease(l, lane, c)
	case Withdraw:
		return decideWithdraw(l, lane, c)
	case Move:
		return decideMove(l, lane, c)
	}
	return nil, nil
}

// decideDequeue begins the next attempt. If an attempt is still current and its own collector asks for the job as a new
// process, the old process has crashed: that is recorded first.
func decideDequeue(l Lane, lane events.Lane, c Dequeue) ([]events.Fact, error) {
	switch {
	case c.Place < l.Place, c.Place == l.Place && l.Phase == Ended:
		return nil, nil
	case c.Place > l.Place+1 && l.Place != 0, c.Place > l.Place && l.Phase != Ended && l.Place != 0:
		return nil, refuse("lane %s: place %d comes before the job at place %d has ended", lane, c.Place, l.Place)
	}
	var facts, closed []events.Fact
	if c.Place != l.Place {
		since := c.Since
		if c.Job.Round == 0 && l.Failing.Suite == c.Job.Artifact.Suite && l.Failing.Tag == c.Job.Artifact.Tag && since.IsZero() {
			since = l.Since
		}
		l = Lane{Place: c.Place, Phase: Open, JobID: c.Job.ID, Job: c.Job, Since: since, Attempt: c.Attempt, Lost: c.Lost}
	}
	if l.Phase == Current {
		if l.Collector != c.Collector {
			return nil, refuse("lane %s: job %s is being executed by collector %s", lane, l.JobID, l.Collector)
		}
		if l.Instance == c.Instance {
			return nil, refuse("lane %s: job %s is being executed by this process", lane, l.JobID)
		}
		lost := l.lost(lane, "the process ended without a word and its successor took over")
		closed = []events.Fact{l.closed(lane)}
		facts, l.Lost = append(facts, lost), lost.Lost
	}
	if c.MaxAttempts > 0 && l.Lost >= c.MaxAttempts {
		return slices.Concat(facts, []events.Fact{events.JobFinished{
			Lane: lane, Place: c.Place, JobID: c.Job.ID, RequestID: c.Job.RequestID, Collector: c.Collector,
			Attempt: l.Attempt, Lost: l.Lost, Outcome: events.Failure, Fault: events.ErrorExhausted,
			Reason: fmt.Sprintf("%s %s lost to crashes or silence: not tried again", phrase.Count(l.Lost, "execution"), phrase.Verb(l.Lost, "was", "were")),
		}}, closed), nil
	}
	return slices.Concat(facts, []events.Fact{events.JobDequeued{
		Lane: lane, Place: c.Place, Job: c.Job, Collector: c.Collector, Instance: c.Instance,
		Attempt: l.Attempt + 1, Lost: l.Lost, Version: c.Version, Environment: c.Environment, Since: Stamp(l.Since),
	}}, closed), nil
}

// decideWithdraw ends the job at the open place, or at the next one. To end a job that is being executed, use Finish.
func decideWithdraw(l Lane, lane events.Lane, c Withdraw) ([]events.Fact, error) {
	over, err := l.waits(lane, c.Place)
	if over || err != nil {
		return nil, err
	}
	finished := events.JobFinished{
		Lane: lane, Place: c.Place, JobID: c.Job.ID, RequestID: c.Job.RequestID, Outcome: events.Cancelled, Reason: c.Reason,
	}
	if c.Place == l.Place {
		finished.Collector, finished.Attempt, finished.Lost = l.Collector, l.Attempt, l.Lost
	}
	return []events.Fact{finished}, nil
}

// waits refuses a place at which no job waits for its execution. over reports whether the place is over.
func (l Lane) waits(lane events.Lane, place uint64) (over bool, err error) {
	next := place == l.Place+1 && (l.Phase == Ended || l.Place == 0)
	switch {
	case place < l.Place, place == l.Place && l.Phase == Ended:
		return true, nil
	case place == l.Place && l.Phase == Current:
		return false, refuse("lane %s: job %s is being executed by collector %s", lane, l.JobID, l.Collector)
	case place != l.Place && !next:
		return false, refuse("lane %s: place %d comes before the job at place %d has ended", lane, place, l.Place)
	}
	return false, nil
}

// decideMove takes the job away from its place. If it is being executed, its attempt ends first: as lost, or as given
// back.
func decideMove(l Lane, lane events.Lane, c Move) ([]events.Fact, error) {
	var ended, closed []events.Fact
	if l.Phase == Current && l.Place == c.Place {
		closed = []events.Fact{l.closed(lane)}
		if c.Lost {
			ended = []events.Fact{l.lost(lane, c.Reason)}
		} else {
			ended = []events.Fact{l.released(lane, c.Reason)}
		}
		l = Evolve(l, ended[0], 0, time.Time{})
	}
	over, err := l.waits(lane, c.Place)
	if over || err != nil {
		return nil, err
	}
	moved := events.JobMoved{Lane: lane, Place: c.Place, JobID: c.JobID, Reason: c.Reason, Attempt: c.Attempt, Lost: c.Losses}
	if c.Place == l.Place {
		moved.Collector, moved.Token, moved.Attempt, moved.Lost, moved.Since = l.Collector, l.Token, l.Attempt, l.Lost, Stamp(l.Since)
	}
	return slices.Concat(ended, []events.Fact{moved}, closed), nil
}

func decideRelease(l Lane, lane events.Lane, c Release) ([]events.Fact, error) {
	if err := l.holds(c.Token); err != nil {
		return nil, err
	}
	since := l.Since
	if c.Transient {
		if since.IsZero() {
			since = c.At
		}
		if c.Deadline > 0 && c.At.Sub(since) >= c.Deadline {
			return []events.Fact{events.JobFinished{
				Lane: lane, Place: l.Place, JobID: l.JobID, RequestID: l.Job.RequestID, Collector: l.Collector,
				Token: c.Token, Attempt: l.Attempt, Lost: l.Lost, Outcome: events.Failure, Fault: events.ErrorTransient,
				Reason:     fmt.Sprintf("transient errors with its artifact for more than %s, the last: %s", c.Deadline, c.Reason),
				DurationMS: l.took(c.At), Failing: &l.Job.Artifact, Since: Stamp(since), Printed: c.Printed,
			}}, nil
		}
	}
	released := l.released(lane, c.Reason)
	released.Transient, released.Since, released.HostFull = c.Transient, Stamp(since), c.HostFull
	released.Unready, released.Printed = c.Unready, c.Printed
	if c.Taken {
		return []events.Fact{released, l.closed(lane)}, nil
	}
	return []events.Fact{released}, nil
}

// holds returns a refusal unless the token is the current attempt's.
func (l Lane) holds(token events.Seq) error {
	if l.Phase != Current || l.Token != token {
		return refuse("the attempt with token %d is over: the log took another course", token)
	}
	return nil
}

// closed returns the fact that refuses further results of the attempt: its collector may not know yet that the attempt
// is over.
func (l Lane) closed(lane events.Lane) events.ResultsClosed {
	return events.ResultsClosed{Lane: lane, JobID: l.JobID, Attempt: l.Attempt, Token: l.Token}
}

func (l Lane) released(lane events.Lane, reason string) events.AttemptReleased {
	return events.AttemptReleased{
		Lane: lane, Place: l.Place, JobID: l.JobID, Collector: l.Collector, Token: l.Token,
		Attempt: l.Attempt, Lost: l.Lost, Reason: reason, Since: Stamp(l.Since),
	}
}

func (l Lane) lost(lane events.Lane, reason string) events.AttemptLost {
	return events.AttemptLost{
		Lane: lane, Place: l.Place, JobID: l.JobID, Collector: l.Collector, Token: l.Token,
		Attempt: l.Attempt, Lost: l.Lost + 1, Reason: reason,
	}
}

// took returns how long the attempt took, in milliseconds. It is 0, which means unknown, when the clock was set back
// meanwhile.
func (l Lane) took(until time.Time) int64 { return max(until.Sub(l.StartedAt).Milliseconds(), 0) }

// Stamp returns a time in the form that events hold, to the second; empty for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
