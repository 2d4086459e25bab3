package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/shell"
)

// faulty is a log whose appends fail for a while, and that may hold an event of a future type.
type faulty struct {
	*memory.Log
	failures int
	future   bool
	// gap makes reading end like on a damaged log.
	gap bool
}

func (f *faulty) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if f.failures > 0 {
		f.failures--
		return 0, fmt.Errorf("append: %w", eventlog.ErrUnavailable)
	}
	return f.Log.Append(ctx, parts...)
}

func (f *faulty) Follow(ctx context.Context, after events.Seq) (eventlog.Cursor, error) {
	c, err := f.Log.Follow(ctx, after)
	return &faultyCursor{Cursor: c, future: f.future, gap: f.gap}, err
}

type faultyCursor struct {
	eventlog.Cursor
	future, gap bool
}

func (c *faultyCursor) Next(ctx context.Context, limit int) ([]events.Stored, error) {
	batch, err := c.Cursor.Next(ctx, limit)
	if c.gap {
		return nil, &eventlog.GapError{Want: 2, Got: 4}
	}
	for i := range batch {
		if c.future {
			batch[i].Header = map[string]string{events.HeaderType: events.TypePrefix + "request.dreamt.v7"}
		}
	}
	return batch, err
}

func run(t *testing.T, log *faulty) (ended chan error, stop func()) {
	t.Helper()
	return runOn(t, log)
}

// runOn runs a scheduler on any log.
func runOn(t *testing.T, log eventlog.Log) (ended chan error, stop func()) {
	t.Helper()
	return follow(t, log, Config{
		Log: log, OfflineAfter: time.Minute, Logger: slog.New(slog.DiscardHandler),
		Policy: Policy{MaxInProgress: 1, ArtifactDeadline: 7 * 24 * time.Hour, ExpansionRetry: time.Minute},
	}, 0)
}

// follow runs the shell of a scheduler.
func follow(t *testing.T, log eventlog.Log, c Config, tick time.Duration) (ended chan error, stop func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := shell.New(shell.Config{Log: log, Tick: tick, Clock: time.Now, Logger: c.Logger})
	s.Seat(New(c))
	ended = make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return ended, stop
}

func ask(t *testing.T, log *memory.Log, n control.NewRequest) events.RequestID {
	t.Helper()
	by := control.By{Actor: "test", Source: "test"}
	c := &control.Control{Log: log, Clock: time.Now}
	if _, err := c.Publish(t.Context(), by, small()); err != nil {
		t.Fatal(err)
	}
	n.Suite = "s"
	r, _, err := c.CreateRequest(t.Context(), by, n)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// small is definitions with one job.
func small() suite.Definitions {
	return suite.Definitions{
		Version: 1, Name: "s", PrimaryTarget: "here", Targets: []suite.Target{{Name: "here", Sets: 1}},
		Kinds:    []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true}},
		Profiles: []suite.Profile{{Name: "p"}}, Backends: []suite.Backend{{Name: "b"}},
	}
}

func last(t *testing.T, log *memory.Log, id events.RequestID) events.Fact {
	t.Helper()
	e, ok, err := log.Last(t.Context(), events.RequestSubject(id))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return e.Fact
}

func TestADecisionThatCouldNotBeRecordedIsTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New(memory.Config{}), failures: 5}
		ended, stop := run(t, log)
		id := ask(t, log.Log, control.NewRequest{Kind: events.Master, Tag: "c1"})
		pass(10 * time.Second)
		if f, ok := last(t, log.Log, id).(events.JobsCreated); !ok || len(f.Jobs) != 1 {
			t.Errorf("the last word on the request is %#v, want its jobs", f)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAnEventFromTheFutureHoldsTheScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New(memory.Config{}), future: true}
		ended, stop := run(t, log)
		id := ask(t, log.Log, control.NewRequest{Kind: events.Master, Tag: "c1"})
		pass(10 * time.Second)
		if f, ok := last(t, log.Log, id).(events.RequestCreated); !ok {
			t.Errorf("the last word on the request is %#v: it was decided on half of the log", f)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestADamagedLogStopsTheScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New(memory.Config{}), gap: true}
		ended, stop := run(t, log)
		defer stop()
		ask(t, log.Log, control.NewRequest{Kind: events.Master, Tag: "c1"})
		if _, ok := errors.AsType[*eventlog.GapError](<-ended); !ok {
			t.Error("it goes on, or says nothing")
		}
	})
}

func TestATryExpiresWhenItsArtifactsDoNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New(memory.Config{})}
		ended, stop := run(t, log)
		id := ask(t, log.Log, control.NewRequest{Kind: events.Try, Key: "comment-1"})
		pass(7*24*time.Hour - time.Minute)
		if f, ok := last(t, log.Log, id).(events.RequestCreated); !ok {
			t.Errorf("too early: %#v", f)
		}
		pass(2 * time.Minute)
		if f, ok := last(t, log.Log, id).(events.RequestExpired); !ok {
			t.Errorf("not in time: %#v", f)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// pass lets the bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }
