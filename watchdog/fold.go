package watchdog

import (
	"time"

	"github.com/tachobench/tacho/events"
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
	case events.RequestCreated:
		if _, known := s.requests[f.RequestID]; !known {
			r := &requestState{suite: f.Suite, tag: f.Tag}
			s.requests[f.RequestID] = r
			s.turn(r, f.State)
		}
	case events.RequestArtifactsReady:
		if r, ok := s.requests[f.RequestID]; ok {
			r.tag = f.Tag
			s.turn(r, events.ArtifactsReady)
		}
	case events.RequestStarted:
		if r, ok := s.requests[f.RequestID]; ok {
			s.turn(r, events.InProgress)
			s.moved = later(s.moved, at)
		}
	case events.RequestExpansionFailed:
		if r, ok := s.requests[f.RequestID]; ok {
			r.failed, r.cause = f, e.Seq
		}
	case events.RequestCompleted:
		s.endRequest(f.RequestID, at)
	case events.RequestFailed:
		if r, ok := s.requests[f.RequestID]; ok && r.failed.Failures >= quarantineAfter {
			s.poison[f.RequestID] = &poison{suite: r.suite, tag: r.tag, reason: r.failed.Reason, at: at, cause: e.Seq}
		}
		s.endRequest(f.RequestID, at)
	case events.RequestCancelled:
		s.endRequest(f.RequestID, at)
		s.withdraw(f.RequestID, at, e.Seq)
	case events.RequestExpired:
		s.endRequest(f.RequestID, at)
	case events.RequestSuperseded:
		s.endRequest(f.RequestID, at)
	case events.DefinitionsPublished:
		for _, p := range s.poison {
			p.resolved = p.resolved || p.suite == f.Suite
		}
	}
}

func (s *state) endRequest(id events.RequestID, at time.Time) {
	if r, ok := s.requests[id]; ok {
		s.turn(r, events.RequestDone)
		delete(s.requests, id)
		s.moved = later(s.moved, at)
	}
}

// withdraw ends the jobs of a cancelled request that were not dispatched. The others end by events of their own.
func (s *state) withdraw(id events.RequestID, at time.Time, seq events.Seq) {
	for job, j := range s.jobs {
		if j.spec.RequestID == id && !j.dispatched {
			s.end(job)
			s.look(j.spec.Lane(), at, seq)
		}
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
	case events.JobDispatched:
		s.add(f.Job).dispatched = true
		s.lane(f.Job.Lane()).places[f.Place] = f.Job.ID
		s.movedOn(f.Job.Lane(), at, e.Seq)
	case events.JobDequeued:
		if !s.counts(f.Lane, f, e) {
			return
		}
		if j, ok := s.jobs[f.Job.ID]; ok {
			s.run(j, f.Collector, at, e.Seq)
		}
		s.movedOn(f.Lane, at, e.Seq)
	case events.JobFinished:
		if !s.counts(f.Lane, f, e) {
			return
		}
		if j, ok := s.jobs[f.JobID]; ok && tells(f) {
			s.lengths.add(j.sort(), time.Duration(f.DurationMS)*time.Millisecond)
		}
		s.end(f.JobID)
		s.movedOn(f.Lane, at, e.Seq)
	case events.AttemptLost:
		if s.counts(f.Lane, f, e) {
			s.requeue(f.JobID)
			s.look(f.Lane, at, e.Seq)
		}
	case events.AttemptReleased:
		if s.counts(f.Lane, f, e) {
			s.requeue(f.JobID)
			s.look(f.Lane, at, e.Seq)
		}
	}
}

func (s *state) movedOn(l events.Lane, at time.Time, seq events.Seq) {
	s.moved = later(s.moved, at)
	s.look(l, at, seq)
}

func (s *state) foldCollectors(e events.Recorded, at time.Time) {
	// The other facts are not about collectors.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.CollectorRegistered:
		if s.collector(f.Name).lane != (events.Lane{}) {
			return // the first registration counts alone
		}
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) {
			c.lane, c.standby, c.active, c.since = f.Lane(), f.Standby, true, at
		})
	case events.RegistryCopied:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) {
			c.lane, c.standby, c.active, c.draining = f.Lane(), f.Standby, f.Active, f.Draining
			if c.since.IsZero() {
				c.since = at
			}
			if c.quarantined = ""; f.Quarantined {
				c.quarantine(f.Reason)
			}
		})
	case events.CollectorRemoved:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) { c.removed, c.active = true, false })
	case events.CollectorActivated:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) {
			c.active, c.draining, c.quarantined, c.since = true, false, "", at
		})
	case events.CollectorDeactivated:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) { c.active = false })
	case events.CollectorOnline:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) {
			// A process that was silent for a while and says so again is still to leave.
			c.draining = c.draining && c.instance == f.Instance
			c.met, c.instance, c.since = true, f.Instance, at
			c.updating, c.unfetched = time.Time{}, f.UpdateFailed
		})
	case events.CollectorUpdating:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) {
			if c.instance == f.Instance {
				c.updating, c.wanted = at, f.Wanted
			}
		})
	case events.CollectorDraining:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) { c.draining = true })
	case events.CollectorQuarantined:
		s.changeCollector(f.Name, e.Seq, at, func(c *collectorState) { c.quarantine(f.Reason) })
	}
}

// quarantine notes why the collector is taken out.
func (c *collectorState) quarantine(reason string) {
	if c.quarantined = reason; c.quarantined == "" {
		c.quarantined = "no reason was given"
	}
}

// changeCollector changes a collector that was not removed, and what its lane has of it.
func (s *state) changeCollector(name events.CollectorName, seq events.Seq, at time.Time, change func(*collectorState)) {
	c := s.collector(name)
	if c.removed {
		return
	}
	before := c.lane
	if c.serves() {
		s.lane(before).serving--
	}
	change(c)
	c.cause = seq
	if c.serves() {
		s.lane(c.lane).serving++
	}
	s.look(before, at, seq)
	s.look(c.lane, at, seq)
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
