// Package farm runs schedulers and collectors on a log in memory, for tests that watch them work together.
package farm

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// Farm is a log in memory with a scheduler, a listener and any number of collectors. It is made for synctest bubbles
// and uses only their time.
type Farm struct {
	T       testing.TB
	Log     *memory.Log
	Control *control.Control
	Suite   suite.Definitions

	hearing *presence.Listener
	ctx     context.Context
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
}

// By is on whose behalf tests give commands.
var By = control.By{Actor: "test", Source: "test", Root: "test"}

// New returns a farm with published definitions and a running scheduler, with a configuration that may be changed.
func New(t testing.TB, d suite.Definitions, p scheduler.Policy, change ...func(*shell.Config, *scheduler.Config)) *Farm {
	t.Helper()
	log := memory.New(memory.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	f := &Farm{
		T: t, Log: log, Suite: d, ctx: ctx, cancel: cancel,
		Control: &control.Control{Log: log, Clock: time.Now, Suites: func(context.Context) ([]events.SuiteName, error) {
			return []events.SuiteName{d.Name}, nil
		}},
	}
	if _, err := f.Control.Publish(ctx, By, d); err != nil {
		t.Fatal(err)
	}
	f.hearing = presence.New(presence.Config{Heartbeats: log, Logger: slog.New(slog.DiscardHandler)})
	f.tasks.Go(func() {
		if err := f.hearing.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	f.Schedule(p, change...)
	return f
}

// Schedule adds another scheduler, with a configuration that may be changed.
func (f *Farm) Schedule(p scheduler.Policy, change ...func(*shell.Config, *scheduler.Config)) {
	config := scheduler.Config{
		Log: f.Log, Hearing: f.hearing, Policy: p, OfflineAfter: time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
	around := shell.Config{Log: f.Log, Clock: time.Now, Logger: config.Logger}
	for _, c := range change {
		c(&around, &config)
	}
	s := shell.New(around)
	s.Seat(scheduler.New(config))
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
	f.add(control.NewCollector{Name: name, Target: lane.Target, Set: lane.Set})
}

// RegisterStandby registers a further collector for a lane.
func (f *Farm) RegisterStandby(name events.CollectorName, lane events.Lane) {
	f.T.Helper()
	f.add(control.NewCollector{Name: name, Target: lane.Target, Set: lane.Set, Standby: true})
}

func (f *Farm) add(n control.NewCollector) {
	f.T.Helper()
	if _, err := f.Control.AddCollector(f.ctx, By, n); err != nil {
		f.T.Fatal(err)
	}
}

// Process is a running process of a collector.
type Process struct {
	// Kill ends it like kill -9: nothing more is recorded.
	Kill func()
	// Pause stops it like SIGSTOP as others see it: nothing from it reaches the log, and nothing from the log reaches it,
	// until Wake.
	Pause, Wake func()
	// Stop ends it gracefully. Ended is closed when it has ended; then Err is what it returned.
	Stop  func()
	Ended chan struct{}
	Err   error
}

// Start starts a process of a registered collector, with a configuration that may be changed.
func (f *Farm) Start(name events.CollectorName, lane events.Lane, instance string, bench collector.Bench, change ...func(*collector.Config)) *Process {
	ctx, stop := context.WithCancel(f.ctx)
	gate := newGate(f.Log)
	p := &Process{Stop: stop, Pause: gate.pause, Wake: gate.wake, Ended: make(chan struct{})}
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
	config := collector.Config{
		Name: name, Lane: lane, Instance: instance, Host: "host", PID: 1, Version: "test", OS: target.OS, Arch: target.Arch,
		Environment: events.Environment{Fingerprint: "env"},
		Log:         gate, Jobs: gate, Presence: gate, JobLogs: f.Log, Bench: bench,
		BeatEvery: 5 * time.Second, ProgressEvery: 20 * time.Second, FlushEvery: time.Second, MaxAttempts: 3, TransientDeadline: 2 * time.Hour,
		Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&config)
	}
	c := collector.New(config)
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
