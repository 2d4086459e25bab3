package watchdog

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// Limits say how long something may last before the watchdog raises an alert.
type Limits struct {
	// OfflineAfter is how long a collector may be silent. It is also how long the watchdog listens before it
	// calls any collector silent.
	OfflineAfter time.Duration
	// StalledAfter is how long nothing may move while there is work.
	StalledAfter time.Duration
	// LagEvents is how many events the tables may be behind the log; LagFor, how long they may stand still.
	LagEvents uint64
	LagFor    time.Duration
	// TurnAfter is how long a collector may wait for the turn of its machine, whatever the job takes that has it.
	TurnAfter time.Duration
}

// The limits that are not configured.
const (
	// unservedAfter is how long jobs may be queued on a lane without a collector: a person registers collectors one
	// after the other.
	unservedAfter = time.Minute
	// farFor is how long the tables may be far behind: a burst of events needs no alert.
	farFor = 5 * time.Second
	// unreachableShown is how long the log may be away before pages, metrics and /readyz of this process say so;
	// unreachableAfter, before somebody is called and it is recorded. The election of a leader, 4 to 9 s, calls nobody.
	unreachableShown = 3 * time.Second
	unreachableAfter = 10 * time.Second
	// databaseAfter is how long Postgres may not answer, databaseTries how many probes in a row at least.
	databaseAfter = 2 * time.Second
	databaseTries = 2
	// updateFor is how long a collector may take to fetch, build and start another version.
	updateFor = 15 * time.Minute
	// A job overruns when it takes at least overrunTimes its expected length, and at least overrunAfter.
	overrunTimes = 3
	overrunAfter = 10 * time.Minute
	// poisonFor is how long the alert about a quarantined request stands.
	poisonFor = 24 * time.Hour
)

// finding is an alert that should stand, and the event that it follows from.
type finding struct {
	events.AlertRaised
	cause events.Seq
	// anew is set if the words that stand in the log are wrong by now, whichever watchdog chose them.
	anew bool
}

// judgement is what should be said at one moment. It holds the alerts that should stand, and those that it cannot
// decide yet. All other alerts should not stand.
type judgement struct {
	*ledger.Ledger
	view   *view
	limits Limits
	now    time.Time

	wanted map[events.AlertKey]finding
	// unsure are alerts that stay as they are; unsureKinds, whole kinds of alerts.
	unsure      map[events.AlertKey]bool
	unsureKinds map[events.AlertKind]bool
}

// judge makes the whole decision from the ledger, the view and the time. It notes in the view what it sees for the first time.
func judge(s *ledger.Ledger, v *view, l Limits, now time.Time) *judgement {
	j := &judgement{
		Ledger: s, view: v, limits: l, now: now, wanted: map[events.AlertKey]finding{}, unsure: map[events.AlertKey]bool{},
		unsureKinds: map[events.AlertKind]bool{},
	}
	v.moments.look()
	defer v.moments.done()
	j.quarantine()
	j.lacking()
	j.update()
	j.unserved()
	j.full()
	j.unsealed()
	j.stuck()
	j.overdue()
	j.overrun()
	j.offline()
	j.stalled()
	j.database()
	j.lag()
	j.outputs()
	j.rooms()
	j.turns()
	return j
}

// want notes that an alert should stand.
func (j *judgement) want(cause events.Seq, a events.AlertRaised) {
	a.Key = events.NewAlertKey(a.Kind, a.About)
	j.wanted[a.Key] = finding{AlertRaised: a, cause: cause}
}

// doubt notes that it cannot be decided yet whether an alert should stand.
func (j *judgement) doubt(kind events.AlertKind, about string) {
	j.unsure[events.NewAlertKey(kind, about)] = true
}

// over returns why an alert is over; false if it is not, or if the watchdog does not raise alerts of its kind.
func (j *judgement) over(a ledger.Alert) (reason string, ok bool) {
	if _, wanted := j.wanted[a.Key]; wanted || j.unsure[a.Key] || j.unsureKinds[a.Kind] {
		return "", false
	}
	switch a.Kind {
	case events.AlertStalled:
		return j.stalledOver(), true
	case events.AlertUnserved:
		return j.unservedOver(a.About), true
	case events.AlertOffline:
		return j.offlineOver(events.CollectorName(a.About)), true
	case events.AlertQuarantine:
		return j.quarantineOver(a.About), true
	case events.AlertLacking:
		return "no request of the suite waits for it any more", true
	case events.AlertLag:
		return "the tables are up to date again", true
	case events.AlertUnreachable:
		return "the log answers again", true
	case events.AlertUpdate:
		return j.updateOver(events.CollectorName(a.About)), true
	case events.AlertOverrun:
		return "the attempt has ended", true
	case events.AlertHostFull:
		return j.fullOver(events.MachineName(a.About)), true
	case events.AlertSeal:
		return j.unsealedOver(events.CollectorName(a.About)), true
	case events.AlertStuck:
		return "the graph has ended, or jobs of it run again", true
	case events.AlertOverdue:
		return "its jobs have ended", true
	case events.AlertOutputs:
		return "there is room again", true
	case events.AlertDatabase:
		return "the database answers again", true
	case events.AlertRoom:
		return "there is room again", true
	case events.AlertTurn:
		return "the turn was given back, or no collector waits for it", true
	case events.AlertNewer, events.AlertDamaged, events.AlertSource, events.AlertReport, events.AlertRefused, events.AlertHook:
		// The part that raised them clears them.
	}
	return "", false
}

// hears reports whether silence means something: all heartbeats have been listened to for long enough.
func (j *judgement) hears() bool {
	return j.view.hears >= j.limits.OfflineAfter && j.view.log.silent.IsZero()
}

// since returns when, by our clock, that began of which the log says that it began at told.
func (j *judgement) since(name string, told time.Time) time.Time {
	return j.view.moments.since(name, told, j.now)
}

// passed reports whether a time is known and lies back by limit or more.
func (j *judgement) passed(since time.Time, limit time.Duration) bool {
	return !since.IsZero() && j.now.Sub(since) >= limit
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
