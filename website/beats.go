package website

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tachobench/tacho/client"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// beats are the newest heartbeats of all collectors.
type beats struct {
	clock func() time.Time
	// silentAfter is how old the newest one may be before a collector is shown as offline, should the end of its
	// heartbeat not be told.
	silentAfter time.Duration

	// mu guards the rest.
	mu sync.Mutex
	// known is set while what is here is all that is there; before that nobody is called silent.
	known bool
	live  map[events.CollectorName]heard
	// moved is closed and made anew with each beat.
	moved chan struct{}
}

// heard is a beat and when it came: clocks of other machines do not make anybody silent.
type heard struct {
	beat eventlog.Beat
	at   time.Time
}

func newBeats(clock func() time.Time, silentAfter time.Duration) *beats {
	return &beats{clock: clock, silentAfter: silentAfter, live: map[events.CollectorName]heard{}, moved: make(chan struct{})}
}

// follow keeps the beats until ctx ends; a log that is away is waited for.
func (b *beats) follow(ctx context.Context, p eventlog.Presence, logger *slog.Logger) error {
	wait := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(100*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	watch := func() error {
		fresh := map[events.CollectorName]heard{}
		return p.Watch(ctx, func(beat eventlog.Beat, gone bool) {
			if beat.Name == "" { // all that was there has been told
				wait.Reset()
				b.begin(fresh)
				fresh = nil
				return
			}
			if fresh != nil {
				fresh[beat.Name] = heard{beat, b.clock()}
				return
			}
			b.hear(beat, gone)
		})
	}
	return backoff.RetryNotify(watch, backoff.WithContext(wait, ctx), func(err error, pause time.Duration) {
		b.lose()
		if ctx.Err() == nil {
			logger.WarnContext(ctx, "heartbeats cannot be watched; trying again", "error", err, "pause", pause)
		}
	})
}

func (b *beats) begin(all map[events.CollectorName]heard) {
	b.change(func() { b.live, b.known = all, true })
}

func (b *beats) lose() { b.change(func() { b.known = false }) }

func (b *beats) hear(beat eventlog.Beat, gone bool) {
	b.change(func() {
		if gone {
			delete(b.live, beat.Name)
			return
		}
		b.live[beat.Name] = heard{beat, b.clock()}
	})
}

// change does f and wakes whoever waits for a change.
func (b *beats) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.moved)
	b.moved = make(chan struct{})
}

// changed returns a channel that is closed at the next beat.
func (b *beats) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moved
}

// join adds to the rows of collectors what their heartbeats tell.
func (b *beats) join(rows []readmodel.Collector) []client.Collector {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	out := make([]client.Collector, len(rows))
	for i, row := range rows {
		c := client.Collector{Collector: row}
		h, seen := b.live[row.Name]
		if seen && b.known && now.Sub(h.at) < b.silentAfter {
			c.Heartbeat = &client.Heartbeat{Beat: h.beat, AgeMS: max(now.Sub(h.beat.Time).Milliseconds(), 0)}
		}
		c.State = shownState(row, c.Heartbeat, b.known)
		if c.State == client.CollectorOffline && (c.Reason == "" || row.Online) {
			c.Reason = silence(row, seen)
		}
		out[i] = c
	}
	return out
}

// shownState joins what the log says of a collector with its heartbeat. Where heartbeats are not known, the
// log's word stands.
func shownState(row readmodel.Collector, h *client.Heartbeat, known bool) client.CollectorState {
	online, busy := row.Online, row.CurrentJob != nil
	if known {
		online, busy = h != nil, h != nil && (h.JobID != "" || busy)
	}
	switch {
	case row.RemovedAt != nil:
		return client.CollectorRemoved
	case !row.Active:
		return client.CollectorInactive
	case row.Quarantined:
		return client.CollectorQuarantined
	case !online && row.State == readmodel.CollectorUpdating:
		return client.CollectorUpdating
	case !online:
		return client.CollectorOffline
	case row.Draining:
		return client.CollectorDraining
	case busy:
		return client.CollectorBenchmarking
	}
	return client.CollectorIdle
}

// present leaves out the collectors that were removed, and counts them.
func present(rows []readmodel.Collector) (there []readmodel.Collector, removed int) {
	there = slices.DeleteFunc(slices.Clone(rows), func(c readmodel.Collector) bool { return c.RemovedAt != nil })
	return there, len(rows) - len(there)
}

// silence says in words why a collector is offline of which the log does not say why. seen is set when its heartbeat was
// ever heard.
func silence(row readmodel.Collector, seen bool) string {
	switch {
	case row.Online || seen:
		return "no heartbeat"
	case row.OnlineAt == nil:
		return "never seen; start it with: tacho collector run " + string(row.Name)
	}
	return ""
}
