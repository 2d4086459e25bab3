package watchdog

import (
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// view is what the watchdog perceives besides the log: heartbeats, and whether log and tables answer. It is
// its own and ends with it.
type view struct {
	// listening is since when all heartbeats are heard; zero while they are not.
	listening time.Time
	beats     map[events.CollectorName]eventlog.Beat
	// heard is when each collector was heard last; it outlives its beat.
	heard map[events.CollectorName]time.Time
	// grew is when a beat told of progress, sighted when one told of a job for the first time.
	grew, sighted time.Time

	log    logView
	tables tablesView
}

func newView() *view {
	return &view{beats: map[events.CollectorName]eventlog.Beat{}, heard: map[events.CollectorName]time.Time{}}
}

// hear takes a heartbeat, or its end.
func (v *view) hear(b eventlog.Beat, gone bool, now time.Time) {
	before, known := v.beats[b.Name]
	if gone {
		if before.Instance == b.Instance {
			delete(v.beats, b.Name)
		}
		return
	}
	switch {
	case b.JobID == "":
	case !known || before.JobID != b.JobID:
		v.sighted = now
	case before.Done != b.Done || before.Benchmark != b.Benchmark:
		v.grew = now
	}
	v.beats[b.Name], v.heard[b.Name] = b, now
}

// deaf says that heartbeats are not heard any more.
func (v *view) deaf() {
	v.listening = time.Time{}
	clear(v.beats)
}

// logView is whether the log answers.
type logView struct {
	// head is the last event that the log told of; answered is set once it told.
	head     events.Seq
	answered bool
	// silent is since when it does not answer, refusing since when it takes no event, with the reason. Zero
	// when that is not so.
	silent, refusing time.Time
	why              string
	// told is set once somebody was told of the outage.
	told bool
	// outages are over, and not recorded yet.
	outages []outage
}

// outage is a time in which the log did not answer, or took nothing.
type outage struct{ from, to time.Time }

// failing returns since when the log cannot be read or written; zero when it can.
func (l *logView) failing() time.Time {
	if l.silent.IsZero() || !l.refusing.IsZero() && l.refusing.Before(l.silent) {
		return l.refusing
	}
	return l.silent
}

// note takes what came of asking the log at a time; since is silent or refusing, whichever was asked about. It
// reports the end of an outage that lasted for as long as the limit.
func (l *logView) note(since *time.Time, asked, now time.Time, err error, limit time.Duration) (over bool) {
	from := l.failing()
	if err != nil {
		if since.IsZero() {
			*since = asked
		}
		return false
	}
	*since = time.Time{}
	if from.IsZero() || !l.failing().IsZero() {
		return false
	}
	l.told, l.why = false, ""
	if now.Sub(from) < limit {
		return false
	}
	l.outages = append(l.outages, outage{from, now})
	return true
}

// tablesView is how far the tables are.
type tablesView struct {
	// asked is set once they were asked, or could not be.
	asked bool
	at    events.Seq
	// failing is since when they cannot be read, far since when they are far behind, still since when they are
	// behind and have not moved. Zero when that is not so.
	failing, far, still time.Time
}

// note takes what came of asking the tables for their place when the log was at head.
func (t *tablesView) note(now time.Time, head, at events.Seq, err error, limit uint64) {
	begin := func(since *time.Time, holds bool) {
		switch {
		case !holds:
			*since = time.Time{}
		case since.IsZero():
			*since = now
		}
	}
	moved := !t.asked || at != t.at
	t.asked = true
	begin(&t.failing, err != nil)
	if err != nil {
		return
	}
	begin(&t.far, head > at && uint64(head-at) > limit)
	if moved {
		t.still = time.Time{}
	}
	begin(&t.still, head > at)
	t.at = at
}
