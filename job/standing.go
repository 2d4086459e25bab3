package job

import "github.com/tachobench/tacho/events"

// Standing is what the log says of one collector: whether it may execute jobs. The zero value is one that
// nobody registered.
type Standing struct {
	// Registered is nil until the collector is registered.
	Registered *events.CollectorRegistered
	// Active is cleared by a deactivation and set by an activation. At once is set when the job in hand was
	// not to be waited for.
	Active, AtOnce bool
	// Draining is set from the wish to drain until another process starts, or an activation.
	Draining bool
	// Quarantined is set until an activation.
	Quarantined bool
	// Reason is why it is inactive, draining or quarantined.
	Reason string
	// Instance is the process that last said that it is there; Online whether it still is.
	Instance string
	Online   bool
}

// Stand returns the standing after one event about the collector; others change nothing.
func Stand(s Standing, f events.Fact) Standing {
	// Only what concerns the collector itself.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorRegistered:
		s.Registered, s.Active = &f, true
	case events.CollectorActivated:
		s.Active, s.AtOnce, s.Draining, s.Quarantined, s.Reason = true, false, false, false, ""
	case events.CollectorDeactivated:
		s.Active, s.AtOnce, s.Reason = false, f.Now, f.Reason
	case events.CollectorDraining:
		s.Draining, s.Reason = true, f.Reason
	case events.CollectorQuarantined:
		s.Quarantined, s.Reason = true, f.Reason
	case events.CollectorOnline:
		// A process that was silent for a while and says so again is still to leave.
		s.Draining = s.Draining && f.Instance == s.Instance
		s.Instance, s.Online = f.Instance, true
	case events.CollectorOffline:
		s.Online = s.Online && f.Instance != s.Instance
	case events.CollectorUpdating:
		s.Online = s.Online && f.Instance != s.Instance
	}
	return s
}

// Takes reports whether the collector may begin jobs.
func (s Standing) Takes() bool {
	return s.Registered != nil && s.Active && !s.Draining && !s.Quarantined
}
