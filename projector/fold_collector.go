package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
)

// Whether a process of a collector is known to run.
const (
	presenceRegistered = "registered"
	presenceOnline     = "online"
	presenceOffline    = "offline"
	presenceUpdating   = "updating"
)

// collectorRegistered takes the first registration of a name. In logs of earlier versions a collector could register
// itself again, for another lane.
func (s *state) collectorRegistered(m moment, f events.CollectorRegistered) {
	if s.collectors[f.Name] != nil {
		s.refused++
		return
	}
	s.collectors[f.Name] = &collectorRow{
		Name: f.Name, Presence: presenceRegistered, RegisteredAt: m.at, KeySince: m.at, Target: f.Target, Set: f.Set, Standby: f.Standby,
		NKey: f.NKey, Active: true,
	}
	s.changeCollector(m, f.Name, func(*collectorRow) {})
}

// collectorCopied takes over what stood before the registry was opened; what the collector said of itself stays.
func (s *state) collectorCopied(m moment, f events.RegistryCopied) {
	if s.collectors[f.Name] == nil {
		s.collectorRegistered(m, f.CollectorRegistered)
	}
	s.changeCollector(m, f.Name, func(c *collectorRow) {
		c.Target, c.Set, c.Standby, c.NKey = f.Target, f.Set, f.Standby, f.NKey
		c.Active, c.Draining, c.Quarantined = f.Active, f.Draining && c.Presence == presenceOnline, f.Quarantined
		if f.Reason != "" {
			c.Reason = f.Reason
		}
		c.RegisteredAt, c.KeySince = copiedTime(f.RegisteredAt, c.RegisteredAt), copiedTime(f.KeySince, c.KeySince)
	})
}

// copiedTime reads a time to the second; the one that is known more exactly stays.
func copiedTime(text string, known time.Time) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 || t.Equal(known.Truncate(time.Second)) {
		return known
	}
	return t.UTC()
}

// collectorRemoved notes that the collector is gone for good.
func (s *state) collectorRemoved(m moment, f events.CollectorRemoved) {
	s.changeCollector(m, f.Name, func(c *collectorRow) {
		if c.Presence == presenceOnline {
			c.OfflineAt = pointer(m.at)
		}
		c.RemovedAt, c.Active, c.Presence, c.Reason = pointer(m.at), false, presenceOffline, f.Reason
	})
}

// changeCollector changes a collector that was registered and not removed; an event about another one is refused.
func (s *state) changeCollector(m moment, name events.CollectorName, change func(*collectorRow)) {
	c := s.collectors[name]
	if c == nil || c.RemovedAt != nil {
		s.refused++
		return
	}
	change(c)
	c.LastEventSeq, c.LastEventType, c.LastEventAt = m.seq, m.name, m.at
	s.dirtyCollectors[name] = true
}

func (s *state) collectorOnline(m moment, f events.CollectorOnline) {
	s.changeCollector(m, f.Name, func(c *collectorRow) {
		c.Presence, c.Draining, c.OnlineAt = presenceOnline, false, pointer(m.at)
		c.because(f.UpdateFailed)
		c.Instance, c.Version, c.PID, c.Environment = f.Instance, f.Version, f.PID, pointer(f.Environment)
	})
}

// collectorOffline ignores what is said of a process that has a successor already.
func (s *state) collectorOffline(m moment, f events.CollectorOffline) {
	if c := s.collectors[f.Name]; c != nil && f.Instance != "" && f.Instance != c.Instance {
		s.stale++
		return
	}
	s.changeCollector(m, f.Name, func(c *collectorRow) {
		c.Presence, c.Draining, c.OfflineAt = presenceOffline, false, pointer(m.at)
		c.because(f.Reason)
	})
}

// because notes why the collector is as it is, unless it was taken out: then that is the reason to be told.
func (c *collectorRow) because(reason string) {
	if c.Active && !c.Quarantined {
		c.Reason = reason
	}
}

// collectorUpdating notes that the process has left, and that another version is to come.
func (s *state) collectorUpdating(m moment, f events.CollectorUpdating) {
	s.collectorOffline(m, events.CollectorOffline{
		Name: f.Name, Instance: f.Instance, Reason: "left version " + f.Version + " for version " + f.Wanted,
	})
	if c := s.collectors[f.Name]; c != nil && c.Instance == f.Instance {
		c.Presence = presenceUpdating
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
