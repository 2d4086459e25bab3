package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/job"
)

// foldCollector applies an event about a collector. What it means for the standing, job.Stand says; the rest of the
// row is what people read: what it told of itself, and since when. Nothing is said of one that is not registered, or
// was removed, and no name is registered twice.
func (s *state) foldCollector(m moment, f events.CollectorFact) {
	name := f.Whose()
	c := s.collectors[name]
	if c == nil {
		c = &collectorRow{Name: name, Presence: readmodel.PresenceRegistered}
	}
	before := c.standing()
	after := job.Stand(before, f, m.at)
	_, registers := f.(events.CollectorRegistered)
	if before.Removed || after.Registered == nil || registers && before.Registered != nil {
		s.refused++
		return
	}
	if instance, left := leaver(f); left && instance != after.Instance {
		s.stale++ // that process has a successor already
		return
	}
	c.stand(m, after)
	c.tell(m, f, before.Online)
	c.LastEventSeq, c.LastEventType, c.LastEventAt = m.seq, m.name, m.at
	s.collectors[name] = c
	s.dirtyCollectors[name] = true
}

// standing is what the log said of the collector until here, as far as job.Stand goes on from it.
func (c *collectorRow) standing() job.Standing {
	if c.RegisteredAt.IsZero() {
		return job.Standing{}
	}
	return job.Standing{
		Registered: &events.CollectorRegistered{Name: c.Name, Target: c.Target, Set: c.Set, Standby: c.Standby, NKey: c.NKey},
		Since:      c.RegisteredAt, KeySince: c.KeySince, Removed: c.RemovedAt != nil, Active: c.Active, Draining: c.Draining,
		Quarantined: c.Quarantined, Reason: c.Reason, Instance: c.Instance, Online: c.Presence == readmodel.PresenceOnline,
	}
}

// stand writes a standing back.
func (c *collectorRow) stand(m moment, s job.Standing) {
	if c.RegisteredAt.IsZero() {
		c.RegisteredAt, c.KeySince = m.at, m.at
	}
	r := s.Registered
	c.Target, c.Set, c.Standby, c.NKey = r.Target, r.Set, r.Standby, r.NKey
	c.RegisteredAt, c.KeySince = newer(s.Since, c.RegisteredAt), newer(s.KeySince, c.KeySince)
	c.Active, c.Draining, c.Quarantined, c.Reason, c.Instance = s.Active, s.Draining, s.Quarantined, s.Reason, s.Instance
	if s.Removed {
		c.RemovedAt = pointer(m.at)
	}
	switch {
	case s.Online:
		c.Presence = readmodel.PresenceOnline
	case c.Presence == readmodel.PresenceOnline || s.Removed:
		c.Presence = readmodel.PresenceOffline
	}
}

// newer is the time that a standing tells. Copies tell it to the second: the one that is known more exactly stays, and
// so does the one before where a copy has none.
func newer(told, known time.Time) time.Time {
	if told.Year() < 1970 || told.Year() > 9999 || told.Equal(known.Truncate(time.Second)) {
		return known
	}
	return told.UTC()
}

// tell notes what an event tells of a collector beside its standing.
func (c *collectorRow) tell(m moment, f events.Fact, wasOnline bool) {
	// The others change the standing alone.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorOnline:
		c.OnlineAt, c.PresenceReason = pointer(m.at), f.UpdateFailed
		c.Version, c.PID, c.Environment = f.Version, f.PID, pointer(f.Environment)
	case events.CollectorOffline:
		c.leave(m, readmodel.PresenceOffline, f.Reason)
	case events.CollectorSilent:
		c.leave(m, readmodel.PresenceOffline, f.Reason)
	case events.CollectorUpdating:
		c.leave(m, readmodel.PresenceUpdating, "left version "+f.Version+" for version "+f.Wanted)
	case events.CollectorRemoved:
		if wasOnline {
			c.OfflineAt = pointer(m.at)
		}
	}
}

func (c *collectorRow) leave(m moment, presence readmodel.Presence, reason string) {
	c.Presence, c.OfflineAt, c.PresenceReason = presence, pointer(m.at), reason
}

// leaver is the process that an event says has left, and whether it says so of any.
func leaver(f events.Fact) (instance string, left bool) {
	// The others are about no process, or about one that has come.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorOffline:
		return f.Instance, true
	case events.CollectorSilent:
		return f.Instance, true
	case events.CollectorUpdating:
		return f.Instance, true
	}
	return "", false
}

// foldAssignment applies a fact about who serves a lane.
func (s *state) foldAssignment(m moment, f events.AssignmentFact) {
	switch f := f.(type) {
	case events.LaneAssigned:
		key := assignmentKey{lane: f.Lane, name: f.Name}
		s.assignments[key] = assignmentRow{
			Target: f.Lane.Target, Set: f.Lane.Set, Name: f.Name, Standby: f.Standby, Serving: s.assignments[key].Serving,
			AssignedAt: m.at, Seq: m.seq,
		}
		s.dirtyAssignments[key] = true
		s.assign(f.Lane, f)
	case events.LaneUnassigned:
		s.assign(f.Lane, f)
		key := assignmentKey{lane: f.Lane, name: f.Name}
		delete(s.assignments, key)
		s.dirtyAssignments[key] = true
	case events.LaneTakenOver:
		s.assign(f.Lane, f)
	}
}

// assign tells of a lane's collectors which one serves it after one event of its assignment.
func (s *state) assign(lane events.Lane, f events.Fact) {
	before := job.Assignment{Collectors: map[events.CollectorName]bool{}}
	for key, row := range s.assignments {
		if key.lane != lane {
			continue
		}
		before.Collectors[key.name] = row.Standby
		if row.Serving {
			before.Serving = key.name
		}
	}
	after := job.Assign(before, f)
	for name := range before.Collectors {
		key := assignmentKey{lane: lane, name: name}
		if row := s.assignments[key]; row.Serving != (name == after.Serving) {
			row.Serving = !row.Serving
			s.assignments[key] = row
			s.dirtyAssignments[key] = true
		}
	}
}
