package projector

import (
	"math"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
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

// counts applies a fact to the work of its lane, and reports whether it counts. One that does not follows from
// nothing: a collector wrote more than it may (job.Counts). It is counted and changes nothing.
func (s *state) counts(m moment, lane events.Lane, f events.Fact) bool {
	row := s.works[lane]
	if row == nil {
		s.stale++
		return false
	}
	dispatched := func(place uint64) (id events.JobID, ok bool) { id, ok = row.Dispatched[place]; return id, ok }
	before := job.Lane{Place: row.Place, Phase: row.Phase, JobID: row.JobID, Collector: row.Collector, Token: row.Token}
	if !job.Counts(before, f, dispatched) {
		s.stale++
		return false
	}
	after := job.Evolve(before, f, m.seq, m.at)
	row.Place, row.Phase, row.JobID, row.Collector, row.Token = after.Place, after.Phase, after.JobID, after.Collector, after.Token
	if after.Phase == job.Ended {
		delete(row.Dispatched, after.Place)
	}
	s.dirtyLanes[lane] = true
	return true
}

func (s *state) jobDispatched(m moment, f events.JobDispatched) {
	lane := f.Job.Lane()
	if !storable(f.Job.ID) || !storable(lane.Target) {
		s.refused++
		return
	}
	if s.works[lane] == nil {
		s.works[lane] = &laneRow{Target: lane.Target, Set: lane.Set, Dispatched: map[uint64]events.JobID{}}
	}
	s.works[lane].Dispatched[f.Place] = f.Job.ID
	s.dirtyLanes[lane] = true
	j := s.jobOn(lane, f.Job.ID)
	if j == nil || j.State.Terminal() {
		return
	}
	j.DispatchedAt, j.Place = pointer(m.at), place(f.Place)
	s.dirtyJobs[j.ID] = true
}

func place(p uint64) int64 { return int64(min(p, math.MaxInt64)) }

func (s *state) jobDequeued(m moment, f events.JobDequeued) {
	if !s.counts(m, f.Lane, f) {
		return
	}
	j := s.jobOn(f.Lane, f.Job.ID)
	if j == nil {
		s.stale++
		return
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
func (s *state) attemptEnded(m moment, f events.Fact, r report, state string, attempt, lost int, reason string) {
	if !s.counts(m, r.lane, f) {
		return
	}
	if a := s.current(r); a != nil {
		s.endAttempt(m, a, state, reason)
	}
	j := s.jobOn(r.lane, r.job)
	if j == nil || j.State.Terminal() {
		return
	}
	j.State, j.Attempts, j.Lost, j.Reason = events.JobQueued, attempt, lost, reason
	s.dirtyJobs[j.ID] = true
	s.touchQueue(m)
}

func (s *state) jobFinished(m moment, f events.JobFinished) {
	if !s.counts(m, f.Lane, f) {
		return
	}
	// Without an attempt ends a job that was cancelled before it ran, or that is out of attempts.
	if a := s.current(report{f.Lane, f.JobID, f.Token}); a != nil {
		a.Outcome, a.Measured, a.Skipped, a.Failed, a.DurationMS = f.Outcome, f.Measured, f.Skipped, f.Failed, f.DurationMS
		s.endAttempt(m, a, attemptFinished, f.Reason)
	}
	j := s.jobOn(f.Lane, f.JobID)
	if j == nil || j.State.Terminal() {
		return
	}
	switch f.Outcome {
	case events.Success:
		j.State = events.JobSuccess
	case events.Failure:
		j.State = events.JobFailure
	case events.Cancelled:
		j.State = events.JobCancelled
	}
	j.Reason, j.FinishedAt, j.FinishedSeq = f.Reason, pointer(m.at), pointer(m.seq)
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

// testCasesMeasured takes results of the attempt that began last, also when that attempt was given up
// meanwhile: the collector that continues the job counts them as measured by the same rule, which it can see
// on the job's own subject (events.AttemptBegan).
func (s *state) testCasesMeasured(m moment, f *events.TestCasesMeasured, columns []samples) {
	j := s.jobOn(f.Lane, f.JobID)
	if j == nil || j.Token != f.Token || j.Collector != f.Collector || j.State.Terminal() || f.Artifact.Suite != j.Suite || f.Artifact.Tag != j.Tag {
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
