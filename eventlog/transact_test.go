package eventlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

var someone = eventlog.Meta{Source: "test", Actor: "test"}

// off is a fact on the registry of a name.
func off(name events.CollectorName, reason string) events.Event {
	return eventlog.NewEvent(events.CollectorDeactivated{Name: name, Reason: reason}, someone, time.Now())
}

func seqs(seqs []events.Seq, e events.Recorded) []events.Seq { return append(seqs, e.Seq) }

// rival is a log on which another writer is always first on one subject.
type rival struct {
	*memory.Log
	name    events.CollectorName
	appends int
}

func (l *rival) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	l.appends++
	subject := events.RegistrySubject(l.name)
	last, _, err := l.Log.Last(ctx, subject)
	if err != nil {
		return 0, err
	}
	if _, err := l.Log.Append(ctx, eventlog.Append{Subject: subject, Expected: last.Seq, Events: []events.Event{off(l.name, "rival")}}); err != nil {
		return 0, err
	}
	return l.Log.Append(ctx, parts...)
}

func TestTransactEndsAlthoughAnotherWriterIsAlwaysFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &rival{Log: memory.New(memory.Config{}), name: "b"}
		began, decided := time.Now(), 0
		_, err := eventlog.Transact(t.Context(), log, func(tx *eventlog.Tx) ([]events.Event, error) {
			if decided++; tx.First() != (decided == 1) {
				t.Errorf("try %d is the first: %v", decided, tx.First())
			}
			for _, name := range []events.CollectorName{"a", "b"} {
				if history, err := eventlog.StateOf(t.Context(), tx, events.RegistrySubject(name), seqs); err != nil || name == "b" && len(history) != decided-1 {
					t.Errorf("try %d is taken on %v, %v", decided, history, err)
				}
			}
			return []events.Event{off("a", "ours"), off("b", "ours")}, nil
		})
		var busy *eventlog.BusyError
		if !errors.As(err, &busy) || busy.Tries != decided || busy.Tries != log.appends || busy.Tries < 2 || busy.Conflict.Subject != events.RegistrySubject("b") {
			t.Fatalf("after %d decisions and %d appends: %v", decided, log.appends, err)
		}
		if !strings.Contains(err.Error(), string(events.RegistrySubject("b"))) {
			t.Errorf("%q does not name the subject", err)
		}
		if took := time.Since(began); took < 100*time.Millisecond || took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if history, err := log.Read(t.Context(), events.RegistrySubject("a")); err != nil || len(history) != 0 {
			t.Errorf("half of it is stored: %v, %v", history, err)
		}
	})
}

func TestTransactEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &rival{Log: memory.New(memory.Config{}), name: "a"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := eventlog.Transact(ctx, log, func(tx *eventlog.Tx) ([]events.Event, error) {
			_, _, err := tx.Last(ctx, events.RegistrySubject("a"))
			return []events.Event{off("a", "ours")}, err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

// Transact does not decide again what was decided elsewhere.
func TestAConflictBesideIsReturnedAtOnce(t *testing.T) {
	log := &rival{Log: memory.New(memory.Config{}), name: "b"}
	_, err := eventlog.Transact(t.Context(), log, func(tx *eventlog.Tx) ([]events.Event, error) {
		tx.Expect(events.RegistrySubject("a"), 0)
		tx.Beside(eventlog.Append{Subject: events.RegistrySubject("b"), Events: []events.Event{off("b", "beside")}})
		return []events.Event{off("a", "ours")}, nil
	})
	var busy *eventlog.BusyError
	if conflict := new(eventlog.ConflictError); !errors.As(err, &conflict) || errors.As(err, &busy) || log.appends != 1 || conflict.Subject != events.RegistrySubject("b") {
		t.Fatalf("after %d appends: %v", log.appends, err)
	}
}

// The first try uses a state that was folded before. If it is stale, the next try reads.
func TestWhatWasFoldedBeforeServesOnce(t *testing.T) {
	log := memory.New(memory.Config{})
	subject := events.RegistrySubject("a")
	if _, err := log.Append(t.Context(), eventlog.Append{Subject: subject, Events: []events.Event{off("a", "before")}}); err != nil {
		t.Fatal(err)
	}
	read := 0
	last, err := eventlog.Transact(t.Context(), log, func(tx *eventlog.Tx) ([]events.Event, error) {
		if tx.First() {
			tx.Expect(subject, 0)
		} else if _, err := tx.Read(t.Context(), subject); err != nil {
			return nil, err
		} else {
			read++
		}
		return []events.Event{off("a", "ours")}, nil
	})
	if err != nil || last != 2 || read != 1 {
		t.Errorf("stored at %d after %d reads: %v", last, read, err)
	}
}

func TestNothingIsWrittenThatWasNotRead(t *testing.T) {
	log := memory.New(memory.Config{})
	_, err := eventlog.Transact(t.Context(), log, func(*eventlog.Tx) ([]events.Event, error) {
		return []events.Event{off("a", "blind")}, nil
	})
	if err == nil || !strings.Contains(err.Error(), string(events.RegistrySubject("a"))) {
		t.Fatal(err)
	}
	refusal := errors.New("no")
	for _, want := range []error{nil, refusal} {
		if last, err := eventlog.Transact(t.Context(), log, func(*eventlog.Tx) ([]events.Event, error) { return nil, want }); last != 0 || !errors.Is(err, want) {
			t.Errorf("%d, %v; want %v", last, err, want)
		}
	}
	if head, err := log.Head(t.Context()); err != nil || head.Last != 0 {
		t.Errorf("%+v, %v", head, err)
	}
}

// A try sees one version of an aggregate, or starts again.
func TestWhatMovesOnWithinATryIsAConflict(t *testing.T) {
	log := memory.New(memory.Config{})
	subject := events.RegistrySubject("a")
	tries := 0
	last, err := eventlog.Transact(t.Context(), log, func(tx *eventlog.Tx) ([]events.Event, error) {
		if _, err := tx.Read(t.Context(), subject); err != nil {
			return nil, err
		}
		if tries++; tries == 1 {
			if _, err := log.Append(t.Context(), eventlog.Append{Subject: subject, Events: []events.Event{off("a", "meanwhile")}}); err != nil {
				return nil, err
			}
		}
		_, _, err := tx.Last(t.Context(), subject)
		return []events.Event{off("a", "ours")}, err
	})
	if err != nil || last != 2 || tries != 2 {
		t.Errorf("stored at %d after %d tries: %v", last, tries, err)
	}
}

// slow lets other writers run between a decision and its append.
type slow struct{ *memory.Log }

func (l slow) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	runtime.Gosched()
	return l.Log.Append(ctx, parts...)
}

// note is what a writer records about a decision: its writer and the versions that it was taken on.
type note struct {
	Writer, Number int
	Seen           map[events.CollectorName]events.Seq
}

// Many writers decide on a few aggregates: each decision is stored once and whole, and on the versions that it was
// taken on.
func TestEachDecisionIsTakenOnWhatIsStored(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []events.CollectorName{"a", "b", "c"}
		writers := rapid.IntRange(2, 6).Draw(rt, "writers")
		plans := rapid.SliceOfN(rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID), 1, 4), writers, writers).Draw(rt, "plans")
		synctest.Test(t, func(t *testing.T) {
			log := slow{memory.New(memory.Config{})}
			var all sync.WaitGroup
			for w, plan := range plans {
				all.Go(func() {
					for n, about := range plan {
						if err := decideOn(t.Context(), log, note{Writer: w, Number: n}, about); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if err := judge(t.Context(), log, plans); err != nil {
				t.Error(err)
			}
		})
	})
}

// decideOn takes one decision, and starts again when others were first at every try.
func decideOn(ctx context.Context, log eventlog.Log, n note, about []events.CollectorName) error {
	for {
		_, err := eventlog.Transact(ctx, log, func(tx *eventlog.Tx) (out []events.Event, err error) {
			n.Seen = map[events.CollectorName]events.Seq{}
			for _, name := range about {
				if _, err := eventlog.StateOf(ctx, tx, events.RegistrySubject(name), seqs); err != nil {
					return nil, err
				}
				n.Seen[name] = tx.Version(events.RegistrySubject(name))
			}
			said, err := json.Marshal(n)
			for _, name := range about {
				out = append(out, off(name, string(said)))
			}
			return out, err
		})
		if busy := new(eventlog.BusyError); !errors.As(err, &busy) {
			return err
		}
	}
}

// judge returns an error if a decision is missing, stored twice, torn apart or taken on another state.
func judge(ctx context.Context, log eventlog.Log, plans [][][]events.CollectorName) error {
	places := map[[2]int][]events.Seq{}
	for _, name := range []events.CollectorName{"a", "b", "c"} {
		history, err := log.Read(ctx, events.RegistrySubject(name))
		if err != nil {
			return err
		}
		before := events.Seq(0)
		for _, e := range history {
			var n note
			if err := json.Unmarshal([]byte(e.Fact.(events.CollectorDeactivated).Reason), &n); err != nil {
				return err
			}
			if n.Seen[name] != before {
				return fmt.Errorf("%s: decided on version %d, stored after %d", name, n.Seen[name], before)
			}
			before = e.Seq
			key := [2]int{n.Writer, n.Number}
			places[key] = append(places[key], e.Seq)
		}
	}
	for w, plan := range plans {
		for n, about := range plan {
			at := places[[2]int{w, n}]
			low, high := at[0], at[0]
			for _, seq := range at {
				low, high = min(low, seq), max(high, seq)
			}
			if len(at) != len(about) || int(high-low) != len(about)-1 {
				return fmt.Errorf("decision %d of writer %d on %v is stored at %v", n, w, about, at)
			}
		}
	}
	return nil
}
