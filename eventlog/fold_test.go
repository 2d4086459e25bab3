package eventlog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// fill appends n events of one aggregate.
func fill(t *testing.T, log eventlog.Log, at, n int) {
	t.Helper()
	for i := at; i < at+n; i++ {
		f := events.VersionWanted{Version: "v1"}
		if _, err := log.Append(t.Context(), eventlog.Append{
			Subject: f.Subject(), Expected: events.Seq(i), Events: []events.Event{eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())},
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFoldGivesAllInOrderAndSaysWhenItIsCurrent(t *testing.T) {
	for _, before := range []int{0, 1, 2500} {
		synctest.Test(t, func(t *testing.T) {
			log := memory.New(memory.Config{})
			fill(t, log, 0, before)
			ctx, stop := context.WithCancel(t.Context())
			var last, current events.Seq
			said, done := 0, make(chan error)
			go func() {
				done <- eventlog.Fold(ctx, log, func(stored []events.Stored, now bool) error {
					for _, s := range stored {
						if s.Seq != last+1 {
							t.Errorf("event %d comes after %d", s.Seq, last)
						}
						last = s.Seq
					}
					if now {
						said, current = said+1, last
					}
					return nil
				})
			}()
			synctest.Wait()
			if said != 1 || current != events.Seq(before) {
				t.Errorf("of %d events: current %d times, at %d", before, said, current)
			}
			fill(t, log, before, 3)
			synctest.Wait()
			if current != events.Seq(before+3) {
				t.Errorf("after 3 more: current at %d, want %d", current, before+3)
			}
			stop()
			if err := <-done; err != nil {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestFoldEndsWithTheErrorOfWhoTakes(t *testing.T) {
	log := memory.New(memory.Config{})
	fill(t, log, 0, 1)
	unknown := errors.New("no such type")
	if err := eventlog.Fold(t.Context(), log, func([]events.Stored, bool) error { return unknown }); !errors.Is(err, unknown) {
		t.Errorf("fold = %v", err)
	}
}
