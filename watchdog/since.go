package watchdog

import "time"

// doubted is how far the time of something that the log has just told may be off before our clock, or that of the log, is wrong.
const doubted = time.Minute

// moments knows, by the clock that never jumps, since when things are as the log says. The log says it by the clock of its
// servers. Our own clock may differ from theirs, and may be set while something lasts: neither makes it last longer.
type moments struct {
	// all are those of the last look, by the name of the thing.
	all, next map[string]moment
	// looked is set after the first look. What that finds may have begun long before, so the time in the log counts.
	looked bool
}

// moment is when something began: by the log, and by our clock.
type moment struct{ told, at time.Time }

// look begins a look at everything.
func (m *moments) look() { m.next = map[string]moment{} }

// done ends a look. What it did not name is forgotten.
func (m *moments) done() { m.all, m.looked = m.next, true }

// since returns when, by our clock, that began of which the log says that it began at told.
func (m *moments) since(name string, told, now time.Time) time.Time {
	if told.IsZero() {
		return told
	}
	known, ok := m.all[name]
	if !ok || !known.told.Equal(told) {
		age := now.Sub(told)
		if m.looked && age.Abs() > doubted {
			age = 0 // we see it as soon as it is told
		}
		known = moment{told, now.Add(-age)}
	}
	m.next[name] = known
	return known.at
}
