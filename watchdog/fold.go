package watchdog

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
)

// quarantineAfter is how many failed expansions quarantine a request.
const quarantineAfter = 3

// take folds one stored event. What was measured is the bulk of a log, and of it the time alone matters, so it
// is not decoded; what GitHub said and was told does not matter here.
func (s *state) take(m events.Stored) error {
	switch m.Subject.Family() {
	case "result":
		s.moved, s.seq = later(s.moved, m.StoredAt), m.Seq
		return nil
	case "delivery", "outbox":
		s.seq = m.Seq
		return nil
	}
	e, parked, err := s.reader.Understand(m)
	switch {
	case err != nil:
		return err
	case parked != "": // no fold takes it, and the projector says so
		s.seq = m.Seq
	default:
		s.fold(e, m.StoredAt)
	}
	return nil
}

// fold applies one event that was stored at a time. It cannot fail: if the log says it, it happened.
func (s *state) fold(e events.Recorded, at time.Time) {
	s.seq = e.Seq
	idle := !s.working()
	s.foldRequests(e, at)
	s.foldJobs(e, at)
	s.foldCollectors(e, at)
	s.foldAlerts(e, at)
	if idle {
		s.idle = later(s.idle, at)
	}
}

func (s *state) foldRequests(e events.Recorded, at time.Time) {
	// The other facts do not change the state of a request.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestFact:
		s.foldRequest(f, e, at)
	case events.DefinitionsPublished:
		for _, p := range s.poison {
			p.resolved = p.resolved || p.suite == f.Suite
		}
	}
}

func (s *state) foldRequest(f events.RequestFact, e events.Recorded, at time.Time) {
	if created, ok := f.(events.RequestCreated); ok {
		if _, known := s.requests[created.RequestID]; !known {
			r := &requestState{suite: created.Suite, tag: created.Tag}
			s.requests[created.RequestID] = r
			s.turn(r, created.State)
		}
		return
	}
	r, ok := s.requests[f.Whose()]
	if !ok {
		return
	}
	// The others do not change the state of a request.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.RequestArtifactsReady:
		r.tag = f.Tag
		s.turn(r, events.ArtifactsReady)
	case events.RequestStarted:
		r.held = held{}
		s.turn(r, events.InProgress)
		s.moved = later(s.moved, at)
	case events.RequestExpansionFailed:
		if f.Waits {
			r.held = held{reason: f.Reason, cause: e.Seq}
			return
		}
		r.failed, r.cause = f, e.Seq
	case events.RequestFailed:
		if r.failed.Failures >= quarantineAfter {
			s.poison[f.RequestID] = &poison{suite: r.suite, tag: r.tag, reason: r.failed.Reason, at: at, cause: e.Seq}
		}
		s.endRequest(f.RequestID, at)
	case events.RequestCompleted, events.RequestCancelled, events.RequestCancelledWithJobs, events.RequestExpired, events.RequestSuperseded:
		s.endRequest(f.Whose(), at)
	}
}

func (s *state) endRequest(id events.RequestID, at time.Time) {
	if r, ok := s.requests[id]; ok {
		s.turn(r, events.RequestDone)
		delete(s.requests, id)
		s.moved = later(s.moved, at)
	}
}

func (s *state) foldJobs(e events.Recorded, at time.Time) {
	// The other facts do not change the state of a job.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.JobsCreated:
		for _, spec := range f.Jobs {
			s.add(spec)
			s.look(spec.Lane(), at, e.Seq)
		}
	case events.RequestCancelledWithJobs:
		for id, j := range s.jobs {
			if j.spec.RequestID == f.RequestID {
				s.withdraw(id, f, e, at)
			}
		}
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			s.withdraw(id, f, e, at)
		}
	case events.JobDispatched:
		s.live(f.Job.ID, f, e, at)
		s.lane(f.Job.Lane()).work.Dispatch(f)
		s.movedOn(f.Job.Lane(), at, e.Seq)
	case events.WorkFact:
		s.foldWork(f, e, at)
	}
}

func (s *state) withdraw(id events.JobID, f events.Fact, e events.Recorded, at time.Time) {
	if j, ok := s.jobs[id]; ok {
		s.live(id, f, e, at)
		s.look(j.spec.Lane(), at, e.Seq)
	}
}

// foldWork applies a fact on the work of a lane, if it counts.
func (s *state) foldWork(f events.WorkFact, e events.Recorded, at time.Time) {
	if !s.lane(f.Where()).work.Take(f, e.Seq, e.Time) {
		return
	}
	if ended, ok := f.(events.JobFinished); ok {
		if j, known := s.jobs[ended.JobID]; known && tells(ended) {
			s.lengths.add(j.sort(), time.Duration(ended.DurationMS)*time.Millisecond)
		}
	}
	s.live(f.Which(), f, e, at)
	switch f.(type) {
	case events.JobDequeued, events.JobFinished:
		s.movedOn(f.Where(), at, e.Seq)
	case events.AttemptLost, events.AttemptReleased:
		s.look(f.Where(), at, e.Seq)
	}
}

func (s *state) movedOn(l events.Lane, at time.Time, seq events.Seq) {
	s.moved = later(s.moved, at)
	s.look(l, at, seq)
}

func (s *state) foldCollectors(e events.Recorded, at time.Time) {
	f, ok := e.Fact.(events.CollectorFact)
	if !ok {
		return
	}
	c := s.collector(f.Whose())
	if c.Removed {
		return
	}
	before, served := c.lane(), c.Takes()
	updates := c.Instance
	c.Standing, c.cause = job.Stand(c.Standing, f, e.Time), e.Seq
	// The others tell of the standing alone.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorRegistered:
		if c.since.IsZero() {
			c.since = at
		}
	case events.RegistryCopied:
		if c.since.IsZero() {
			c.since = at
		}
		c.quarantine = f.Reason
	case events.CollectorActivated:
		c.since = at
	case events.CollectorOnline:
		c.met, c.since, c.updating, c.unfetched = true, at, time.Time{}, f.UpdateFailed
	case events.CollectorUpdating:
		if updates == f.Instance {
			c.updating, c.wanted = at, f.Wanted
		}
	case events.CollectorQuarantined:
		c.quarantine = f.Reason
	}
	if served {
		s.lane(before).serving--
	}
	if c.Takes() {
		s.lane(c.lane()).serving++
	}
	s.look(before, at, e.Seq)
	s.look(c.lane(), at, e.Seq)
}

func (s *state) foldAlerts(e events.Recorded, at time.Time) {
	// The other facts are not about alerts.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.AlertRaised:
		if before, stands := s.standing[f.Key]; stands {
			s.standing[f.Key] = standing{AlertRaised: f, at: before.at, seq: before.seq}
		} else {
			s.standing[f.Key] = standing{AlertRaised: f, at: at, seq: e.Seq}
		}
		if f.Kind == events.AlertUnreachable {
			s.unreachable = at
		}
	case events.AlertCleared:
		delete(s.standing, f.Key)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
