package job

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Standing says whether one collector may execute jobs. It is folded from registry.<name>, where the operator and the
// scheduler write. Only Instance and Online come from collector.<name>, where the collector writes. The zero value is a
// collector that is not registered.
type Standing struct {
	// Registered is nil until the collector is registered. Its key is the newest one.
	Registered *events.CollectorRegistered
	// Since is when the collector was registered, KeySince when it got its key.
	Since, KeySince time.Time
	// Removed is set by a removal and never cleared. The key of a removed collector is refused.
	Removed bool
	// Active is set by an activation and cleared by a deactivation. AtOnce is set when the deactivation did not wait
	// for the job in hand.
	Active, AtOnce bool
	// Draining is set when the collector is asked to drain. It is cleared when another process starts, or by an
	// activation.
	Draining bool
	// Quarantined is cleared by an activation.
	Quarantined bool
	// Reason is why the collector is inactive, draining or quarantined.
	Reason string
	// Instance is the process that last reported that it is online. Online says whether it still is.
	Instance string
	Online   bool
}

// Stand returns the standing after one fact about the collector, decided at the given time. Other facts change nothing.
// Once the collector is removed, no fact changes its standing.
func Stand(s Standing, f events.Fact, at time.Time) Standing {
	if s.Removed {
		return s
	}
	// Only the facts about the collector itself.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorRegistered:
		// In earlier versions a collector could register itself again for another lane: only the first registration
		// counts.
		if s.Registered == nil {
			s.Registered, s.Active, s.Since, s.KeySince = &f, true, at, at
		}
	case events.RegistryCopied:
		r := f.CollectorRegistered
		s.Registered, s.Active, s.AtOnce, s.Draining, s.Quarantined, s.Reason = &r, f.Active, f.AtOnce, f.Draining, f.Quarantined, f.Reason
		s.Since, s.KeySince = Time(f.RegisteredAt), Time(f.KeySince)
	case events.CollectorKeyRotated:
		if s.Registered != nil {
			r := *s.Registered
			r.NKey = f.NKey
			s.Registered, s.KeySince = &r, at
		}
	case events.CollectorRemoved:
		s.Removed, s.Active, s.AtOnce, s.Online, s.Reason = true, false, true, false, f.Reason
	case events.CollectorActivated:
		s.Active, s.AtOnce, s.Draining, s.Quarantined, s.Reason = true, false, false, false, ""
	case events.CollectorDeactivated:
		s.Active, s.AtOnce, s.Reason = false, f.Now, f.Reason
	case events.CollectorDraining:
		s.Draining, s.Reason = true, f.Reason
	case events.CollectorQuarantined:
		s.Quarantined, s.Reason = true, f.Reason
	case events.CollectorOnline:
		// A process that was silent for a while and comes online again must still drain.
		s.Draining = s.Draining && f.Instance == s.Instance
		s.Instance, s.Online = f.Instance, true
	case events.CollectorOffline:
		s.Online = s.Online && f.Instance != s.Instance
	case events.CollectorSilent:
		s.Online = s.Online && f.Instance != s.Instance
	case events.CollectorUpdating:
		s.Online = s.Online && f.Instance != s.Instance
	}
	return s
}

// StandOn returns the standing of a collector after all its events on the registry and all its own events, in the order
// of the log. Events without a fact are litter.
func StandOn(registry, own []events.Recorded) (s Standing) {
	for len(registry)+len(own) > 0 {
		from := &own
		if len(own) == 0 || len(registry) > 0 && registry[0].Seq < own[0].Seq {
			from = &registry
		}
		e := (*from)[0]
		*from = (*from)[1:]
		s = Stand(s, e.Fact, e.Time)
	}
	return s
}

// Takes reports whether the collector may begin jobs.
func (s Standing) Takes() bool {
	return s.Registered != nil && s.Active && !s.Draining && !s.Quarantined && !s.Removed
}

// Copy returns the fact that copies a standing of an earlier version into the registry.
func (s Standing) Copy() events.RegistryCopied {
	return events.RegistryCopied{
		CollectorRegistered: *s.Registered, Active: s.Active, AtOnce: s.AtOnce, Draining: s.Draining, Quarantined: s.Quarantined,
		Reason: s.Reason, KeySince: Stamp(s.KeySince), RegisteredAt: Stamp(s.Since),
	}
}
