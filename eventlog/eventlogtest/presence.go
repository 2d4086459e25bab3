package eventlogtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

func beat(n events.CollectorName, instance string) eventlog.Beat {
	return eventlog.Beat{Name: n, Instance: instance, Host: "h", PID: 1, Version: "v", Time: time.Now().UTC().Truncate(time.Millisecond), Done: 1, Total: 2, Load: 0.5}
}

func oneHolder(t *testing.T, s Subject) {
	ctx := bounded(t)
	n := events.CollectorName(name(t, "c"))
	// Of racing processes one gets the name, the others learn who.
	const racers = 5
	won := make([]bool, racers)
	var group errgroup.Group
	for i := range racers {
		group.Go(func() error {
			b := beat(n, string(rune('a'+i)))
			holder, err := s.Presence.Claim(ctx, b, "")
			switch {
			case err == nil:
				won[i] = true
			case errors.Is(err, eventlog.ErrNameHeld) && holder.Instance != "" && holder.Instance != b.Instance:
			default:
				return errors.Join(err, errors.New("neither won nor told the holder"))
			}
			return nil
		})
	}
	must(t, group.Wait())
	winner := ""
	for i, w := range won {
		if w {
			winner += string(rune('a' + i))
		}
	}
	if len(winner) != 1 {
		t.Fatalf("%q hold the name, want one", winner)
	}
	if _, err := s.Presence.Claim(ctx, beat(n, winner), ""); err != nil {
		t.Fatalf("claim of the holder: %v", err)
	}
	must(t, s.Presence.Beat(ctx, beat(n, winner)))
	if err := s.Presence.Beat(ctx, beat(n, "other")); !errors.Is(err, eventlog.ErrNameHeld) {
		t.Fatalf("beat of another: %v", err)
	}
	// A successor that names whom it replaces takes over at once; the one before learns it.
	if _, err := s.Presence.Claim(ctx, beat(n, "next"), winner); err != nil {
		t.Fatalf("take over: %v", err)
	}
	if err := s.Presence.Beat(ctx, beat(n, winner)); !errors.Is(err, eventlog.ErrNameHeld) {
		t.Fatalf("beat of the replaced: %v", err)
	}
	must(t, s.Presence.Release(ctx, beat(n, winner))) // not its name any more: nothing happens
	if _, err := s.Presence.Claim(ctx, beat(n, "third"), ""); !errors.Is(err, eventlog.ErrNameHeld) {
		t.Fatalf("claim of a held name: %v", err)
	}
	must(t, s.Presence.Release(ctx, beat(n, "next")))
	if _, err := s.Presence.Claim(ctx, beat(n, "third"), ""); err != nil {
		t.Fatalf("claim of a released name: %v", err)
	}
}

// sight is one call of a watcher.
type sight struct {
	b    eventlog.Beat
	gone bool
}

func forgetsBeats(t *testing.T, s Subject) {
	ctx, stop := context.WithCancel(bounded(t))
	defer stop()
	before, after := events.CollectorName(name(t, "c")), events.CollectorName(name(t, "c"))
	_, err := s.Presence.Claim(ctx, beat(before, "1"), "")
	must(t, err)

	seen := make(chan sight, 1000)
	done := make(chan error)
	go func() { done <- s.Presence.Watch(ctx, func(b eventlog.Beat, gone bool) { seen <- sight{b, gone} }) }()

	// What is there comes first, then a zero beat.
	found := false
	for v := range seen {
		if v.b == (eventlog.Beat{}) {
			break
		}
		found = found || v.b.Name == before && !v.gone
	}
	if !found {
		t.Fatal("the beat that was there was not told")
	}
	own := func() sight {
		for v := range seen {
			if v.b.Name == before || v.b.Name == after {
				return v
			}
		}
		return sight{}
	}
	// A new one is told with all that it says; its end is told when it is released.
	b := beat(after, "2")
	b.JobID, b.Benchmark = "j1", "hello"
	_, err = s.Presence.Claim(ctx, b, "")
	must(t, err)
	got := own()
	for got.b.Name == before { // its expiry may come between
		got = own()
	}
	if diff := cmp.Diff(b, got.b); diff != "" || got.gone {
		t.Fatalf("told (-want +got):\n%s", diff)
	}
	must(t, s.Presence.Release(ctx, b))
	gone := map[events.CollectorName]bool{}
	for !gone[before] || !gone[after] { // the other one expires by itself
		if v := own(); v.gone {
			gone[v.b.Name] = true
		}
	}
	if _, err := s.Presence.Claim(ctx, beat(before, "new"), ""); err != nil {
		t.Fatalf("claim of an expired name: %v", err)
	}
	must(t, s.Presence.Beat(ctx, beat(before, "new")))
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("watch ended with %v", err)
	}
}
