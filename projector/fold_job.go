package projector

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/queue"
)

// report names the attempt that reports: of a job, on a lane.
type report struct {
	lane  events.Lane
	job   events.JobID
	token events.Seq
}

// current returns the attempt that reports if it is the lane's current one, else nil. Any other report comes from a
// collector that lost the job and changes nothing.
func (s *state) current(r report) *attemptRow {
	a := s.lanes[r.lane]
	if a == nil || a.Token != r.token || a.JobID != r.job {
		return nil
	}
	return a
}

// jobOn returns the job if it belongs to the lane, else nil.
func (s *state) jobOn(lane events.Lane, id events.JobID) *jobRow {
	j := s.jobs[id]
	if j == nil || j.lane() != lane {
		return nil
	}
	return j
}

// jobFor returns the job if it can be dispatched to the lane, else nil. A matched job that waits goes to any lane.
func (s *state) jobFor(lane events.Lane, id events.JobID) *jobRow {
	if j := s.jobs[id]; j != nil && j.free() {
		return j
	}
	return s.jobOn(lane, id)
}

// work applies a fact to the work of its lane, and reports whether it counts (job.Counts). A fact that does not count
// follows from nothing: a collector wrote more than it may. It adds to a counter and changes nothing else.
func (s *state) work(m moment, f events.WorkFact) bool {
	row := s.works[f.Where()]
	if row == nil {
		s.stale++
		return false
	}
	work := job.Work{
		Lane:       job.Lane{Place: row.Place, Phase: row.Phase, JobID: row.JobID, Collector: row.Collector, Token: row.Token},
		Dispatched: row.Dispatched,
	}
	if !work.Take(f, m.seq, m.at) {
		s.stale++
		return false
	}
	row.Place, row.Phase, row.JobID, row.Collector, row.Token = work.Place, work.Phase, work.JobID, work.Collector, work.Token
	s.dirtyLanes[f.Where()] = true
	return true
}

// live applies a fact to the life of a job, and reports whether it counts. If not, it changes only a counter.
func (s *state) live(m moment, j *jobRow, f events.Fact) bool {
	life, counts := job.Live(j.life(), f, m.seq, m.at)
	if !counts {
		s.stale++
		return false
	}
	s.put(m, j, life)
	return true
}

// report applies a fact about the results of a job to its life, and reports whether it counts. Nearly all of them change nothing
// there, and then the row need not be written.
func (s *state) report(m moment, j *jobRow, f events.ResultFact) bool {
	before := j.life()
	life, counts := job.Live(before, f, m.seq, m.at)
	switch {
	case !counts:
		s.stale++
	case life != before:
		s.put(m, j, life)
	}
	return counts
}

// put gives a job the life that a fact made, and lets graphs follow.
func (s *state) put(m moment, j *jobRow, life job.Life) {
	over, place := j.State.Terminal(), j.Place
	j.put(life, m)
	s.dirtyJobs[j.ID] = true
	if place == 0 && j.Place > 0 {
		s.beginInGraphs(m, j)
	}
	if j.State.Terminal() && !over {
		s.endInGraphs(m, j)
	}
	s.hold(m, j.ID)
}

func (s *state) jobDispatched(m moment, f events.JobDispatched) {
	lane := f.Job.Lane()
	if !storable(f.Job.ID) || !storable(lane.Target) || f.Job.Matched && f.Job.On == nil {
		s.refused++
		return
	}
	if s.works[lane] == nil {
		s.works[lane] = &laneRow{Target: lane.Target, Set: lane.Set, Dispatched: map[uint64]events.JobID{}}
	}
	work := job.Work{Dispatched: s.works[lane].Dispatched, Places: s.works[lane].places()}
	if !work.Dispatch(f) {
		s.refused++
		return
	}
	s.dirtyLanes[lane] = true
	if j := s.jobFor(lane, f.Job.ID); j != nil && s.live(m, j, f) {
		j.bind(lane)
		j.Built = readmodel.BuiltOf(f.Job)
		j.divide(f.Job.Chunk)
		s.dispatched(m, j, f.Share)
		j.DispatchedAt = pointer(m.at)
		if j.Matched || j.Sample != "" || waitsElsewhere(s.requests[j.RequestID]) {
			s.touchQueue(m) // the job comes before those of the main queue now, or is on another lane than was expected
		}
	}
}

// places returns the newest place of the lane.
func (l *laneRow) places() uint64 {
	newest := l.Place
	for place := range l.Dispatched {
		newest = max(newest, place)
	}
	return newest
}

