package shell_test

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// history is a random story as a log stores it. An event of a type that nobody knows is at strange, in an append from
// first to last.
type history struct {
	stored               []events.Stored
	strange, first, last events.Seq
}

func tell(t *testing.T, seed uint64, n int) (h history) {
	t.Helper()
	r, story := rand.New(rand.NewPCG(seed, 9)), hostile.Tell(seed)
	for range n {
		e := story.Next()
		e.ID, e.Source, e.Actor, e.Time = eventlog.NewEvent(nil, eventlog.Meta{}, time.Now()).ID, "test", "test", time.Now()
		s, err := events.Encode(e.Event)
		if err != nil {
			t.Fatal(err)
		}
		h.stored = append(h.stored, s)
	}
	h.strange = events.Seq(1 + r.IntN(n))
	h.first = max(1, h.strange-events.Seq(r.IntN(3)))
	h.last = min(events.Seq(n), h.strange+events.Seq(r.IntN(3)))
	for seq := h.first; seq <= h.last && h.first < h.last; seq++ {
		h.stored[seq-1].Header[events.HeaderBatch] = events.InBatch(int(seq-h.first)+1, int(h.last-h.first)+1)
	}
	s := &h.stored[h.strange-1]
	s.Subject, s.Header[events.HeaderType] = events.RequestSubject("r1"), events.TypePrefix+"request.teleported.v1"
	return h
}

// asked counts how often it is asked for a decision.
type asked struct{ times atomic.Int64 }

func (a *asked) Told(events.Fact) bool { return true }

func (a *asked) Decide(*ledger.Ledger, time.Time) []shell.Step { a.times.Add(1); return nil }

// follower is a shell that runs.
type follower struct {
	*shell.Shell
	t    *testing.T
	asks *asked
	stop func() error
	// before is how often deciders were asked when the shell stayed.
	before int64
}

func begin(t *testing.T, log eventlog.Log, kept eventlog.Snapshots) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, asks: &asked{}, Shell: shell.New(shell.Config{
		Log: log, Tick: 2 * time.Millisecond, Clock: time.Now, Snapshots: kept, Every: 7, Logger: slog.New(slog.DiscardHandler),
	})}
	f.Seat(f.asks)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = f.stop() })
	return f
}

func (f *follower) until(what string, is func() bool) {
	f.t.Helper()
	soon, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	for !is() {
		if !retry.Sleep(soon, time.Millisecond) {
			f.t.Fatalf("not so: %s", what)
		}
	}
}

// stays waits until the shell stays before an event.
func (f *follower) stays(at events.Seq) {
	f.t.Helper()
	f.until("it stays at the strange event", func() bool { n := f.Newer(); return n != nil && n.Seq == at && !f.isCurrent() })
	f.before = f.asks.times.Load()
}

// silent checks that no decider was asked since the shell stayed.
func (f *follower) silent() {
	f.t.Helper()
	if now := f.asks.times.Load(); now != f.before {
		f.t.Errorf("deciders were asked %d times", now-f.before)
	}
}

func (f *follower) isCurrent() bool { _, current := f.Position(); return current }

// goesOn waits until the shell has read all of the log, and returns its ledger.
func (f *follower) goesOn(log eventlog.Log) []byte {
	f.t.Helper()
	head, err := log.Head(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	f.until("it goes on", func() bool { at, current := f.Position(); return current && at == head.Last && f.Newer() == nil })
	return f.ledger()
}

func (f *follower) ledger() (data []byte) {
	f.View(func(l *ledger.Ledger) {
		var err error
		if data, err = l.Snapshot(); err != nil {
			f.t.Error(err)
		}
	})
	return data
}

// A strange event at a random place of a random story, at the start or at run time, alone or in an append, with
// snapshots and without: the shell stays before it, goes on when it is parked, stays again when it is not parked any
// more, and each ledger is that of a shell that reads the log from its first event.
func TestAShellStaysAtAnEventThatItDoesNotKnow(t *testing.T) {
	const length = 40
	for seed := range uint64(25) {
		log := memory.New(memory.Config{})
		h, r := tell(t, seed, length), rand.New(rand.NewPCG(seed, 3))
		put := func(from, to int) {
			for _, s := range h.stored[from:to] {
				log.Put(s)
			}
		}
		there := r.IntN(length + 1) // what is there at the start
		put(0, there)
		var kept eventlog.Snapshots
		if r.IntN(2) == 0 {
			kept = log
		}
		f := begin(t, log, kept)
		if r.IntN(2) == 0 && there < int(h.strange) {
			f.goesOn(log)
		}
		put(there, length)
		f.stays(h.strange)
		if at, _ := f.Position(); at != h.strange-1 {
			t.Fatalf("seed %d: it is at event %d", seed, at)
		}
		frozen := f.ledger()

		f.silent()
		c := &control.Control{Log: log, Clock: time.Now}
		by := control.By{Actor: "test", Source: "test"}
		answer, err := c.Park(t.Context(), by, h.strange, "not yet")
		if err != nil || answer.First != h.first || answer.Last != h.last {
			t.Fatalf("seed %d: %+v, %v, want %d to %d", seed, answer, err, h.first, h.last)
		}
		same := func(what string, got []byte) {
			t.Helper()
			fresh := begin(t, log, nil)
			if want := fresh.goesOn(log); !bytes.Equal(got, want) {
				t.Fatalf("seed %d, %s:\n%s\nfrom the start:\n%s", seed, what, got, want)
			}
			_ = fresh.stop()
		}
		same("parked", f.goesOn(log))
		whole := f.ledger()
		if r.IntN(2) == 0 { // the next one begins from a snapshot, if there is one
			if err := f.stop(); err != nil {
				t.Fatal(err)
			}
			f = begin(t, log, kept)
			same("begun again", f.goesOn(log))
		}
		if _, err := c.Unpark(t.Context(), by, h.strange, "yet"); err != nil {
			t.Fatal(err)
		}
		f.stays(h.strange)
		if at, _ := f.Position(); at < length {
			t.Fatalf("seed %d: the ledger can be read only up to %d", seed, at)
		}
		if now := f.ledger(); !bytes.Equal(now, whole) && bytes.Equal(now, frozen) {
			t.Fatalf("seed %d: the ledger went back", seed)
		}
		if r.IntN(2) == 0 { // a start in that state reads up to it
			_ = f.stop()
			f = begin(t, log, kept)
			f.stays(h.strange)
		}
		f.silent()
		if _, err := c.Park(t.Context(), by, h.strange, "again"); err != nil {
			t.Fatal(err)
		}
		same("parked again", f.goesOn(log))
		if err := f.stop(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// A program that knows the event obeys a park of it at run time as well.
func TestAParkOfAnEventThatWasFoldedIsObeyed(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 12)
	f := begin(t, log, log)
	before := f.goesOn(log)
	park := events.EventsParked{First: 5, Last: 6, Type: "lane.assigned.v1", Reason: "an older program parked it"}
	event := eventlog.NewEvent(park, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
	if _, err := log.Append(t.Context(), eventlog.Append{Subject: events.ParkSubject(), Events: []events.Event{event}}); err != nil {
		t.Fatal(err)
	}
	after := f.goesOn(log)
	if bytes.Equal(before, after) || !strings.Contains(string(after), "parked: an older program parked it") {
		t.Errorf("the ledger is\n%s", after)
	}
	fresh := begin(t, log, nil)
	if want := fresh.goesOn(log); !bytes.Equal(after, want) {
		t.Errorf("from the start it is\n%s\nbut it is\n%s", want, after)
	}
}
