package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// hearing is when each collector was last heard, by the clock of this scheduler alone: clocks of other machines
// make nobody silent. What a scheduler could not hear does not count as silence: while it did not run, while it
// was not told of heartbeats, and while the log was away.
type hearing struct {
	heard map[events.CollectorName]time.Time
	// since is from when on silence counts.
	since time.Time
	// listening is set while all heartbeats that there are have been told.
	listening bool
	// deaf is set while the log is known to be away.
	deaf bool
	// ticked is when the scheduler last looked at the clock by itself; zero before the first time.
	ticked time.Time
}

// hear notes a sign of life.
func (h *hearing) hear(name events.CollectorName, now time.Time) { h.heard[name] = now }

// begin lets silence count from now on.
func (h *hearing) begin(now time.Time) {
	h.since = now
	clear(h.heard)
}

// silence returns for how long a collector has not been heard.
func (h *hearing) silence(name events.CollectorName, now time.Time) time.Duration {
	last := h.since
	if at, ok := h.heard[name]; ok && at.After(last) {
		last = at
	}
	return now.Sub(last)
}

// late is how many ticks may be missed before the scheduler takes it that it stood still itself.
const late = 5

// stoodStill reports whether the scheduler itself was away, or its clock was set, since it last ticked.
func (s *Scheduler) stoodStill(now time.Time) bool {
	gap := now.Sub(s.ticked)
	return !s.ticked.IsZero() && (gap < 0 || gap > late*s.Tick)
}

// silent returns what follows from collectors that are not heard: they are offline, other collectors take their
// lanes over, and attempts that such processes hold are lost. The caller holds mu.
func (s *Scheduler) silent(ctx context.Context, now time.Time) []decision {
	if !s.listening || s.stoodStill(now) || !s.reachable(ctx, now) {
		return nil
	}
	silence := func(name events.CollectorName) time.Duration { return s.silence(name, now) }
	return append(decideOffline(s.state, s.OfflineAfter, silence), decideTakeovers(s.state, limits{
		takeover: s.TakeoverAfter, offline: s.OfflineAfter,
	}, silence)...)
}

// reachable reports whether silence means anything now. When somebody who should be heard is not, the log is
// asked for a sign of life of its own: without one nobody can be heard.
func (s *Scheduler) reachable(ctx context.Context, now time.Time) bool {
	soon := min(s.TakeoverAfter, s.OfflineAfter) / 3
	quiet := s.deaf
	for name, c := range s.state.Collectors {
		quiet = quiet || c.Online && s.silence(name, now) > soon
	}
	if !quiet {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, s.Tick)
	defer cancel()
	_, err := s.Log.Head(ctx)
	if s.deaf = err != nil; s.deaf {
		s.begin(s.Clock())
	}
	return !s.deaf
}

// decideOffline records that collectors are gone that are said to be online and are silent.
func decideOffline(s *state, after time.Duration, silence func(events.CollectorName) time.Duration) []decision {
	var gone []events.CollectorName
	for name, c := range s.Collectors {
		if c.Online && silence(name) >= after {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	var out []decision
	for _, name := range gone {
		c := s.Collectors[name]
		out = append(out, decision{
			cause: s.LastAbout(name), what: "collector silent",
			facts: []events.Fact{events.CollectorSilent{Name: name, Instance: c.Instance, Reason: fmt.Sprintf("no heartbeat for %s", after)}},
		})
	}
	return out
}
