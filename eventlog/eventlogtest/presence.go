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
	// One of the racing processes gets the name, the others learn which.
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
	_, err := s.Presence.Beat(ctx, beat(n, winner))
	must(t, err)
	if _, err := s.Presence.Beat(ctx, beat(n, "other")); !errors.Is(err, eventlog.ErrNameHeld) {
		t.Fatalf("beat of another: %v", err)
	}
	// A successor that names the process that it replaces takes over at once; that process learns it.
	if _, err := s.Presence.Claim(ctx, beat(n, "next"), winner); err != nil {
		t.Fatalf("take over: %v", err)
	}
	if _, err := s.Presence.Beat(ctx, beat(n, winner)); !errors.Is(err, eventlog.ErrNameHeld) {
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

// listen watches until the test ends, or until stop is called, which returns how the watch ended.
func listen(t *testing.T, ctx context.Context, s Subject) (sounds <-chan eventlog.Sound, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	told, ended := make(chan eventlog.Sound, 1000), make(chan error, 1)
	go func() { ended <- s.Heartbeats.Watch(ctx, func(v eventlog.Sound) { told <- v }) }()
	t.Cleanup(cancel)
	return told, func() error { cancel(); return <-ended }
}

// until returns the first sound that is wanted.
func until(t *testing.T, ctx context.Context, sounds <-chan eventlog.Sound, what string, wanted func(eventlog.Sound) bool) eventlog.Sound {
	t.Helper()
	for {
		select {
		case v := <-sounds:
			if wanted(v) {
				return v
			}
		case <-ctx.Done():
			t.Fatalf("waiting for %s", what)
		}
	}
}

func beatOf(n events.CollectorName) func(eventlog.Sound) bool {
	return func(v eventlog.Sound) bool { return v.Beat != nil && v.Beat.Name == n }
}

func forgetsBeats(t *testing.T, s Subject) {
	ctx := bounded(t)
	before, after := events.CollectorName(name(t, "c")), events.CollectorName(name(t, "c"))
	_, err := s.Presence.Claim(ctx, beat(before, "1"), "")
	must(t, err)
	sounds, stop := listen(t, ctx, s)
	until(t, ctx, sounds, "the beat that was there", beatOf(before))

	// A new claim is reported with its whole beat; its end is reported when it is released.
	b := beat(after, "2")
	b.JobID, b.Benchmark = "j1", "hello"
	_, err = s.Presence.Claim(ctx, b, "")
	must(t, err)
	if diff := cmp.Diff(b, *until(t, ctx, sounds, "the new beat", beatOf(after)).Beat); diff != "" {
		t.Fatalf("told (-want +got):\n%s", diff)
	}
	must(t, s.Presence.Release(ctx, b))
	until(t, ctx, sounds, "its release", func(v eventlog.Sound) bool { return v.Left == after })

	// The other claim expires. The watcher does not report that: counting silence is the listener's task.
	for held := true; held; {
		_, err = s.Presence.Claim(ctx, beat(before, "new"), "")
		if held = errors.Is(err, eventlog.ErrNameHeld); held {
			<-time.After(s.BeatTTL / 20)
		}
	}
	must(t, err)
	until(t, ctx, sounds, "the next beat of the name", func(v eventlog.Sound) bool {
		if v.Left == before {
			t.Error("a claim that expired was told as given back")
		}
		return beatOf(before)(v) && v.Beat.Instance == "new"
	})
	_, err = s.Presence.Beat(ctx, beat(before, "new"))
	must(t, err)
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Fatalf("watch ended with %v", err)
	}
}

// A listener that hears its probe has heard the newest earlier beat of every collector, whenever it began to listen.
func tellsInOrder(t *testing.T, s Subject) {
	ctx := bounded(t)
	me := name(t, "l")
	early, _ := listen(t, ctx, s)
	var names []events.CollectorName
	for i := range 20 {
		n := events.CollectorName(name(t, "c"))
		names = append(names, n)
		_, err := s.Presence.Claim(ctx, beat(n, "1"), "")
		must(t, err)
		must(t, s.Heartbeats.Probe(ctx, eventlog.Probe{From: me, N: uint64(i + 1)}))
	}
	late, _ := listen(t, ctx, s)
	for who, sounds := range map[string]<-chan eventlog.Sound{"early": early, "late": late} {
		heard := map[events.CollectorName]bool{}
		until(t, ctx, sounds, "the last probe", func(v eventlog.Sound) bool {
			if v.Beat != nil {
				heard[v.Beat.Name] = true
			}
			return v.Probe != nil && *v.Probe == eventlog.Probe{From: me, N: uint64(len(names))}
		})
		for _, n := range names {
			if !heard[n] {
				t.Errorf("the %s watcher heard the last probe, and not the beat of %s before it", who, n)
			}
		}
	}
	// A probe holds no name.
	_, err := s.Presence.Claim(ctx, beat(events.CollectorName(me), "1"), "")
	must(t, err)
}
