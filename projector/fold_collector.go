package projector

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/job"
)

// foldCollector applies an event about a collector. job.Stand says what the event means for the standing. The rest of
// the row is for people: what the collector told of itself, and since when. An event about a collector that is not
// registered or was removed is refused, and so is a second registration of a name.
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
	if online, ok := f.(events.CollectorOnline); ok {
		s.foldHost(m, c.Machine, online.Environment)
		s.cool(c.Machine, online.Evicted)
	}
	c.LastEventSeq, c.LastEventType, c.LastEventAt = m.seq, m.name, m.at
	s.collectors[name] = c
	s.dirtyCollectors[name] = true
}

// standing returns what the log has said of the collector so far, for job.Stand to continue from.
func (c *collectorRow) standing() job.Standing {
	if c.RegisteredAt.IsZero() {
		return job.Standing{}
	}
	return job.Standing{
		Registered: &events.CollectorRegistered{Name: c.Name, Target: c.Target, Set: c.Set, Standby: c.Standby, NKey: c.NKey, Machine: c.Machine},
		Since:      c.RegisteredAt, KeySince: c.KeySince, Removed: c.RemovedAt != nil, Active: c.Active, Draining: c.Draining,
		Quarantined: c.Quarantined, Reason: c.Reason, Instance: c.Instance, Online: c.Presence == readmodel.PresenceOnline,
	}
}

// stand writes a standing back into the row.
func (c *collectorRow) stand(m moment, s job.Standing) {
	if c.RegisteredAt.IsZero() {
		c.RegisteredAt, c.KeySince = m.at, m.at
	}
	r := s.Registered
	c.Target, c.Set, c.Standby, c.NKey, c.Machine = r.Target, r.Set, r.Standby, r.NKey, r.Machine
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

// newer returns the time that a standing tells. Copies tell it to the second only: known stays if it is the same
// second more exactly, and if the copy has no time.
func newer(told, known time.Time) time.Time {
	if told.Year() < 1970 || told.Year() > 9999 || told.Equal(known.Truncate(time.Second)) {
		return known
	}
	return told.UTC()
}

// tell notes what an event tells of a collector besides its standing.
func (c *collectorRow) tell(m moment, f events.Fact, wasOnline bool) {
	// The others change only the standing.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorOnline:
		c.OnlineAt, c.PresenceReason = pointer(m.at), f.UpdateFailed
		c.Version, c.PID, c.Environment = f.Version, f.PID, pointer(f.Environment)
		c.Builds = slices.Contains(f.Knows, events.KnowsBuild)
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

// leaver returns the process that an event says has left; left is false if the event says this of none.
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

// assign marks the collector that serves a lane after an event of its assignment.
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
