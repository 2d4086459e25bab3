package presence

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/internal/natsserver"
)

// run runs a listener until the test ends.
func run(t *testing.T, ctx context.Context, c Config) *Listener {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	l := New(c)
	ctx, stop := context.WithCancel(ctx)
	var task sync.WaitGroup
	task.Go(func() {
		if err := l.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Cleanup(func() { stop(); task.Wait() })
	return l
}

func say(t *testing.T, ctx context.Context, p eventlog.Presence, b eventlog.Beat) {
	t.Helper()
	if _, err := p.Beat(ctx, b); err != nil {
		t.Fatal(err)
	}
}

var first = eventlog.Beat{Name: "first", Instance: "1"}

func TestWhoDiesIsSilentInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		ctx := context.Background()
		l := run(t, ctx, Config{Heartbeats: log})
		if l.Hears() != 0 || l.Of("first") != (Voice{}) {
			t.Errorf("before it heard anything: %s, %+v", l.Hears(), l.Of("first"))
		}
		for range 60 {
			say(t, ctx, log, first)
			<-time.After(5 * time.Second)
			if v := l.Of("first"); v.Silence > 5*time.Second || !v.Heard || v.Age != 5*time.Second {
				t.Fatalf("while it beats: %+v", v)
			}
		}
		<-time.After(time.Minute - 7*time.Second)
		if v := l.Of("first"); v.Silence > 58*time.Second || v.Silence < 55*time.Second {
			t.Errorf("58 seconds after its last beat: %+v", v)
		}
		<-time.After(4 * time.Second)
		if v := l.Of("first"); v.Silence < time.Minute || v.Beat != first {
			t.Errorf("62 seconds after its last beat: %+v", v)
		}
		if v := l.Of("never there"); v.Heard || v.Silence != l.Hears() || v.Silence < 5*time.Minute {
			t.Errorf("one that never spoke: %+v", v)
		}
		l.Note("never there")
		if v := l.Of("never there"); v.Silence != 0 {
			t.Errorf("one that was registered now: %+v", v)
		}
		say(t, ctx, log, first)
		synctest.Wait()
		if err := log.Release(ctx, first); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if v := l.Of("first"); !v.Left {
			t.Errorf("one that left: %+v", v)
		}
	})
}

func TestNobodyIsSilentWhileHeartbeatsCannotComeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		var closed atomic.Bool
		l := run(t, context.Background(), Config{Heartbeats: log, Open: func(context.Context) error {
			if closed.Load() {
				return eventlog.ErrUnavailable
			}
			return nil
		}})
		for round := range 3 {
			<-time.After(50 * time.Second)
			if v := l.Of("first"); v.Silence < 35*time.Second || v.Silence > 50*time.Second {
				t.Errorf("round %d, open for 50 seconds: %+v", round, v)
			}
			closed.Store(true)
			<-time.After(time.Hour)
			if v := l.Of("first"); v.Silence != 0 || l.Hears() != 0 {
				t.Errorf("round %d, closed for an hour: %+v, hears for %s", round, v, l.Hears())
			}
			closed.Store(false)
		}
	})
}

// Pages are read again after each change: a probe alone is no news.
func TestOnlyCollectorsAreNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{})
		l := run(t, context.Background(), Config{Heartbeats: log})
		run(t, context.Background(), Config{Heartbeats: log})
		<-time.After(10 * time.Second)
		news := l.Changed()
		select {
		case <-news:
			t.Error("news while nobody speaks")
		case <-time.After(time.Hour):
		}
		say(t, context.Background(), log, first)
		<-news
	})
}

// All nodes of a cluster restart at once. Its bucket of heartbeats is in memory, so its sequences begin at 1 again. The
// old watcher waits for sequences after those that it saw, and hears nothing. The listener notices.
func TestItHearsAfterAllNodesRestarted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cluster, err := natsserver.StartCluster(ctx, [3]string{t.TempDir(), t.TempDir(), t.TempDir()}, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Shutdown)
	nc, err := cluster.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	log, err := jetstream.Open(ctx, nc, jetstream.Config{Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	var alone atomic.Int64 // sounds that a watcher without a listener heard
	watching, stop := context.WithCancel(ctx)
	var task sync.WaitGroup
	task.Go(func() {
		if err := log.Watch(watching, func(eventlog.Sound) { alone.Add(1) }); !errors.Is(err, context.Canceled) {
			t.Logf("the watcher without a listener ended: %v", err)
		}
	})
	defer func() { stop(); task.Wait() }()
	l := run(t, ctx, Config{Heartbeats: log, Shortest: 3 * time.Second})
	heard := func(what string, ok func() bool) {
		t.Helper()
		for !ok() {
			select {
			case <-l.Changed():
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				t.Fatalf("waiting until %s", what)
			}
		}
	}
	for i := range 500 { // the past that the restart forgets
		first.PID = i
		say(t, ctx, log, first)
	}
	heard("all of it was heard", func() bool { return l.Of("first").Beat.PID == 499 && l.Hears() > 0 })

	if err := cluster.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	before := alone.Load()
	say(t, ctx, log, eventlog.Beat{Name: "second", Instance: "2"})
	heard("the first beat after the restart is heard", func() bool { return l.Of("second").Heard })
	t.Logf("the watcher without a listener was told %d sounds by then", alone.Load()-before)
	heard("silence counts again", func() bool { return l.Of("first").Silence > 0 })
	if v := l.Of("first"); v.Silence > l.Hears() {
		t.Errorf("what could not be heard counts: %+v after %s", v, l.Hears())
	}
}
