package presence

import (
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// moment is a time, counted from the start of the listener.
type moment = time.Duration

// ear counts silence. It has no clock and no lock.
type ear struct {
	// gap is how far apart two returned probes may be so that the time between them counts as heard.
	gap time.Duration
	// Everything between since and through was heard. Both are times at which a returned probe was made.
	since, through moment
	// hears is set while probes come back.
	hears  bool
	voices map[events.CollectorName]voice
}

// voice is what the ear knows about a collector.
type voice struct {
	beat eventlog.Beat
	// heard is when the last beat came, noted when the log last had news about the collector. Both are never before the
	// first time.
	heard, noted moment
	left         bool
}

// never is before every moment.
const never moment = -1

func newEar(gap time.Duration) *ear {
	return &ear{gap: gap, through: never - gap, voices: map[events.CollectorName]voice{}}
}

func (e *ear) voice(name events.CollectorName) voice {
	if v, ok := e.voices[name]; ok {
		return v
	}
	return voice{heard: never, noted: never}
}

func (e *ear) beat(b eventlog.Beat, at moment) {
	v := e.voice(b.Name)
	v.beat, v.heard, v.left = b, at, false
	e.voices[b.Name] = v
}

func (e *ear) leave(name events.CollectorName) {
	v := e.voice(name)
	v.left = true
	e.voices[name] = v
}

func (e *ear) note(name events.CollectorName, at moment) {
	v := e.voice(name)
	v.noted = at
	e.voices[name] = v
}

// echo takes the time at which a returned probe was made. It may come from another watcher than the probe before. The
// time between still counts as heard, because each watcher begins with the newest beats.
func (e *ear) echo(made moment) {
	if made-e.through > e.gap {
		e.since = made
	}
	e.hears, e.through = true, max(made, e.through)
}

// deafen notes that nothing is heard now.
func (e *ear) deafen() { e.hears = false }

// heardFor returns for how long the ear has heard without a break.
func (e *ear) heardFor() time.Duration {
	if !e.hears {
		return 0
	}
	return e.through - e.since
}

// of returns what is known about a collector.
func (e *ear) of(name events.CollectorName, now moment) Voice {
	v := e.voice(name)
	out := Voice{Beat: v.beat, Heard: v.heard >= 0, Left: v.left}
	if out.Heard {
		out.Age = now - v.heard
	}
	if e.hears {
		out.Silence = max(e.through-max(e.since, v.heard, v.noted), 0)
	}
	return out
}
