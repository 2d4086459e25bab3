package projector

import "github.com/tachobench/tacho/events"

// Whether a process of a collector is known to run.
const (
	presenceRegistered = "registered"
	presenceOnline     = "online"
	presenceOffline    = "offline"
)

// collectorRegistered takes the newest registration: a standby may be registered again as the active one.
func (s *state) collectorRegistered(m moment, f events.CollectorRegistered) {
	c := s.collectors[f.Name]
	if c == nil {
		c = &collectorRow{Name: f.Name, Presence: presenceRegistered, RegisteredAt: m.at}
		s.collectors[f.Name] = c
	}
	s.changeCollector(m, f.Name, func(c *collectorRow) {
		c.Target, c.Set, c.Standby, c.NKey, c.Active = f.Target, f.Set, f.Standby, f.NKey, true
	})
}

// changeCollector changes a collector that was registered; an event about another one is refused.
func (s *state) changeCollector(m moment, name events.CollectorName, change func(*collectorRow)) {
	c := s.collectors[name]
	if c == nil {
		s.refused++
		return
	}
	change(c)
	c.LastEventSeq, c.LastEventType, c.LastEventAt = m.seq, m.name, m.at
	s.dirtyCollectors[name] = true
}

func (s *state) collectorOnline(m moment, f events.CollectorOnline) {
	s.changeCollector(m, f.Name, func(c *collectorRow) {
		c.Presence, c.Draining, c.Reason, c.OnlineAt = presenceOnline, false, "", pointer(m.at)
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
		c.Presence, c.Draining, c.Reason, c.OfflineAt = presenceOffline, false, f.Reason, pointer(m.at)
	})
}
