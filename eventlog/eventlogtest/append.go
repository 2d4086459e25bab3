package eventlogtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

func storesAndReads(t *testing.T, s Subject) {
	n := events.CollectorName(name(t, "c"))
	subject := events.RegistrySubject(n)
	if _, ok, err := s.Log.Last(bounded(t), subject); ok || err != nil {
		t.Fatalf("last of nothing: %v, %v", ok, err)
	}
	if got := mustRead(t, s, subject); len(got) != 0 {
		t.Fatalf("read of nothing: %v", got)
	}
	first := activated(n)
	at := mustAppend(t, s, eventlog.Append{Subject: subject, Events: []events.Event{first}})
	second := stamp(events.CollectorDeactivated{Name: n, Reason: "ümläut \"quoted\" \n"})
	at2 := mustAppend(t, s, eventlog.Append{Subject: subject, Expected: at, Events: []events.Event{second}})

	want := []events.Recorded{{Event: first, Seq: at}, {Event: second, Seq: at2}}
	if diff := cmp.Diff(want, mustRead(t, s, subject)); diff != "" {
		t.Fatalf("read (-want +got):\n%s", diff)
	}
	last, ok, err := s.Log.Last(bounded(t), subject)
	if err != nil || !ok {
		t.Fatalf("last: %v, %v", ok, err)
	}
	if diff := cmp.Diff(want[1], last); diff != "" {
		t.Fatalf("last (-want +got):\n%s", diff)
	}
	for version, want := range map[events.Seq]bool{0: true, at: true, at2: false, at2 + 7: false} {
		if newer, err := s.Log.Newer(bounded(t), subject, version); newer != want || err != nil {
			t.Errorf("newer than %d: %v, %v", version, newer, err)
		}
	}
	if newer, err := s.Log.Newer(bounded(t), events.RegistrySubject(n+"x"), 0); newer || err != nil {
		t.Errorf("newer than nothing of nothing: %v, %v", newer, err)
	}
	head, err := s.Log.Head(bounded(t))
	if err != nil || head.Last < at2 || head.First != 1 || head.Identity == "" {
		t.Fatalf("head %+v, %v", head, err)
	}
}

func createsOnce(t *testing.T, s Subject) {
	n := events.CollectorName(name(t, "c"))
	at := mustAppend(t, s, one(n, 0))
	_, err := s.Log.Append(bounded(t), one(n, 0))
	wantConflict(t, err, events.RegistrySubject(n), 0, at)
}

func refusesOtherVersions(t *testing.T, s Subject) {
	n := events.CollectorName(name(t, "c"))
	subject := events.RegistrySubject(n)
	first := mustAppend(t, s, one(n, 0))
	second := mustAppend(t, s, one(n, first))
	_, err := s.Log.Append(bounded(t), one(n, first))
	wantConflict(t, err, subject, first, second)
	_, err = s.Log.Append(bounded(t), one(n, second+100))
	wantConflict(t, err, subject, second+100, second)
	_, err = s.Log.Append(bounded(t), one(events.CollectorName(name(t, "c")), first))
	if conflict := new(eventlog.ConflictError); !errors.As(err, &conflict) || conflict.Actual != 0 {
		t.Fatalf("append to nothing with a version: %v", err)
	}
	if got := mustRead(t, s, subject); len(got) != 2 {
		t.Fatalf("%d events after refused appends, want 2", len(got))
	}
}

func refusesMalformed(t *testing.T, s Subject) {
	n := events.CollectorName(name(t, "c"))
	subject := events.RegistrySubject(n)
	for what, parts := range map[string][]eventlog.Append{
		"nothing":             {},
		"no events":           {{Subject: subject}},
		"another's event":     {{Subject: events.AdmissionSubject(), Events: []events.Event{activated(n)}}},
		"one aggregate twice": {one(n, 0), one(n, 0)},
		"an empty event":      {{Subject: subject, Events: []events.Event{{}}}},
	} {
		if _, err := s.Log.Append(bounded(t), parts...); err == nil {
			t.Errorf("%s was stored", what)
		}
	}
	_, err := s.Log.Append(bounded(t), eventlog.Append{Subject: subject, Events: many(n, eventlog.MaxBatch+1)})
	if !errors.Is(err, eventlog.ErrBatchTooLarge) {
		t.Errorf("a batch over the limit: %v", err)
	}
	if got := mustRead(t, s, subject); len(got) != 0 {
		t.Errorf("%d events after refused appends", len(got))
	}
}

