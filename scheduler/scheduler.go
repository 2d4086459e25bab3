// Package scheduler decides when requests start and end and which job each lane gets next.
//
// It is a fold over the log in memory (state.go, fold.go) and a pure decision on that state (decide.go);
// this file is the shell around them. Every decision is appended with the versions that it was taken on,
// so any number of schedulers may run: what two decide at once, the log takes from one, and the other
// reads what came instead and decides again. Nothing depends on a clock but time-outs.
//
// What a crash means at each step:
//
//   - before an append: nothing happened; the next scheduler decides the same.
//   - after an append: it happened; the next scheduler reads it and goes on from there.
//   - a request is never in progress without all its jobs: admission, start and jobs are one batch.
//   - a dispatch is the message that the collector receives: there is nothing to send afterwards.
package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/presence"
)

const source = "scheduler"

// Config is what a Scheduler needs.
type Config struct {
	Log      eventlog.Log
	Dispatch eventlog.Dispatch
	// Hearing tells who is silent; nil calls nobody silent.
	Hearing presence.Hearing
	Policy  Policy
	// OfflineAfter is how long a collector may be silent before it counts as offline and its attempt as lost,
	// TakeoverAfter the same for its lane, when another collector stands by. 0 is 60 and 30 seconds.
	OfflineAfter, TakeoverAfter time.Duration
	// Tick is how often time-outs are looked at. 0 is one second.
	Tick   time.Duration
	Clock  func() time.Time
	Logger *slog.Logger
}

// Scheduler is one scheduler. Run it once.
type Scheduler struct {
	Config
	// mu guards state and everything below: events and ticks come from two goroutines.
	mu    sync.Mutex
	state *state
	// lanes are those whose consumer exists.
	lanes map[events.Lane]bool
	// wrote is the last sequence that this scheduler appended; it decides again when it has read it.
	wrote events.Seq
	// caughtUp is set once it has read all that was there.
	caughtUp bool
	// news is set while something was folded that may decide something, and nothing was decided on it.
	news bool
}

// New returns a scheduler; it does nothing before Run.
func New(c Config) *Scheduler {
	c.Tick = cmp.Or(c.Tick, time.Second)
	c.OfflineAfter, c.TakeoverAfter = cmp.Or(c.OfflineAfter, time.Minute), cmp.Or(c.TakeoverAfter, 30*time.Second)
	if c.Hearing == nil {
		c.Hearing = presence.Deaf{}
	}
	return &Scheduler{Config: c, state: newState(), lanes: map[events.Lane]bool{}}
}

// Run follows the log and decides until ctx ends. It returns an error only when it cannot go on: the log
// has a gap, or holds a type of event that this program does not know.
func (s *Scheduler) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error {
		return eventlog.Fold(running, s.Log, func(stored []events.Stored, current bool) error { return s.take(running, stored, current) })
	})
	g.Go(func() error { return s.tick(running) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	return nil
}

// take folds events, and decides when it has read all that is there. Reports of results, which come most often, decide
// nothing.
func (s *Scheduler) take(ctx context.Context, stored []events.Stored, current bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range stored {
		fact, err := s.state.take(m)
		if err != nil {
			return err
		}
		s.news = s.news || fact != nil
		if f, ok := fact.(events.CollectorOnline); ok {
			s.Hearing.Note(f.Name)
		}
	}
	if current {
		s.tellLitter()
		s.caughtUp = true
		if s.news {
			s.news = false
			s.step(ctx)
		}
	}
	return nil
}

// tellLitter says what was written that changes nothing, once for each subject. The caller holds mu.
func (s *Scheduler) tellLitter() {
	for _, subject := range slices.Sorted(maps.Keys(s.state.litter)) {
		l := s.state.litter[subject]
		s.Logger.Warn("events changed nothing", "subject", subject, "events", l.count, "last", l.seq, "collector", l.collector, "reason", l.why)
	}
	clear(s.state.litter)
}

// tick decides what only time decides.
func (s *Scheduler) tick(ctx context.Context) error {
	for wait(ctx, s.Tick) {
		s.mu.Lock()
		if s.caughtUp {
			s.step(ctx)
		}
		s.mu.Unlock()
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// step takes all decisions that the state asks for. It waits with the next ones until it has read what it
// wrote, so that nothing is decided twice. The caller holds mu.
func (s *Scheduler) step(ctx context.Context) {
	if s.state.seq < s.wrote || ctx.Err() != nil {
		return
	}
	now := s.Clock()
	decisions := append(decide(s.state, s.Policy, now), s.silent()...)
	for _, d := range decisions {
		err := s.carryOut(ctx, d, now)
		if errors.Is(err, eventlog.ErrBatchTooLarge) && d.otherwise != nil {
			d.facts = d.otherwise
			err = s.carryOut(ctx, d, now)
		}
		if err != nil {
			var conflict *eventlog.ConflictError
			if errors.As(err, &conflict) {
				s.Logger.Debug("another writer was first", "decision", d.what, "error", err)
				s.news = true // what it wrote may decide nothing by itself: the next that is read calls for another look
				continue
			}
			if ctx.Err() == nil {
				s.Logger.Warn("a decision could not be recorded, trying again", "decision", d.what, "error", err)
			}
			// Without the log nothing can be recorded. What fails for itself keeps nothing else from being done.
			if ctx.Err() != nil || errors.Is(err, eventlog.ErrUnavailable) {
				return
			}
		}
	}
}

// carryOut appends one decision: all of its facts or none.
func (s *Scheduler) carryOut(ctx context.Context, d decision, now time.Time) error {
	if d.lane != nil && !s.lanes[*d.lane] {
		if err := s.Dispatch.EnsureLane(ctx, *d.lane); err != nil {
			return fmt.Errorf("make the consumer of lane %s: %w", d.lane, err)
		}
		s.lanes[*d.lane] = true
	}
	meta := eventlog.Meta{Source: source, Actor: source, Cause: d.cause, Root: s.state.roots[d.request]}
	var parts []eventlog.Append
	for _, f := range d.facts {
		subject := f.Subject()
		if len(parts) == 0 || parts[len(parts)-1].Subject != subject {
			parts = append(parts, eventlog.Append{Subject: subject, Expected: s.state.versions[subject]})
		}
		part := &parts[len(parts)-1]
		part.Events = append(part.Events, eventlog.NewEvent(f, meta, now))
	}
	seq, err := s.Log.Append(ctx, parts...)
	if err != nil {
		return fmt.Errorf("%s: %w", d.what, err)
	}
	s.wrote = max(s.wrote, seq)
	s.Logger.Debug("decided", "decision", d.what, "request", d.request, "seq", seq)
	return nil
}
