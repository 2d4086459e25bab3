package farm

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/scheduler"
)

// world is a log, and the ledger of a scheduler that has read all of it. Nothing happens in it by itself.
type world struct {
	t      *testing.T
	r      *rand.Rand
	log    *memory.Log
	cursor eventlog.Cursor
	ledger *ledger.Ledger
	// scheduler decides on the ledger at the time now.
	scheduler *scheduler.Scheduler
	now       time.Time
}

func newWorld(t *testing.T, r *rand.Rand, p scheduler.Policy) *world {
	log := memory.New(memory.Config{})
	cursor, err := log.Follow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cursor.Close() })
	return &world{
		t: t, r: r, log: log, cursor: cursor, ledger: ledger.New(), now: time.Now(),
		scheduler: scheduler.New(scheduler.Config{Log: log, Logger: slog.New(slog.DiscardHandler), Policy: p}),
	}
}

// say records facts, and lets the ledger read them.
func (w *world) say(facts ...events.Fact) {
	for _, f := range facts {
		last, _, err := w.log.Last(w.t.Context(), f.Subject())
		if err == nil {
			e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
			_, err = w.log.Append(w.t.Context(), eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}})
		}
		if err != nil {
			w.t.Fatalf("%T: %v", f, err)
		}
	}
	w.read()
}

func (w *world) head() events.Seq {
	head, err := w.log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return head.Last
}

func (w *world) read() {
	for w.ledger.Seq < w.head() {
		batch, err := w.cursor.Next(w.t.Context(), 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, m := range batch {
			if _, err := w.ledger.Take(m); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}
