package presence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

// Config is what a Listener needs.
type Config struct {
	Heartbeats eventlog.Heartbeats
	// Shortest is the shortest silence that a part asks about. A third of it without a returned probe is a break. 0
	// means 30 seconds.
	Shortest time.Duration
	// Open is called before each probe. An error means that no heartbeats can come in, so the listener sends no probe
	// and hears nothing. nil means that they always can.
	Open   func(ctx context.Context) error
	Logger *slog.Logger
}

// The default, and fixed values.
const (
	shortestSilence = 30 * time.Second
	// probesPerGap is how many probes are made before their absence counts. mostEvery is the longest time between two.
	probesPerGap = 5
	mostEvery    = time.Second
	// leastPatience is well above the time that the election of a leader takes.
	leastPatience = 10 * time.Second
)

// Listener implements Hearing. Run it once.
type Listener struct {
	Config
	self string
	born time.Time
	// every is the time between two probes, patience how long no probe may come back before the listener makes a new
	// watcher.
	every, patience time.Duration

	// mu guards the rest.
	mu  sync.Mutex
	ear *ear
	// begun is when the present watcher was made. echoed is when a probe last came back to it, or begun.
	begun, echoed moment
	// moved is closed and replaced at each change.
	moved chan struct{}
}

// New returns a listener. It hears nothing before Run.
func New(c Config) *Listener {
	gap := cmp.Or(c.Shortest, shortestSilence) / 3
	return &Listener{
		Config: c, self: uuid.NewString(), born: time.Now(), every: min(gap/probesPerGap, mostEvery), patience: max(gap, leastPatience),
		ear: newEar(gap), moved: make(chan struct{}),
	}
}

// Run listens until ctx ends, and returns its error. It replaces a watcher that ends or that no probe comes back to.
func (l *Listener) Run(ctx context.Context) error {
	for {
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.change(func(moment) bool { l.ear.deafen(); return true })
		l.Logger.WarnContext(ctx, "no heartbeats are heard, listening again", "error", err)
		if !retry.Sleep(ctx, l.every) {
			return ctx.Err()
		}
	}
}

// errDeaf says that no probe came back.
var errDeaf = errors.New("no probe comes back")

// listen runs one watcher, until it ends or no probe comes back.
func (l *Listener) listen(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	l.change(func(now moment) bool { l.begun, l.echoed = now, now; return false })
	var watching sync.WaitGroup
	watching.Go(func() { end(l.Heartbeats.Watch(ctx, l.take)) })
	end(l.probe(ctx))
	watching.Wait()
	return context.Cause(ctx)
}

// take hears one sound. It ignores a probe from before this watcher: that may have been stored long ago.
func (l *Listener) take(s eventlog.Sound) {
	l.change(func(now moment) (news bool) {
		switch {
		case s.Beat != nil:
			l.ear.beat(*s.Beat, now)
		case s.Left != "":
			l.ear.leave(s.Left)
		case s.Probe != nil && s.Probe.From == l.self:
			made, before := moment(s.Probe.N), l.ear.heardFor() > 0
			if made < l.begun {
				return false
			}
			l.ear.echo(made)
			l.echoed = now
			return before != (l.ear.heardFor() > 0)
		default: // the probe of another listener
			return false
		}
		return true
	})
}

// probe sends probes until none has come back for too long.
func (l *Listener) probe(ctx context.Context) error {
	for {
		err := l.send(ctx)
		l.mu.Lock()
		quiet := l.now() - l.echoed
		l.mu.Unlock()
		if quiet > l.patience {
			return errors.Join(errDeaf, err)
		}
		if !retry.Together(ctx, l.every) {
			return ctx.Err()
		}
	}
}

// send sends a probe. Its number is the time of sending.
func (l *Listener) send(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience/2)
	defer cancel()
	if l.Open != nil {
		if err := l.Open(ctx); err != nil {
			return fmt.Errorf("heartbeats cannot come in: %w", err)
		}
	}
	return l.Heartbeats.Probe(ctx, eventlog.Probe{From: l.self, N: uint64(l.now())})
}

// now is the time since the listener was made. It is monotonic: setting the clock does not change it.
func (l *Listener) now() moment { return time.Since(l.born) }

// change calls f, and wakes those who wait for news if f reports any.
func (l *Listener) change(f func(now moment) (news bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f(l.now()) {
		close(l.moved)
		l.moved = make(chan struct{})
	}
}

// Hears implements Hearing.
func (l *Listener) Hears() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ear.heardFor()
}

// Of implements Hearing.
func (l *Listener) Of(name events.CollectorName) Voice {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ear.of(name, l.now())
}

// Note implements Hearing.
func (l *Listener) Note(name events.CollectorName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ear.note(name, l.now())
}

// Changed implements Hearing.
func (l *Listener) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moved
}
