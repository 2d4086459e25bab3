// Package presence hears the heartbeats of all collectors, once for a whole process, and says which collectors are
// silent.
//
// A listener that hears nothing cannot know whether no collector beats or whether it is deaf itself. So it makes sounds
// of its own (probes) in the place of the heartbeats, and listens for them. Sounds come in the order in which they were
// made: when a probe comes back, the listener has heard the newest earlier beat of every collector. It counts silence
// up to that probe, never up to now:
//
//	          since                            through           now
//	            ▼                                 ▼               ▼
//	probes  ────●───●───●───●───●───●───●───●─────●───○───○───────┤   ● came back, ○ did not (yet)
//	beats   ──────▲───────▲───────────────────────────────────────┤
//	                      └─────── silence ───────┘
//
// A time in which no probe came back breaks the count: the process stood still, the log was unreachable, or the watcher
// was stuck. No collector was heard then, so none counts as silent, and each gets the whole time again. When that
// lasts, the listener makes a new watcher. It never compares clocks: all times are lengths on the monotonic clock of
// this process, so setting a clock has no effect.
//
// Nothing is persisted. A new listener knows no collector, and needs the whole time before it calls one silent.
package presence

import (
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Hearing is what a Listener tells the parts of its process. Its methods may be called at any time.
type Hearing interface {
	// Hears returns for how long the listener has heard without a break; 0 while it does not hear.
	Hears() time.Duration
	// Of returns what the listener has heard of a collector.
	Of(name events.CollectorName) Voice
	// Note says that the log has news about the collector, so its silence counts from now on. The log may be ahead of
	// the heartbeats.
	Note(name events.CollectorName)
	// Changed returns a channel that is closed when a collector is heard, and when hearing begins or ends.
	Changed() <-chan struct{}
}

// Voice is what the listener has heard of one collector.
type Voice struct {
	// Silence is how long the collector has certainly been silent, at most Hears; 0 while the listener does not hear.
	Silence time.Duration
	// Beat is its newest heartbeat, Age how long ago it came. Heard is false when there was none.
	Beat  eventlog.Beat
	Age   time.Duration
	Heard bool
	// Left is set when its process gave the name back after that beat.
	Left bool
}

// Deaf hears no collector, and calls none silent.
type Deaf struct{}

// Hears implements Hearing.
func (Deaf) Hears() time.Duration { return 0 }

// Of implements Hearing.
func (Deaf) Of(events.CollectorName) Voice { return Voice{} }

// Note implements Hearing.
func (Deaf) Note(events.CollectorName) {}

// Changed implements Hearing.
func (Deaf) Changed() <-chan struct{} { return nil }
