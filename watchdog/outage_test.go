package watchdog

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/freeport"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/posting"
	"github.com/tachobench/tacho/shell"
)

// A real server goes away and comes back: the webhook and the alerts in memory know at once, the log afterwards.
func TestARealLogGoesAwayAndComesBack(t *testing.T) {
	addrs, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	conf := natsserver.Config{Dir: t.TempDir(), Listen: addrs[0], Unsynced: true}
	server, err := natsserver.Start(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Shutdown() })
	nc, err := nats.Connect(server.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	log, err := jetstream.Open(t.Context(), nc, jetstream.Config{MaxBytes: 64 << 20, BeatTTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	r := receive(t)
	hook := NewHook(r.URL, "", t.TempDir()+"/place")
	// stood is how long the watchdog, which looks twice in each tick, did not look: a busy machine kept it waiting.
	var stood, last atomic.Int64
	clock := func() time.Time {
		now := time.Now()
		if gap := now.UnixNano() - last.Swap(now.UnixNano()); gap > int64(200*time.Millisecond) {
			stood.Add(gap)
		}
		return now
	}
	w := New(Config{
		Log: log, Control: &control.Control{Log: log, Clock: time.Now}, Limits: limits, Hook: hook,
		Tick: 50 * time.Millisecond, Clock: clock, Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var task sync.WaitGroup
	around := shell.New(shell.Config{Log: log, Tick: w.Tick, Clock: w.Clock, Logger: w.Logger})
	around.Seat(w)
	for _, run := range []func(context.Context) error{w.Run, around.Run} {
		task.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cancel(); task.Wait() })
	until := func(what string, holds func() bool) {
		t.Helper()
		deadline := time.After(patience)
		for !holds() {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-deadline:
				t.Fatalf("waiting until %s", what)
			}
		}
	}
	until("it has begun", func() bool {
		p, err := posting.ReadPlace(hook.Place)
		_, current := around.Position()
		return err == nil && p.Identity != "" && current
	})

	server.Shutdown()
	gone := time.Now()
	stood.Store(0)
	until("memory knows", func() bool { return len(w.Local()) == 1 })
	took, most := time.Since(gone), 5*time.Second+2*time.Duration(stood.Load())
	if took < unreachableShown-time.Second || took > most {
		t.Errorf("it was said after %s, at most %s were expected", took, most)
	}
	if n := r.got(t); n.Kind != events.AlertUnreachable || n.State != "raised" || n.Seq != 0 {
		t.Errorf("the webhook was told %+v", n)
	}
	if server, err = natsserver.Start(conf); err != nil {
		t.Fatal(err)
	}
	if n := r.got(t); n.State != "raised" || n.Seq == 0 || !strings.Contains(n.Message, " to ") {
		t.Errorf("then %+v", n)
	}
	if n := r.got(t); n.State != "cleared" || !strings.Contains(n.Reason, "the log answers again since") {
		t.Errorf("at last %+v", n)
	}
	until("memory forgets", func() bool { return len(w.Local()) == 0 })
	if s, err := log.Read(t.Context(), events.AlertSubject("unreachable")); err != nil || len(s) != 2 {
		t.Errorf("%d events, %v", len(s), err)
	}
}