func allOrNothing(t *testing.T, s Subject) {
	a, b := events.CollectorName(name(t, "a")), events.CollectorName(name(t, "b"))
	atA, atB := mustAppend(t, s, one(a, 0)), mustAppend(t, s, one(b, 0))
	head := atB
	part := func(n events.CollectorName, expected events.Seq, count int) eventlog.Append {
		return eventlog.Append{Subject: events.RegistrySubject(n), Expected: expected, Events: many(n, count)}
	}
	_, err := s.Log.Append(bounded(t), part(a, atA, 3), part(b, 0, 2))
	wantConflict(t, err, events.RegistrySubject(b), 0, atB)
	_, err = s.Log.Append(bounded(t), part(a, atA+1000, 1), part(b, atB, 2))
	wantConflict(t, err, events.RegistrySubject(a), atA+1000, atA)
	if got := len(mustRead(t, s, events.RegistrySubject(a))) + len(mustRead(t, s, events.RegistrySubject(b))); got != 2 {
		t.Fatalf("%d events after refused batches, want 2", got)
	}
	pa, pb := part(a, atA, 3), part(b, atB, 2)
	last := mustAppend(t, s, pa, pb)
	if last < head+5 {
		t.Fatalf("last sequence %d after %d and 5 events", last, head)
	}
	gotA, gotB := mustRead(t, s, events.RegistrySubject(a))[1:], mustRead(t, s, events.RegistrySubject(b))[1:]
	if diff := cmp.Diff(append(idsOf(pa.Events), idsOf(pb.Events)...), append(ids(gotA), ids(gotB)...)); diff != "" {
		t.Fatalf("batch (-want +got):\n%s", diff)
	}
	for i, r := range append(gotA, gotB...) {
		if want := last - 4 + events.Seq(i); r.Seq != want {
			t.Fatalf("event %d of the batch is at %d, want %d: a batch is contiguous", i, r.Seq, want)
		}
	}
}

func largestBatch(t *testing.T, s Subject) {
	n := events.CollectorName(name(t, "c"))
	list := many(n, eventlog.MaxBatch)
	mustAppend(t, s, eventlog.Append{Subject: events.RegistrySubject(n), Events: list})
	if diff := cmp.Diff(idsOf(list), ids(mustRead(t, s, events.RegistrySubject(n)))); diff != "" {
		t.Fatalf("batch (-want +got):\n%s", diff)
	}
}

func oneWinner(t *testing.T, s Subject) {
	race(t, s, func(n events.CollectorName, version events.Seq) []eventlog.Append {
		return []eventlog.Append{one(n, version)}
	})
}

func oneWinningBatch(t *testing.T, s Subject) {
	race(t, s, func(n events.CollectorName, version events.Seq) []eventlog.Append {
		// Each batch also creates an aggregate of its own, so that the test sees if a loser leaves something.
		own := events.CollectorName(name(t, "o"))
		return []eventlog.Append{one(own, 0), one(n, version)}
	})
}

// race lets writers append to one aggregate on the same version, round after round: one writer wins each round, and the
// aggregate holds exactly the winners.
func race(t *testing.T, s Subject, parts func(events.CollectorName, events.Seq) []eventlog.Append) {
	const writers, rounds = 6, 12
	n := events.CollectorName(name(t, "c"))
	subject := events.RegistrySubject(n)
	var version events.Seq
	var won []string
	for round := range rounds {
		type result struct {
			seq events.Seq
			id  string
		}
		results := make([]result, writers)
		var group errgroup.Group
		for w := range writers {
			group.Go(func() error {
				p := parts(n, version)
				seq, err := s.Log.Append(bounded(t), p...)
				if conflict := new(eventlog.ConflictError); errors.As(err, &conflict) {
					for _, q := range p[:len(p)-1] { // what the loser's batch would have created
						if left, err := s.Log.Read(bounded(t), q.Subject); err != nil || len(left) > 0 {
							return fmt.Errorf("a refused batch left %d events (%w)", len(left), err)
						}
					}
					return nil
				}
				results[w] = result{seq, p[len(p)-1].Events[0].ID}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		results = slices.DeleteFunc(results, func(r result) bool { return r.seq == 0 })
		if len(results) != 1 {
			t.Fatalf("round %d: %d writers won, want 1", round, len(results))
		}
		version, won = results[0].seq, append(won, results[0].id)
	}
	if diff := cmp.Diff(won, ids(mustRead(t, s, subject))); diff != "" {
		t.Fatalf("stored (-winners +stored):\n%s", diff)
	}
}

func decidesAgain(t *testing.T, s Subject) {
	const writers, each = 4, 5
	n := events.CollectorName(name(t, "c"))
	subject := events.RegistrySubject(n)
	count := func(state int, _ events.Recorded) int { return state + 1 }
	var group errgroup.Group
	for range writers {
		group.Go(func() error {
			for range each {
				_, err := eventlog.Decide(bounded(t), s.Log, subject, count, func(int) ([]events.Event, error) {
					return []events.Event{activated(n)}, nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	refusal := errors.New("no more")
	state, err := eventlog.Decide(bounded(t), s.Log, subject, count, func(int) ([]events.Event, error) { return nil, refusal })
	if !errors.Is(err, refusal) || state != writers*each {
		t.Fatalf("state %d, error %v; want %d and the refusal", state, err, writers*each)
	}
}
