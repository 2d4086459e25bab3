package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

var debug = Sort{
	Suite: "go", Lane: events.Lane{Target: "x86_64-linux", Set: 1}, Kind: "compile", Backend: "gc", Profile: "debug",
}

// like returns a changed copy of debug.
func like(change func(*Sort)) Sort {
	s := debug
	change(&s)
	return s
}

func TestHistoryFallsBackToCoarserGroups(t *testing.T) {
	opt := like(func(s *Sort) { s.Profile = "opt" })
	runtime := like(func(s *Sort) { s.Kind = "runtime" })
	elsewhere := like(func(s *Sort) { s.Lane.Set = 2 })
	foreign := like(func(s *Sort) { s.Suite = "rustc" })

	var h History
	for _, step := range []struct {
		name string
		add  Sort
		took time.Duration
		want Expected // of debug, afterwards; other tests check the spread
	}{
		{"another suite says nothing", foreign, 100 * time.Minute, Expected{}},
		{"the suite", elsewhere, 50 * time.Minute, Known(50 * time.Minute)},
		{"the lane", runtime, 40 * time.Minute, Known(40 * time.Minute)},
		{"lane and kind", opt, 30 * time.Minute, Known(30 * time.Minute)},
		{"its own", debug, 10 * time.Minute, Known(10 * time.Minute)},
		{"the mean of two", debug, 20 * time.Minute, Known(15 * time.Minute)},
		{"others change nothing any more", opt, time.Minute, Known(15 * time.Minute)},
		{"the middle of three", debug, 90 * time.Minute, Known(20 * time.Minute)},
	} {
		h.Add(step.add, step.took)
		got := h.Expect(debug)
		if diff := cmp.Diff(step.want, Expected{Length: got.Length, Known: got.Known}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// An empty field is a value like any other. It does not stand for a coarser group.
func TestHistoryKeepsGroupsApart(t *testing.T) {
	var h History
	plain := like(func(s *Sort) { s.Backend, s.Profile = "", "" })
	h.Add(plain, time.Minute)
	h.Add(debug, time.Hour)
	if got := h.Expect(plain); got.Length != time.Minute {
		t.Errorf("Expect(%v) = %v, want a minute", plain, got)
	}
}

func TestHistoryIsTheMedianOfTheLastTen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 30).Draw(t, "minutes")
		var h History
		for _, m := range lengths {
			h.Add(debug, time.Duration(m)*time.Minute)
		}
		last := slices.Clone(lengths[max(0, len(lengths)-10):])
		slices.Sort(last)
		want := time.Duration(last[(len(last)-1)/2]+last[len(last)/2]) * time.Minute / 2
		if got := h.Expect(debug); !got.Known || got.Length != want {
			t.Fatalf("Expect = %v, want %v", got, want)
		}
	})
}

// The spread is known from three jobs on. Fewer jobs spread like those of the next group, in proportion.
func TestHistoryTellsTheSpread(t *testing.T) {
	opt := like(func(s *Sort) { s.Profile = "opt" })
	runtime := like(func(s *Sort) { s.Kind = "runtime" })
	elsewhere := like(func(s *Sort) { s.Lane.Set = 2 })

	var h History
	spread := func() any {
		e := h.Expect(debug)
		if !e.Ranged {
			return nil
		}
		return e.Spread.Round(time.Second)
	}
	for _, step := range []struct {
		name string
		add  Sort
		took time.Duration
		want any
	}{
		{"one elsewhere tells a length and no spread", elsewhere, 10 * time.Minute, nil},
		{"two neither", elsewhere, 20 * time.Minute, nil},
		{"three do, cautiously", elsewhere, 30 * time.Minute, 14*time.Minute + 43*time.Second},
		{"one of its own spreads as the four do", debug, time.Hour, 55*time.Minute + 13*time.Second},
		{"others of the suite", opt, time.Hour, 45*time.Minute + 53*time.Second},
		{"lane and kind have three: they are the ones to ask", opt, 30 * time.Minute, 30*time.Minute + 36*time.Second},
		{"another kind does not count any more", runtime, time.Minute, 30*time.Minute + 36*time.Second},
		{"two of its own", debug, time.Hour, 21*time.Minute + 55*time.Second},
		{"three of its own: they are equal", debug, time.Hour, time.Duration(0)},
	} {
		h.Add(step.add, step.took)
		if diff := cmp.Diff(step.want, spread()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	if e := h.Expect(debug); e.Doubt != 0 || h.Expect(opt).Doubt == 0 {
		t.Errorf("doubts: %v, %v", e.Doubt, h.Expect(opt).Doubt)
	}
}

// Jobs that took no time must not cause a division by zero.
func TestHistoryOfNoTime(t *testing.T) {
	var h History
	elsewhere := like(func(s *Sort) { s.Lane.Set = 2 })
	for range 3 {
		h.Add(elsewhere, 0)
	}
	h.Add(debug, 0)
	if e := h.Expect(debug); !e.Known || e.Length != 0 || e.Spread != 0 {
		t.Errorf("Expect = %+v", e)
	}
}
