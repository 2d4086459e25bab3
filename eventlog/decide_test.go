package eventlog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// alwaysLate is a log on which another writer is always first.
type alwaysLate struct {
	eventlog.Log
	tries int
}

func (l *alwaysLate) Append(_ context.Context, parts ...eventlog.Append) (events.Seq, error) {
	l.tries++
	return 0, &eventlog.ConflictError{Subject: parts[0].Subject, Expected: parts[0].Expected, Actual: 1}
}

func TestDecideGivesUp(t *testing.T) {
	synctest.Test(t, decideGivesUp)
}

func decideGivesUp(t *testing.T) {
	log := &alwaysLate{Log: memory.New(memory.Config{})}
	subject := events.RegistrySubject("a")
	_, err := eventlog.Decide(t.Context(), log, subject, func(n int, _ events.Recorded) int { return n + 1 },
		func(int) ([]events.Event, error) {
			return []events.Event{eventlog.NewEvent(events.CollectorActivated{Name: "a"}, eventlog.Meta{Actor: "test"}, time.Now())}, nil
		})
	if conflict := new(eventlog.ConflictError); !errors.As(err, &conflict) || log.tries < 2 || conflict.Subject != subject {
		t.Fatalf("after %d tries: %v", log.tries, err)
	}
}

func TestDecideFoldsWhatItDecided(t *testing.T) {
	subject := events.RegistrySubject("a")
	seqs, err := eventlog.Decide(t.Context(), memory.New(memory.Config{}), subject,
		func(seqs []events.Seq, e events.Recorded) []events.Seq { return append(seqs, e.Seq) },
		func([]events.Seq) ([]events.Event, error) {
			meta := eventlog.Meta{Actor: "test"}
			return []events.Event{
				eventlog.NewEvent(events.CollectorActivated{Name: "a"}, meta, time.Now()),
				eventlog.NewEvent(events.CollectorDeactivated{Name: "a"}, meta, time.Now()),
			}, nil
		})
	if diff := cmp.Diff([]events.Seq{1, 2}, seqs); diff != "" || err != nil {
		t.Fatalf("%v, state (-want +got):\n%s", err, diff)
	}
}

func TestNewEventIsWhatTheLogKeeps(t *testing.T) {
	e := eventlog.NewEvent(events.CollectorActivated{Name: "a"}, eventlog.Meta{Source: "s", Actor: "x", Cause: 3, Root: "r"},
		time.Date(2026, 1, 2, 3, 4, 5, 678_912_345, time.FixedZone("z", 3600)))
	s, err := events.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := events.Decode(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got.Event); diff != "" {
		t.Fatalf("(-made +kept):\n%s", diff)
	}
}
