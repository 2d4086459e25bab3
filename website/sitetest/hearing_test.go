package sitetest

import (
	"sync"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
)

// ears hear by the clock of a story.
type ears struct {
	clock *clock
	since time.Time

	// mu guards the rest.
	mu     sync.Mutex
	voices map[events.CollectorName]presence.Voice
	at     map[events.CollectorName]time.Time
	moved  chan struct{}
}

func newEars(c *clock) *ears {
	return &ears{
		clock: c, since: c.read().Add(-time.Second), voices: map[events.CollectorName]presence.Voice{}, at: map[events.CollectorName]time.Time{},
		moved: make(chan struct{}),
	}
}

// take takes what a watcher tells.
func (e *ears) take(s eventlog.Sound) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case s.Beat != nil:
		e.voices[s.Beat.Name], e.at[s.Beat.Name] = presence.Voice{Beat: *s.Beat, Heard: true}, e.clock.read()
	case s.Left != "":
		v := e.voices[s.Left]
		v.Left = true
		e.voices[s.Left] = v
	}
	close(e.moved)
	e.moved = make(chan struct{})
}

func (e *ears) Hears() time.Duration { return e.clock.read().Sub(e.since) }

func (e *ears) Of(name events.CollectorName) presence.Voice {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.voices[name]
	v.Silence = e.Hears()
	if v.Heard {
		v.Age = e.clock.read().Sub(e.at[name])
		v.Silence = v.Age
	}
	return v
}

func (*ears) Note(events.CollectorName) {}

func (e *ears) Changed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.moved
}
