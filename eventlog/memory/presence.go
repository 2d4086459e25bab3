package memory

import (
	"context"
	"maps"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// claim is the newest beat of a name and when it expires.
type claim struct {
	beat    eventlog.Beat
	expires time.Time
	// left is set once the name was given back.
	left bool
}

// holder returns the live claim of a name. The caller holds mu.
func (l *Log) holder(name events.CollectorName) (claim, bool) {
	c, ok := l.beats[name]
	if !ok || c.left || !time.Now().Before(c.expires) {
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
func (l *Log) Beat(_ context.Context, b eventlog.Beat) (eventlog.News, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.holder(b.Name); ok && c.beat.Instance != b.Instance {
		return nil, eventlog.ErrNameHeld
	}
	l.put(b)
	return nil, nil
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
		c.left = true
		l.beats[b.Name] = c
		l.announce()
	}
	return nil
}

// Probe implements eventlog.Heartbeats.
func (l *Log) Probe(_ context.Context, p eventlog.Probe) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.probes[p.From] = p.N
	l.announce()
	return nil
}

// Watch implements eventlog.Heartbeats. It compares what is stored with what it has reported, so it does not report a
// sound that a newer one replaced first.
func (l *Log) Watch(ctx context.Context, f func(eventlog.Sound)) error {
	told, heard := map[events.CollectorName]claim{}, map[string]uint64{}
	for {
		beats, probes, changed := l.sounds()
		for name, c := range beats {
			old, before := told[name]
			switch {
			case old == c, c.left && !before:
			case c.left:
				f(eventlog.Sound{Left: name})
			default:
				f(eventlog.Sound{Beat: &c.beat})
			}
		}
		for from, n := range probes {
			if heard[from] != n {
				f(eventlog.Sound{Probe: &eventlog.Probe{From: from, N: n}})
			}
		}
		told, heard = beats, probes
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sounds returns copies of the present claims and probes, and the channel of the next change.
func (l *Log) sounds() (map[events.CollectorName]claim, map[string]uint64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	beats := maps.Clone(l.beats)
	maps.DeleteFunc(beats, func(_ events.CollectorName, c claim) bool { return !time.Now().Before(c.expires) })
	return beats, maps.Clone(l.probes), l.changed
}
