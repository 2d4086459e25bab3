// Package farm runs schedulers and collectors on a log in memory, for tests that watch them work together.
package farm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/suite"
)

// Farm is a log in memory with a scheduler and any number of collectors. It is made for synctest bubbles:
// all time is the bubble's.
type Farm struct {
	T       testing.TB
	Log     *memory.Log
	Control *control.Control
	Suite   suite.Definitions

	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// By is who asks in tests.
var By = control.By{Actor: "test", Source: "test", Root: "test"}

// New returns a farm with the definitions published and a scheduler at work.
func New(t testing.TB, d suite.Definitions, p scheduler.Policy) *Farm {
	t.Helper()
	log := memory.New(memory.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	f := &Farm{
		T: t, Log: log, Suite: d, ctx: ctx, cancel: cancel,
		Control: &control.Control{Log: log, Dispatch: log, Clock: time.Now, Suites: func(context.Context) ([]events.SuiteName, error) {
			return []events.SuiteName{d.Name}, nil
		}},
	}
	if _, err := f.Control.Publish(ctx, By, d); err != nil {
		t.Fatal(err)
	}
	f.Schedule(p)
	return f
}

// Schedule adds another scheduler.
func (f *Farm) Schedule(p scheduler.Policy) {
	s := scheduler.New(scheduler.Config{
		Log: f.Log, Dispatch: f.Log, Presence: f.Log, Policy: p, OfflineAfter: time.Minute, Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	f.tasks.Go(func() {
		if err := s.Run(f.ctx); err != nil {
			f.T.Error(err)
		}
	})
}

// Stop ends everything and waits for it.
func (f *Farm) Stop() {
	f.cancel()
	f.tasks.Wait()
}

// Register registers a collector for a lane.
func (f *Farm) Register(name events.CollectorName, lane events.Lane) {
	f.T.Helper()
	if _, err := f.Control.AddCollector(f.ctx, By, control.NewCollector{Name: name, Target: lane.Target, Set: lane.Set}); err != nil {
		f.T.Fatal(err)
	}
}

// Process is a running process of a collector.
type Process struct {
	// Kill ends it like kill -9: nothing more is recorded.
	Kill func()
	// Stop ends it softly; Ended is closed when it has ended, with Err.
	Stop  func()
	Ended chan struct{}
	Err   error
}

// Start starts a process of a registered collector.
func (f *Farm) Start(name events.CollectorName, lane events.Lane, instance string, bench collector.Bench) *Process {
	ctx, stop := context.WithCancel(f.ctx)
	gate := &gate{Log: f.Log}
	p := &Process{Stop: stop, Ended: make(chan struct{})}
	p.Kill = func() {
		gate.shut()
		stop()
		<-p.Ended
	}
	target := suite.Target{}
	for _, t := range f.Suite.Targets {
		if t.Name == lane.Target {
			target = t
		}
	}
	c := collector.New(collector.Config{
		Name: name, Lane: lane, Instance: instance, Host: "host", PID: 1, Version: "test", OS: target.OS, Arch: target.Arch,
		Environment: events.Environment{Fingerprint: "env"},
		Log:         gate, Dispatch: f.Log, Presence: gate, JobLogs: f.Log, Bench: bench,
		BeatEvery: 5 * time.Second, ProgressEvery: 20 * time.Second, FlushEvery: time.Second, MaxAttempts: 3, TransientDeadline: 2 * time.Hour,
		Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	f.tasks.Go(func() {
		defer close(p.Ended)
		p.Err = c.Run(ctx)
	})
	return p
}

// Events returns the whole log.
func (f *Farm) Events() []events.Recorded {
	f.T.Helper()
	head, err := f.Log.Head(f.ctx)
	if err != nil {
		f.T.Fatal(err)
	}
	cursor, err := f.Log.Follow(f.ctx, 0)
	if err != nil {
		f.T.Fatal(err)
	}
	defer cursor.Close()
	var out []events.Recorded
	for events.Seq(len(out)) < head.Last {
		batch, err := cursor.Next(f.ctx, 1000)
		if err != nil {
			f.T.Fatal(err)
		}
		for _, s := range batch {
			e, err := events.Decode(s)
			if err != nil {
				f.T.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

// Await waits until an event satisfies found, and returns it.
func (f *Farm) Await(what string, found func(events.Fact) bool) events.Recorded {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, 30*24*time.Hour)
	defer cancel()
	cursor, err := f.Log.Follow(ctx, 0)
	if err != nil {
		f.T.Fatal(err)
	}
	defer cursor.Close()
	for {
		batch, err := cursor.Next(ctx, 1000)
		if err != nil {
			f.T.Fatalf("waiting for %s: %v", what, err)
		}
		for _, s := range batch {
			e, err := events.Decode(s)
			if err != nil {
				f.T.Fatal(err)
			}
			if found(e.Fact) {
				return e
			}
		}
	}
}

// Pass lets simulated time pass.
func (f *Farm) Pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-f.ctx.Done():
	}
}

// errKilled is what a killed process gets from the log.
var errKilled = errors.New("this process is dead")

// gate is the log as one process sees it. Once shut it takes nothing more, so that a process can be killed
// between any two steps.
type gate struct {
	*memory.Log
	mu   sync.Mutex
	dead bool
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = true
}

func (g *gate) alive() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return fmt.Errorf("append: %w", errKilled)
	}
	return nil
}

// Append implements eventlog.Log.
func (g *gate) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if err := g.alive(); err != nil {
		return 0, err
	}
	return g.Log.Append(ctx, parts...)
}

// Beat implements eventlog.Presence.
func (g *gate) Beat(ctx context.Context, b eventlog.Beat) error {
	if err := g.alive(); err != nil {
		return err
	}
	return g.Log.Beat(ctx, b)
}

// Release implements eventlog.Presence.
func (g *gate) Release(ctx context.Context, b eventlog.Beat) error {
	if err := g.alive(); err != nil {
		return err
	}
	return g.Log.Release(ctx, b)
}