// foldWork applies a fact about the work of a lane: to the lane, to its attempt, and to its job.
func (s *state) foldWork(m moment, f events.WorkFact) {
	if !s.work(m, f) {
		return
	}
	j := s.jobOn(f.Where(), f.Which())
	s.foldFull(m, f)
	switch f := f.(type) {
	case events.JobDequeued:
		s.beginAttempt(m, j, f)
	case events.AttemptLost:
		s.endAttempt(m, report{f.Lane, f.JobID, f.Token}, readmodel.AttemptLost, f.Reason)
	case events.AttemptReleased:
		if a := s.current(report{f.Lane, f.JobID, f.Token}); a != nil {
			a.Printed = f.Printed
		}
		s.endAttempt(m, report{f.Lane, f.JobID, f.Token}, readmodel.AttemptReleased, f.Reason)
	case events.JobFinished:
		// There is no attempt if the job was cancelled before it ran, or has no attempts left.
		if a := s.current(report{f.Lane, f.JobID, f.Token}); a != nil {
			a.Outcome, a.Measured, a.Skipped, a.Failed, a.DurationMS, a.Printed = f.Outcome, f.Measured, f.Skipped, f.Failed, f.DurationMS, f.Printed
			a.Phases = f.Phases
		}
		s.endAttempt(m, report{f.Lane, f.JobID, f.Token}, readmodel.AttemptFinished, f.Reason)
		if known := s.jobs[f.JobID]; known != nil && known.Matched {
			s.warmed(m, known, f)
		}
	case events.JobMoved: // its attempt ended before, by an event of its own
	}
	if j == nil {
		if _, begins := f.(events.JobDequeued); begins {
			s.stale++
		}
		return
	}
	over := j.State.Terminal()
	if end, is := f.(events.JobFinished); is && !over && end.Outcome == events.Success && end.ReusedFrom != "" {
		// Its outputs are there before it ends, as those of a job that ran: else what needs them would be skipped for a moment.
		if _, counts := job.Live(j.life(), f, m.seq, m.at); counts {
			s.takeOver(m, j, end.ReusedFrom, end.Key)
		}
	}
	counts := s.live(m, j, f)
	if _, moves := f.(events.JobMoved); moves {
		j.LaneTarget, j.LaneSet = nil, nil
	}
	if !counts || over {
		return
	}
	// The others change only the life.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDequeued:
		j.DequeuedAt, j.Measured, j.Diagnosed = pointer(m.at), 0, nil
		if j.LogBegunAt == nil {
			j.LogBegunAt = m.logged()
		}
		j.begin(m)
	case events.AttemptLost, events.AttemptReleased:
		s.attemptGone(m, j)
	case events.JobFinished:
		s.placeOver(m, j, f.Token)
		if f.Outcome != events.Cancelled { // a cancellation does not know what was measured by then
			j.Measured = f.Measured
		}
		j.Skipped, j.Failed, j.DurationMS = f.Skipped, f.Failed, f.DurationMS
		switch {
		case f.Outcome != events.Success || f.ReusedFrom != "":
		default:
			j.Key = events.Digest(cleanText(string(f.Key)))
		}
		if took, tells := queue.Took(f, !j.RunsCommands); tells && j.Sample == "" { // a sample may measure a part only
			s.recordDuration(m, j, j.wholly(took))
		}
		s.recordUse(j, f)
	case events.JobMoved:
		s.moved(j)
		j.MovedAt = pointer(m.at)
	}
	s.touchQueue(m)
}

func (s *state) beginAttempt(m moment, j *jobRow, f events.JobDequeued) {
	if j == nil {
		return
	}
	a := &attemptRow{
		Token: m.seq, JobID: j.ID, RequestID: j.RequestID, Target: f.Lane.Target, Set: f.Lane.Set,
		Collector: f.Collector, Instance: f.Instance, Attempt: f.Attempt, Lost: f.Lost, Version: f.Version,
		Environment: f.Environment, State: readmodel.AttemptRunning, StartedAt: m.at, LogStartedAt: m.logged(),
	}
	s.lanes[f.Lane] = a
	s.dirtyAttempts[a.Token] = a
}

func (s *state) endAttempt(m moment, r report, state readmodel.AttemptState, reason string) {
	a := s.current(r)
	if a == nil {
		return
	}
	a.State, a.Reason, a.EndedAt, a.LogEndedAt = state, reason, pointer(m.at), m.logged()
	if a.DurationMS == 0 {
		a.DurationMS = max(m.at.Sub(a.StartedAt).Milliseconds(), 0)
	}
	s.dirtyAttempts[a.Token] = a
	delete(s.lanes, a.lane())
}

// foldResult applies a fact about the results of a job. It counts, whatever became of the job meanwhile,
// unless its attempt was closed (job.Results).
func (s *state) foldResult(m moment, f events.ResultFact, e fact) {
	j := s.jobOn(f.Where(), f.Which())
	if j == nil {
		if !s.closedBefore(f) {
			s.stale++
		}
		return
	}
	yields := false
	if stored, ok := f.(events.OutputStored); ok {
		yields = job.Yields(j.life(), stored)
	}
	counts := s.report(m, j, f)
	switch f := f.(type) {
	case events.OutputStored:
		if yields {
			s.outputStored(m, j, f)
		} else {
			s.stale++
		}
	case events.TestCasesMeasured:
		if counts {
			s.testCasesMeasured(m, j, &f, e.samples)
		}
	case events.ErrorRecorded:
		tag := j.Tag
		if j.measures(f.Artifact) {
			tag = f.Artifact.Tag
		}
		s.errors = append(s.errors, errorRow{
			Seq: m.seq, JobID: j.ID, RequestID: j.RequestID, Suite: j.Suite, Tag: tag, Collector: f.Collector,
			Token: f.Token, Attempt: f.Attempt, Kind: f.Kind, Context: f.Context, Case: f.Case, Message: f.Message,
			Stale: !counts, Time: m.at, Sample: j.Sample,
		})
	case events.DiagnosticsSeen:
		if counts {
			s.diagnosticsSeen(j, &f)
		}
	case events.AttemptBegan, events.ResultsClosed:
	}
}

// closedBefore reports whether a fact closes results that a move has closed already: the job has left that lane.
func (s *state) closedBefore(f events.ResultFact) bool {
	closed, ok := f.(events.ResultsClosed)
	j := s.jobs[f.Which()]
	return ok && j != nil && j.Matched && closed.Token <= j.Closed
}

// measures reports whether an artifact is the one that the job measures, or the one of the parent beside it.
func (j *jobRow) measures(a events.Artifact) bool {
	return a.Suite == j.Suite && (a.Tag == j.Tag || j.Against != "" && a.Tag == j.Against)
}
