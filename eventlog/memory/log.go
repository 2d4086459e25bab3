// Package memory keeps an event log in memory, for tests and simulations.
//
// It stores events in the same form as the real log and answers in the same way, without a goroutine, a file or a
// connection. It uses the clock of package time, so inside a testing/synctest bubble all waiting is simulated.
//
// One mutex guards everything. A waiter takes the channel that the next change closes, releases the mutex, and looks
// again when the channel is closed.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Config bounds waiting. Zero values are the defaults.
type Config struct {
	// AckWait is how long until an unacknowledged job is delivered again; default 60 s.
	AckWait time.Duration
	// BeatTTL is how long a heartbeat lives; default 60 s.
	BeatTTL time.Duration
	// Clock tells when the log stores an event; nil means time.Now. Nothing else uses it.
	Clock func() time.Time
}

// Log is an event log in memory. It implements eventlog.Log, Dispatch, Presence, Heartbeats and JobLogs.
type Log struct {
	snapshots

	cfg      Config
	identity string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	all     []events.Stored
	decoded []*events.Recorded       // of those of all that were asked for; readers of all share them
	parks   events.Parks             // what Read obeys
	places  map[events.Subject][]int // indexes into all
	lanes   map[events.Lane]*lane
	beats   map[events.CollectorName]claim
	probes  map[string]uint64 // the newest of each listener
	chunks  map[logKey][]eventlog.LogChunk
}

// New returns an empty log.
func New(cfg Config) *Log {
	if cfg.AckWait == 0 {
		cfg.AckWait = time.Minute
	}
	if cfg.BeatTTL == 0 {
		cfg.BeatTTL = time.Minute
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Log{
		cfg: cfg, identity: uuid.NewString(), changed: make(chan struct{}),
		places: map[events.Subject][]int{}, lanes: map[events.Lane]*lane{},
		beats: map[events.CollectorName]claim{}, probes: map[string]uint64{}, chunks: map[logKey][]eventlog.LogChunk{},
	}
}

// Append implements eventlog.Log.
func (l *Log) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	staged, err := eventlog.Stage(parts)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("append: %w: %w", eventlog.ErrUnavailable, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range parts {
		if v := l.version(p.Subject); v != p.Expected {
			return 0, &eventlog.ConflictError{Subject: p.Subject, Expected: p.Expected, Actual: v}
		}
	}
	now := l.cfg.Clock().UTC()
	for _, s := range staged {
		s.StoredAt, s.Seq = now, events.Seq(len(l.all)+1)
		l.places[s.Subject] = append(l.places[s.Subject], len(l.all))
		l.all, l.decoded = append(l.all, s), append(l.decoded, nil)
	}
	l.announce()
	return events.Seq(len(l.all)), nil
}

// version returns the last sequence of a subject. The caller holds mu.
func (l *Log) version(s events.Subject) events.Seq {
	if p := l.places[s]; len(p) > 0 {
		return l.all[p[len(p)-1]].Seq
	}
	return 0
}

// announce wakes all waiters. The caller holds mu.
func (l *Log) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Read implements eventlog.Log.
func (l *Log) Read(_ context.Context, subject events.Subject) ([]events.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]events.Recorded, len(l.places[subject]))
	for n, i := range l.places[subject] {
		var err error
		if out[n], err = l.decode(i); err != nil {
			return nil, fmt.Errorf("read %s: %w", subject, err)
		}
	}
	return out, nil
}

// Parks implements eventlog.Log.
func (l *Log) Parks(context.Context) (events.Parks, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.readParks()
	return l.parks, err
}

// readParks reads which events are parked. The caller holds mu.
func (l *Log) readParks() error {
	var stored []events.Stored
	for _, i := range l.places[events.ParkSubject()] {
		stored = append(stored, l.all[i])
	}
	history, err := events.DecodeAll(stored)
	if err != nil {
		return fmt.Errorf("read which events are parked: %w", err)
	}
	l.parks = events.ParksOf(history)
	return nil
}

// decode decodes an event once: collectors ask for the same ones at every heartbeat. The caller holds mu.
func (l *Log) decode(i int) (events.Recorded, error) {
	if _, parked := l.parks.Of(l.all[i].Seq); parked {
		return events.Recorded{Seq: l.all[i].Seq}, nil
	}
	if l.decoded[i] == nil {
		r, err := events.DecodeOne(l.all[i])
		if errors.Is(err, events.ErrUnknownType) && l.readParks() == nil { // it may have been parked since then
			if _, parked := l.parks.Of(l.all[i].Seq); parked {
				return events.Recorded{Seq: l.all[i].Seq}, nil
			}
		}
		if err != nil {
			return events.Recorded{}, err
		}
		l.decoded[i] = &r
	}
	return *l.decoded[i], nil
}

// Last implements eventlog.Log.
func (l *Log) Last(_ context.Context, subject events.Subject) (events.Recorded, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[subject]
	if len(p) == 0 {
		return events.Recorded{}, false, nil
	}
	r, err := l.decode(p[len(p)-1])
	if err != nil {
		return events.Recorded{}, false, fmt.Errorf("read the last of %s: %w", subject, err)
	}
	return r, true, nil
}

// Newer implements eventlog.Log.
func (l *Log) Newer(_ context.Context, subject events.Subject, version events.Seq) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[subject]
	return len(p) > 0 && l.all[p[len(p)-1]].Seq > version, nil
}

// Takes implements eventlog.Log.
func (l *Log) Takes(ctx context.Context) (eventlog.Head, error) { return l.Head(ctx) }

// Head implements eventlog.Log.
func (l *Log) Head(context.Context) (eventlog.Head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := eventlog.Head{Identity: l.identity, Last: events.Seq(len(l.all)), Sole: true}
	if h.Last > 0 {
		h.First = 1
	}
	return h, nil
}

// Follow implements eventlog.Log.
func (l *Log) Follow(_ context.Context, after events.Seq) (eventlog.Cursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int(after) > len(l.all) {
		return nil, &eventlog.GapError{Want: after}
	}
	return &cursor{log: l, next: int(after)}, nil
}

// cursor is a place in the log; one goroutine at a time uses it.
type cursor struct {
	log  *Log
	next int // index of the next event
}

// Next implements eventlog.Cursor.
func (c *cursor) Next(ctx context.Context, limit int) ([]events.Stored, error) {
	for {
		c.log.mu.Lock()
		rest, changed := c.log.all[c.next:], c.log.changed
		c.log.mu.Unlock()
		if len(rest) > 0 {
			n := min(limit, len(rest))
			c.next += n
			return append([]events.Stored(nil), rest[:n]...), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close implements eventlog.Cursor.
func (c *cursor) Close() {}
