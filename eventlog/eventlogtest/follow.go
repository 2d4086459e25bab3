package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// collect reads from after to last, in steps of at most step events, and checks the sequences.
func collect(t *testing.T, s Subject, after, last events.Seq, step int) []events.Stored {
	t.Helper()
	ctx := bounded(t)
	cursor, err := s.Log.Follow(ctx, after)
	if err != nil {
		t.Fatalf("follow after %d: %v", after, err)
	}
	defer cursor.Close()
	var all []events.Stored
	for at := after; at < last; {
		got, err := cursor.Next(ctx, step)
		if err != nil {
			t.Fatalf("next after %d: %v", at, err)
		}
		if len(got) == 0 || len(got) > step {
			t.Fatalf("next gave %d events, want 1 to %d", len(got), step)
		}
		for _, e := range got {
			if at++; e.Seq != at {
				t.Fatalf("event %d came, want %d", e.Seq, at)
			}
		}
		all = append(all, got...)
	}
	return all
}

func replaysInOrder(t *testing.T, s Subject) {
	var want []string
	before, err := s.Log.Head(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	last := before.Last
	names := [3]events.CollectorName{}
	versions := [3]events.Seq{}
	for i := range 60 {
		k := i % 3
		if names[k] == "" {
			names[k] = events.CollectorName(name(t, "c"))
		}
		part := one(names[k], versions[k])
		last = mustAppend(t, s, part)
		versions[k], want = last, append(want, part.Events[0].ID)
	}
	for _, step := range []int{1, 7, 1000} {
		all := collect(t, s, before.Last, last, step)
		got := make([]string, len(all))
		for i, e := range all {
			r, err := events.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = r.ID
			if time.Since(e.StoredAt).Abs() > time.Hour {
				t.Fatalf("stored at %s", e.StoredAt)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", step, diff)
		}
	}
}

func followsLive(t *testing.T, s Subject) {
	const count = 200
	head, err := s.Log.Head(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := s.Log.Follow(bounded(t), head.Last)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got, err := cursor.Next(short, 10); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("nothing to come gave %v, %v", got, err)
	}
	n := events.CollectorName(name(t, "c"))
	var group errgroup.Group
	group.Go(func() error {
		var version events.Seq
		for range count {
			at, err := s.Log.Append(bounded(t), one(n, version))
			if err != nil {
				return err
			}
			version = at
		}
		return nil
	})
	for at := head.Last; at < head.Last+count; {
		got, err := cursor.Next(bounded(t), 1+rand.IntN(5)) //nolint:gosec // no secret
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			if at++; e.Seq != at {
				t.Fatalf("event %d came, want %d", e.Seq, at)
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func refusesBeyondHead(t *testing.T, s Subject) {
	at := mustAppend(t, s, one(events.CollectorName(name(t, "c")), 0))
	cursor, err := s.Log.Follow(bounded(t), at)
	if err != nil {
		t.Fatal(err)
	}
	cursor.Close()
	var gap *eventlog.GapError
	if _, err := s.Log.Follow(bounded(t), at+1); !errors.As(err, &gap) || gap.Want != at+1 || gap.Got != 0 {
		t.Fatalf("follow beyond the head: %v", err)
	}
}

// likeTheModel appends at random, on right and wrong versions, one and many, and compares every answer and
// the whole log with a map.
func likeTheModel(t *testing.T, s Subject) {
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		if run > 12 {
			return // each append is a real one; the rest of the runs would only repeat
		}
		head, err := s.Log.Head(bounded(t))
		if err != nil {
			r.Fatal(err)
		}
		prefix := name(t, "m")
		next, model := head.Last+1, map[events.CollectorName][]events.Recorded{}
		version := func(n events.CollectorName) events.Seq {
			if l := model[n]; len(l) > 0 {
				return l[len(l)-1].Seq
			}
			return 0
		}
		for range rapid.IntRange(1, 10).Draw(r, "appends") {
			var parts []eventlog.Append
			var flat []events.Event
			fits := true
			for i := range rapid.IntRange(1, 3).Draw(r, "parts") {
				n := events.CollectorName(fmt.Sprintf("%s-%d", prefix, i))
				expected := version(n)
				if rapid.IntRange(0, 3).Draw(r, "wrong") == 0 {
					expected, fits = wrong(r, expected), false
				}
				list := many(n, rapid.IntRange(1, 4).Draw(r, "events"))
				parts, flat = append(parts, eventlog.Append{Subject: events.RegistrySubject(n), Expected: expected, Events: list}), append(flat, list...)
			}
			seq, err := s.Log.Append(bounded(t), parts...)
			if conflict := new(eventlog.ConflictError); fits != (err == nil) || !fits && !errors.As(err, &conflict) {
				r.Fatalf("append %v: %v", parts, err)
			}
			if !fits {
				continue
			}
			for _, e := range flat {
				n := e.Fact.(events.CollectorDeactivated).Name
				model[n] = append(model[n], events.Recorded{Event: e, Seq: next})
				next++
			}
			if seq != next-1 {
				r.Fatalf("last sequence %d, want %d", seq, next-1)
			}
		}
		for n, want := range model {
			if diff := cmp.Diff(want, mustRead(t, s, events.RegistrySubject(n))); diff != "" {
				r.Fatalf("%s (-want +got):\n%s", n, diff)
			}
		}
		if next > head.Last+1 {
			collect(t, s, head.Last, next-1, 7)
		}
	})
}

// wrong returns another version than the right one, seldom one beyond the end of the log: a cluster doubts that for seconds.
func wrong(r *rapid.T, right events.Seq) events.Seq {
	if rapid.IntRange(0, 9).Draw(r, "beyond") == 0 || right == 1 {
		return rapid.SampledFrom([]events.Seq{right + 1, 1 << 40}).Draw(r, "version")
	}
	if right > 1 && rapid.Bool().Draw(r, "old") {
		return right - 1
	}
	return 1
}
