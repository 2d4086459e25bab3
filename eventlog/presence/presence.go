// Package presence hears the heartbeats of all collectors, once for a whole process, and tells who is silent.
//
// A listener that hears nothing cannot know whether nobody speaks or whether it is deaf. So it makes sounds of its own
// (probes) where heartbeats are made, and listens for them. Sounds come in the order in which they were made: when a
// probe comes back, the newest beat of every collector from before it has been heard. Silence is counted up to that
// probe, and never up to now:
//
//	          since                            through           now
//	            ▼                                 ▼               ▼
//	probes  ────●───●───●───●───●───●───●───●─────●───○───○───────┤   ● came back, ○ did not (yet)
//	beats   ──────▲───────▲───────────────────────────────────────┤
//	                      └─────── silence ───────┘
//
// A stretch without a probe that came back breaks the count: nobody was heard, so nobody was silent, and everybody has the
// whole time again. The process stood still, the log was away, or the watcher was stuck. When that lasts the listener begins
// to watch anew. It never compares clocks: all times are lengths on the monotonic clock of this process, so it means
// nothing to set a clock.
//
// Nothing is persisted. A listener that is started knows nobody, and needs the whole time to call somebody silent.
package presence

import (
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Hearing is what a Listener tells the parts of its process. All of it may be called at any time.
type Hearing interface {
	// Hears returns for how long everybody has been heard without a break; 0 while nobody is.
	Hears() time.Duration
	// Of returns what is heard of a collector.
	Of(name events.CollectorName) Voice
	// Note tells that the log speaks of the collector, so that its silence counts from now on. The log may be ahead of
	// the heartbeats.
	Note(name events.CollectorName)
	// Changed returns a channel that is closed when a collector is heard, and when hearing begins or ends.
	Changed() <-chan struct{}
}

// Voice is what is heard of one collector.
type Voice struct {
	// Silence is how long the collector can be shown to have been silent, at most Hears; 0 while nobody is heard.
	Silence time.Duration
	// Beat is its newest heartbeat, Age how long ago it came. Heard is false when there was none.
	Beat  eventlog.Beat
	Age   time.Duration
	Heard bool
	// Left is set when its process gave the name back after that.
	Left bool
}

// Deaf hears nobody, and calls nobody silent.
type Deaf struct{}

// Hears implements Hearing.
func (Deaf) Hears() time.Duration { return 0 }

// Of implements Hearing.
func (Deaf) Of(events.CollectorName) Voice { return Voice{} }

// Note implements Hearing.
func (Deaf) Note(events.CollectorName) {}

// Changed implements Hearing.
func (Deaf) Changed() <-chan struct{} { return nil }
