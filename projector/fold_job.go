package projector

import (
	"math"

	"github.com/tachobench/tacho/events"
)

// The states of an attempt that has ended without ending its job, and the others.
const (
	attemptRunning  = "running"
	attemptFinished = "finished"
	attemptLost     = "lost"
	attemptReleased = "released"
)

// report says who reports: the attempt of a job on a lane.
type report struct {
	lane  events.Lane
	job   events.JobID
	token events.Seq
}

// current returns the attempt that reports if it is the lane's current one. Everything else is the word of
// somebody who lost the job, however sincere: it is counted and changes nothing.
func (s *state) current(r report) *attemptRow {
	a := s.lanes[r.lane]
	if a == nil || a.Token != r.token || a.JobID != r.job {
		return nil
	}
	return a
}

// jobOn returns the job if it belongs to the lane.
func (s *state) jobOn(lane events.Lane, id events.JobID) *jobRow {
	j := s.jobs[id]
	if j == nil || j.lane() != lane {
		return nil
	}
	return j
}

func (s *state) jobDispatched(m moment, f events.JobDispatched) {
	j := s.jobOn(f.Job.Lane(), f.Job.ID)
	if j == nil || j.State.Terminal() {
		return
	}
	j.DispatchedAt, j.Place = pointer(m.at), place(f.Place)
	s.dirtyJobs[j.ID] = true
}

func place(p uint64) int64 { return int64(min(p, math.MaxInt64)) }

func (s *state) jobDequeued(m moment, f events.JobDequeued) {
	j := s.jobOn(f.Lane, f.Job.ID)
	if j == nil {
		s.stale++
		return
	}
	if before := s.lanes[f.Lane]; before != nil {
		s.endAttempt(m, before, attemptLost, "another attempt began on the lane")
		if b := s.jobs[before.JobID]; b != nil && b != j && !b.State.Terminal() {
			b.State = events.JobQueued
			s.dirtyJobs[b.ID] = true
			s.touchQueue(m)
		}
	}
	a := &attemptRow{
		Token: m.seq, JobID: j.ID, RequestID: j.RequestID, Target: f.Lane.Target, Set: f.Lane.Set,
		Collector: f.Collector, Instance: f.Instance, Attempt: f.Attempt, Lost: f.Lost, Version: f.Version,
		Environment: f.Environment, State: attemptRunning, StartedAt: m.at,
	}
	s.lanes[f.Lane] = a
	s.dirtyAttempts[a.Token] = a
	if j.State.Terminal() {
		return
	}
	j.State, j.DequeuedAt, j.Collector, j.Token = events.JobInProgress, pointer(m.at), f.Collector, m.seq
	j.Attempts, j.Lost, j.Reason, j.Measured = f.Attempt, f.Lost, "", 0
	s.dirtyJobs[j.ID] = true
	s.touchQueue(m)
}

func (s *state) endAttempt(m moment, a *attemptRow, state, reason string) {
	a.State, a.Reason, a.EndedAt = state, reason, pointer(m.at)
	if a.DurationMS == 0 {
		a.DurationMS = max(m.at.Sub(a.StartedAt).Milliseconds(), 0)
	}
	s.dirtyAttempts[a.Token] = a
	delete(s.lanes, a.lane())
}

// attemptEnded folds an attempt that ended without ending its job: the job waits again.
func (s *state) attemptEnded(m moment, r report, state string, attempt, lost int, reason string) {
	a := s.current(r)
	if a == nil {
		s.stale++
		return
	}
	s.endAttempt(m, a, state, reason)
	j := s.jobs[r.job]
	if j == nil || j.State.Terminal() {
		return
	}
	j.State, j.Attempts, j.Lost, j.Reason = events.JobQueued, attempt, lost, reason
	s.dirtyJobs[j.ID] = true
	s.touchQueue(m)
}

func (s *state) jobFinished(m moment, f events.JobFinished) {
	a := s.current(report{f.Lane, f.JobID, f.Token})
	j := s.jobOn(f.Lane, f.JobID)
	var to events.JobState
	switch f.Outcome {
	case events.Success:
		to = events.JobSuccess
	case events.Failure:
		to = events.JobFailure
	case events.Cancelled:
		to = events.JobCancelled
	}
	// Token 0 is a job that ended without an attempt: cancelled before it ran, or out of attempts.
	if j == nil || to == "" || a == nil && f.Token != 0 {
		s.stale++
		return
	}
	if f.Token == 0 {
		if a = s.lanes[f.Lane]; a != nil && a.JobID != f.JobID {
			a = nil
		}
	}
	if a != nil {
		s.finishAttempt(m, a, f)
	}
	if j.State.Terminal() {
		return
	}
	j.State, j.Reason, j.FinishedAt, j.FinishedSeq = to, f.Reason, pointer(m.at), pointer(m.seq)
	j.Attempts, j.Lost = f.Attempt, f.Lost
	j.Measured, j.Skipped, j.Failed, j.DurationMS = f.Measured, f.Skipped, f.Failed, f.DurationMS
	s.dirtyJobs[j.ID] = true
	if countsAsDuration(j) {
		s.tookSoLong(m, j)
	}
	s.touchQueue(m)
}

// countsAsDuration reports whether the job tells how long one like it will take: no-ops and failures do not, and a
// length that a clock which was set back made unknown is not 0.
func countsAsDuration(j *jobRow) bool {
	return j.State == events.JobSuccess && j.Measured > 0 && j.DurationMS > 0
}

func (s *state) finishAttempt(m moment, a *attemptRow, f events.JobFinished) {
	if f.Token == 0 {
		s.endAttempt(m, a, attemptLost, f.Reason)
		return
	}
	a.Outcome, a.Measured, a.Skipped, a.Failed, a.DurationMS = f.Outcome, f.Measured, f.Skipped, f.Failed, f.DurationMS
	s.endAttempt(m, a, attemptFinished, f.Reason)
}

// testCasesMeasured takes results of the attempt that began last, also when that attempt was given up
// meanwhile: the collector that continues the job counts them as measured by the same rule, which it can see
// on the job's own subject (events.AttemptBegan).
func (s *state) testCasesMeasured(m moment, f *events.TestCasesMeasured, columns []samples) {
	j := s.jobOn(f.Lane, f.JobID)
	if j == nil || j.Token != f.Token || j.State.Terminal() || f.Artifact.Suite != j.Suite || f.Artifact.Tag != j.Tag {
		s.stale++
		return
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		if c.Target != j.Target || len(c.String()) > maxCase {
			s.stale++
			continue
		}
		s.results = append(s.results, resultRow{job: j, fact: f, c: c, samples: columns[i], at: m.at, seq: m.seq})
		j.Measured++
		s.dirtyJobs[j.ID] = true
	}
}

// maxCase bounds the name of a test case, which has to fit into an index entry.
const maxCase = 1024

func (s *state) errorRecorded(m moment, f events.ErrorRecorded) {
	j := s.jobOn(f.Lane, f.JobID)
	if j == nil {
		s.stale++
		return
	}
	stale := f.Token != 0 && s.current(report{f.Lane, f.JobID, f.Token}) == nil
	if stale {
		s.stale++
	}
	s.errors = append(s.errors, errorRow{
		Seq: m.seq, JobID: j.ID, RequestID: j.RequestID, Suite: j.Suite, Tag: j.Tag, Collector: f.Collector,
		Token: f.Token, Attempt: f.Attempt, Kind: f.Kind, Context: f.Context, Case: f.Case, Message: f.Message,
		Stale: stale, Time: m.at,
	})
}
