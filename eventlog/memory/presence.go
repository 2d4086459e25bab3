package memory

import (
	"context"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// claim is the newest beat of a name and when it expires.
type claim struct {
	beat    eventlog.Beat
	expires time.Time
}

// holder returns the live claim of a name. The caller holds mu.
func (l *Log) holder(name events.CollectorName) (claim, bool) {
	c, ok := l.beats[name]
	if !ok || !time.Now().Before(c.expires) {
		return claim{}, false
	}
	return c, true
}

// Claim implements eventlog.Presence.
func (l *Log) Claim(_ context.Context, b eventlog.Beat, replaces string) (eventlog.Beat, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.holder(b.Name); ok && c.beat.Instance != b.Instance && c.beat.Instance != replaces {
		return c.beat, eventlog.ErrNameHeld
	}
	l.put(b)
	return b, nil
}

// Beat implements eventlog.Presence.
func (l *Log) Beat(_ context.Context, b eventlog.Beat) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.holder(b.Name); ok && c.beat.Instance != b.Instance {
		return eventlog.ErrNameHeld
	}
	l.put(b)
	return nil
}

// put renews a claim. The caller holds mu.
func (l *Log) put(b eventlog.Beat) {
	l.beats[b.Name] = claim{beat: b, expires: time.Now().Add(l.cfg.BeatTTL)}
	l.announce()
}

// Release implements eventlog.Presence.
func (l *Log) Release(_ context.Context, b eventlog.Beat) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.holder(b.Name); ok && c.beat.Instance == b.Instance {
		delete(l.beats, b.Name)
		l.announce()
	}
	return nil
}

// Watch implements eventlog.Presence. It compares what is there with what was told, so a beat that was
// overtaken by a newer one before it could be told is not told.
func (l *Log) Watch(ctx context.Context, f func(b eventlog.Beat, gone bool)) error {
	told := map[events.CollectorName]claim{}
	for first := true; ; first = false {
		live, changed, wait := l.presence()
		for name, c := range live {
			if old, ok := told[name]; !ok || old != c {
				f(c.beat, false)
			}
		}
		for name, c := range told {
			if _, ok := live[name]; !ok {
				f(c.beat, true)
			}
		}
		told = live
		if first {
			f(eventlog.Beat{}, false)
		}
		var expiry <-chan time.Time
		if len(live) > 0 {
			expiry = time.After(wait)
		}
		select {
		case <-changed:
		case <-expiry:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// presence returns the live claims, the channel of the next change, and when the first claim expires.
func (l *Log) presence() (live map[events.CollectorName]claim, changed <-chan struct{}, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	live, wait = map[events.CollectorName]claim{}, l.cfg.BeatTTL
	for name := range l.beats {
		if c, ok := l.holder(name); ok {
			live[name], wait = c, min(wait, time.Until(c.expires))
		}
	}
	return live, l.changed, wait
}
