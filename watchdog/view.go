package watchdog

import (
	"time"

	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// view is what the watchdog perceives besides the log: heartbeats, and whether log and tables answer. Each process
// has its own, in memory only.
type view struct {
	// hears is for how long all heartbeats have been heard without a break; voices, what is heard of each collector.
	hears  time.Duration
	voices map[events.CollectorName]presence.Voice
	// told is when the log last said of each collector that it is there or not.
	told map[events.CollectorName]time.Time
	// grew is when a beat last told of progress; sighted, when one last told of a job for the first time.
	grew, sighted time.Time
	// moments are when what the log tells began.
	moments moments

	log     logView
	tables  tablesView
	outputs outputsView
	room    roomView

	// looked is when the watchdog last looked; woke, when it last found that it had not looked for a while.
	looked, woke time.Time
}

// stillFor is how long the watchdog may not look before it takes itself for a process that stood still. It looks at least
// twice in each tick.
const stillFor = 3 * time.Second

// look notes that the watchdog looks now. After a time in which it stood still, or when the clock was set, all that fails
// counts from now on. Those who look read the clock before they wait for one another: now may lie a little before the
// last look.
func (v *view) look(now time.Time, tick time.Duration) {
	gap := now.Sub(v.looked).Abs()
	if v.looked.IsZero() || gap <= max(stillFor, 3*tick) {
		v.looked = later(v.looked, now)
		return
	}
	v.looked, v.woke = now, now
	for _, since := range []*time.Time{&v.log.silent, &v.log.refusing, &v.tables.failing, &v.tables.far, &v.tables.still} {
		if !since.IsZero() {
			*since = now
		}
	}
}

func newView() *view {
	return &view{voices: map[events.CollectorName]presence.Voice{}, told: map[events.CollectorName]time.Time{}}
}

// listen takes what is heard of all collectors. When the log says something new about the presence of one, its silence
// is counted from that moment.
func (v *view) listen(h presence.Hearing, collectors map[events.CollectorName]*ledger.Collector, now time.Time) {
	v.hears = h.Hears()
	for name, c := range collectors {
		if at, known := v.told[name]; !known || !at.Equal(c.Expected) {
			v.told[name] = c.Expected
			h.Note(name)
		}
		v.hear(name, h.Of(name), now)
	}
}

// hear takes what is heard of a collector.
func (v *view) hear(name events.CollectorName, voice presence.Voice, now time.Time) {
	before, after := v.voices[name], voice.Beat
	switch {
	case after.JobID == "":
	case before.Beat.JobID != after.JobID:
		v.sighted = now
	case before.Beat.Done != after.Done || before.Beat.Benchmark != after.Benchmark:
		v.grew = now
	}
	v.voices[name] = voice
}

// there reports whether a collector is heard now.
func (v *view) there(name events.CollectorName, limit time.Duration) bool {
	voice := v.voices[name]
	return voice.Heard && !voice.Left && voice.Silence < limit
}

// logView says whether the log answers.
type logView struct {
	// head is the last event of the log as it answered; answered is set after the first answer.
	head     events.Seq
	answered bool
	// silent is since when the log does not answer; refusing, since when it takes no event, for the reason why. They are
	// zero while it does.
	silent, refusing time.Time
	why              string
	// alone is set while a server of the log answers that hears no majority of the others.
	alone bool
	// told is set once the webhook was told of the outage.
	told bool
	// outages are the outages that are over and not recorded yet.
	outages []outage
}

// outage is a time in which the log did not answer, or took nothing.
type outage struct{ from, to time.Time }

// failing returns since when the log cannot be read or written; zero if it can.
func (l *logView) failing() time.Time {
	if l.silent.IsZero() || !l.refusing.IsZero() && l.refusing.Before(l.silent) {
		return l.refusing
	}
	return l.silent
}

// note takes the result of a question that was put to the log at asked. since is the field in question: silent or
// refusing. When an outage is over and lasted at least limit, note keeps it in outages.
func (l *logView) note(since *time.Time, asked, now time.Time, err error, limit time.Duration) {
	from := l.failing()
	if err != nil {
		if since.IsZero() {
			*since = asked
		}
		return
	}
	*since = time.Time{}
	if from.IsZero() || !l.failing().IsZero() {
		return
	}
	l.told, l.why = false, ""
	if now.Sub(from) >= limit {
		l.outages = append(l.outages, outage{from, now})
	}
}

// tablesView says how far the tables are.
type tablesView struct {
	// asked is set after the first question to them, even a failed one.
	asked bool
	at    events.Seq
	// failing is since when the tables cannot be read; far, since when they are far behind; still, since when they are
	// behind and have not moved. Each is zero if that is not so.
	failing, far, still time.Time
	// failed counts the questions without an answer since the last one that had one.
	failed int
}

// note takes the result of asking the tables for their place when the log was at head.
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
		t.failed++
		return
	}
	t.failed = 0
	begin(&t.far, head > at && uint64(head-at) > limit)
	if moved {
		t.still = time.Time{}
	}
	begin(&t.still, head > at)
	t.at = at
}
