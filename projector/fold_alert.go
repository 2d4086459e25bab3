package projector

import "github.com/tachobench/tacho/events"

// foldAlert applies a fact about an alert.
func (s *state) foldAlert(m moment, f events.AlertFact) {
	switch f := f.(type) {
	case events.AlertRaised:
		s.alertRaised(m, f)
	case events.AlertCleared:
		s.alertCleared(m, f)
	}
}

// alertRaised begins an alert, or changes the words of one that stands. The state holds only the alerts that stand:
// the row of a cleared one is replaced whole, so it need not be read.
func (s *state) alertRaised(m moment, f events.AlertRaised) {
	// The texts are as the table has them, so that a row that was read back compares equal to the written one.
	f.About, f.Message, f.Action = cleanText(f.About), cleanText(f.Message), cleanText(f.Action)
	a := s.alerts[f.Key]
	if a == nil || a.ClearedAt != nil {
		a = &alertRow{Key: f.Key, RaisedAt: m.at, RaisedSeq: m.seq}
		s.alerts[f.Key] = a
	} else if a.Kind == f.Kind && a.About == f.About && a.Message == f.Message && a.Action == f.Action {
		return
	}
	a.Kind, a.About, a.Message, a.Action = f.Kind, f.About, f.Message, f.Action
	a.ChangedAt, a.ChangedSeq = m.at, m.seq
	s.dirtyAlerts[f.Key] = true
}

// alertCleared ends an alert. It counts a fact about an alert that does not stand as refused.
func (s *state) alertCleared(m moment, f events.AlertCleared) {
	a := s.alerts[f.Key]
	if a == nil || a.ClearedAt != nil {
		s.refused++
		return
	}
	a.ClearedAt, a.ClearedSeq, a.ClearedReason = pointer(m.at), pointer(m.seq), f.Reason
	s.dirtyAlerts[f.Key] = true
}

// forgetAlerts drops the alerts that this batch cleared.
func (s *state) forgetAlerts() {
	for key := range s.dirtyAlerts {
		if a := s.alerts[key]; a != nil && a.ClearedAt != nil {
			delete(s.alerts, key)
		}
	}
}
