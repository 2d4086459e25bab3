package suite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// part is one benchmark of a test: how long it takes (0 is unknown), its set (-1 is none), and how many results it has.
type part struct {
	seconds, set, results int
}

// balanced makes a suite with the parts on the target "here", and plans sets for it.
func balanced(count int, tolerance float64, parts ...part) (Balance, error) {
	d := Definitions{
		Name: "parts", PrimaryTarget: "here",
		Targets:   []Target{{Name: "here", Sets: count}},
		Kinds:     []Kind{{Name: "compile", PerSet: true, PerProfile: true, PerBackend: true}},
		Profiles:  []Profile{{Name: "opt"}},
		Backends:  []Backend{{Name: "gc"}},
		Scenarios: []Scenario{{Name: "full", Cache: CacheNone}},
		Categories: map[events.RequestKind][]Category{
			events.Master: {Primary, Secondary}, events.Try: {Primary, Secondary}, events.Release: {Stable},
		},
	}
	timings := map[events.Benchmark]Timing{}
	for i, p := range parts {
		b := BenchmarkDef{Name: events.Benchmark(fmt.Sprintf("b%d", i)), Kind: "compile", Category: Primary}
		if p.set >= 0 {
			b.Sets = map[events.Target]events.Set{"here": events.Set(p.set)}
		}
		if p.seconds > 0 {
			timings[b.Name] = Timing{Length: time.Duration(p.seconds) * time.Second, Results: p.results}
		}
		d.Benchmarks = append(d.Benchmarks, b)
	}
	return d.Balance(BalanceWish{Target: "here", For: events.Master, Tolerance: tolerance, Timings: timings})
}

func mustBalance(t *testing.T, count int, tolerance float64, parts ...part) Balance {
	t.Helper()
	b, err := balanced(count, tolerance, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seconds writes lengths of sets as a short text.
func seconds(lengths []time.Duration) string {
	var all []string
	for _, l := range lengths {
		all = append(all, fmt.Sprint(l.Seconds()))
	}
	return strings.Join(all, "/")
}

func TestTheSeedsExampleIsBalancedWithOneMove(t *testing.T) {
	b := mustBalance(t, 2, 0.05, part{4 * 60, 0, 90}, part{20 * 60, 0, 30}, part{6 * 60, 1, 10}, part{10 * 60, 1, 0})
	if seconds(b.Before) != "1440/960" || seconds(b.After) != "1200/1200" || !b.Optimal || !b.Fewest {
		t.Errorf("%+v", b)
	}
	moves := b.Moves()
	if len(moves) != 1 || moves[0].Benchmark != "b0" || *moves[0].From != 0 || moves[0].To != 1 || moves[0].Gain != 4*time.Minute || moves[0].Timing.Results != 90 {
		t.Errorf("%+v", moves)
	}
}

func TestWhatABalanceConsiders(t *testing.T) {
	for name, c := range map[string]struct {
		sets      int
		tolerance float64
		parts     []part
		after     string
		moved     string
	}{
		"balanced sets stay":                  {2, 0, []part{{5, 0, 0}, {5, 1, 0}}, "5/5", ""},
		"within the tolerance they stay":      {2, 0.2, []part{{5, 0, 0}, {1, 0, 0}, {5, 1, 0}}, "6/5", ""},
		"beyond it they do not":               {2, 0.05, []part{{5, 0, 0}, {2, 0, 0}, {3, 1, 0}}, "5/5", "b1"},
		"the smaller loss moves":              {2, 0, []part{{4, 0, 9}, {4, 0, 3}, {2, 0, 9}, {2, 1, 9}}, "6/6", "b1"},
		"fewer moves before the smaller loss": {2, 0, []part{{4, 0, 99}, {2, 0, 1}, {2, 0, 1}, {4, 0, 99}, {4, 1, 9}}, "8/8", "b0"},
		"of equal moves the shortest":         {2, 0.5, []part{{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {10, 0, 0}, {2, 1, 0}}, "6/12", "b3"},
		"an exchange takes two moves":         {2, 0, []part{{6, 0, 1}, {6, 0, 9}, {4, 1, 1}, {4, 1, 9}}, "10/10", "b0 b2"},
		"a new benchmark is placed":           {2, 0, []part{{5, 0, 0}, {3, 1, 0}, {2, -1, 0}}, "5/5", ""},
		"an unknown one stays":                {2, 0, []part{{4, 0, 0}, {0, 0, 0}, {4, 0, 0}, {4, 1, 0}}, "8/8", "b0"},
		"an unknown new one is assumed":       {2, 0, []part{{4, 0, 0}, {4, 1, 0}, {4, 1, 0}, {0, -1, 0}}, "8/8", ""},
		"every set holds something":           {3, 1, []part{{9, 0, 1}, {1, 0, 5}, {1, 1, 7}}, "1/1/9", "b0"},
	} {
		b := mustBalance(t, c.sets, c.tolerance, c.parts...)
		var moved []string
		for _, s := range b.Moves() {
			moved = append(moved, string(s.Benchmark))
		}
		if got := strings.Join(moved, " "); seconds(b.After) != c.after || got != c.moved {
			t.Errorf("%s: %s after moving %q, want %s and %q", name, seconds(b.After), got, c.after, c.moved)
		}
	}
}

func TestFewerSetsMoveWhatHasNoPlaceAnyMore(t *testing.T) {
	b := mustBalance(t, 2, 0, part{4, 0, 0}, part{4, 1, 0}, part{2, 2, 0}, part{2, 2, 0})
	if seconds(b.Before) != "4/4/4" || seconds(b.After) != "6/6" || len(b.Moves()) != 2 {
		t.Errorf("%+v", b)
	}
}

func TestBalancesThatCannotBeMade(t *testing.T) {
	for want, f := range map[string]func() (Balance, error){
		"no benchmark that master requests measure has a known duration": func() (Balance, error) { return balanced(2, 0, part{0, 0, 0}, part{0, 1, 0}) },
		"3 sets are too many: 2 benchmarks can be placed":                func() (Balance, error) { return balanced(3, 0, part{1, 0, 0}, part{1, 1, 0}) },
		"a tolerance of -1": func() (Balance, error) { return balanced(2, -1, part{1, 0, 0}) },
		"257 sets: use 1 to 256": func() (Balance, error) {
			return rustc(t).Balance(BalanceWish{Target: "x86_64-unknown-linux-gnu", Sets: 257, For: events.Master})
		},
		`unknown target "moon": use x86_64`: func() (Balance, error) { return rustc(t).Balance(BalanceWish{Target: "moon"}) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// brute finds the best split by trying all.
func brute(count int, tolerance float64, parts []part) (shortest time.Duration, best price) {
	assigned := make([]int, len(parts))
	shortest = time.Duration(1<<62 - 1)
	each := func(f func(longest time.Duration, p price)) {
		for {
			loads, used, p := make([]time.Duration, count), make([]bool, count), price{}
			for i, set := range assigned {
				used[set] = true
				length := time.Duration(parts[i].seconds) * time.Second
				loads[set] += length
				if home := parts[i].set; home >= 0 && home != set {
					p.moves, p.lost = p.moves+1, p.lost+parts[i].results
				}
			}
			if !slices.Contains(used, false) {
				p.longest = slices.Max(loads)
				f(p.longest, p)
			}
			i := 0
			for ; i < len(assigned); i++ {
				if assigned[i]++; assigned[i] < count {
					break
				}
				assigned[i] = 0
			}
			if i == len(assigned) {
				return
			}
		}
	}
	each(func(longest time.Duration, _ price) { shortest = min(shortest, longest) })
	limit := shortest + time.Duration(float64(shortest)*tolerance)
	first := true
	each(func(longest time.Duration, p price) {
		if longest <= limit && (first || p.compare(best) < 0) {
			best, first = p, false
		}
	})
	return shortest, best
}

func TestSmallBalancesAreTheBestThereAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 4).Draw(t, "sets")
		parts := make([]part, rapid.IntRange(count, 7).Draw(t, "parts"))
		for i := range parts {
			parts[i] = part{rapid.IntRange(1, 20).Draw(t, "seconds"), rapid.IntRange(-1, count-1).Draw(t, "set"), rapid.IntRange(0, 4).Draw(t, "results")}
		}
		tolerance := rapid.SampledFrom([]float64{0, 0.05, 0.2}).Draw(t, "tolerance")
		b, err := balanced(count, tolerance, parts...)
		if err != nil {
			t.Fatal(err)
		}
		shortest, best := brute(count, tolerance, parts)
		got := price{longest: slices.Max(b.After)}
		for _, s := range b.Moves() {
			got.moves, got.lost = got.moves+1, got.lost+s.Timing.Results
		}
		if b.Shortest != shortest || got != best || !b.Optimal || !b.Fewest {
			t.Fatalf("shortest %s, price %+v, optimal %v, fewest %v; want %s and %+v", b.Shortest, got, b.Optimal, b.Fewest, shortest, best)
		}
	})
}

func TestLargeBalancesKeepWhatTheyPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(2, 8).Draw(t, "sets")
		keepsWhatItPromises(t, count, rapid.IntRange(count, 70).Draw(t, "parts"), rapid.Uint64().Draw(t, "seed"))
	})
}

// Here the search from the proposal found a shorter split than the search from the old sets.
func TestABalanceIsItsOwnBalance(t *testing.T) { keepsWhatItPromises(t, 7, 24, 0x30c) }

func keepsWhatItPromises(t rapid.TB, count, size int, seed uint64) {
	parts := make([]part, size)
	r := rand.New(rand.NewPCG(seed, 0))
	complete := true
	for i := range parts {
		parts[i] = part{1 + int(r.ExpFloat64()*60), r.IntN(count), r.IntN(100)}
		if i >= count && r.IntN(10) == 0 {
			parts[i].seconds = 0
		}
		if i > 0 && r.IntN(20) == 0 {
			parts[i].set, complete = -1, false
		}
	}
	tolerance := 0.05
	b, err := balanced(count, tolerance, parts...)
	if err != nil {
		t.Fatal(err)
	}
	// Disjoint and complete: each has one set, and the lengths are the sums.
	sums, used := make([]time.Duration, count), make([]bool, count)
	for i, s := range b.Shares {
		sums[s.To] += s.Length
		used[s.To] = true
		if s.Length <= 0 || s.Assumed != (parts[i].seconds == 0) {
			t.Fatalf("%+v", s)
		}
		if s.Assumed && s.Moved() {
			t.Fatalf("%s moves and its duration is unknown", s.Benchmark)
		}
	}
	longest := slices.Max(b.After)
	before := slices.Max(b.Before)
	switch {
	case len(b.Shares) != len(parts), cmp.Diff(sums, b.After) != "", slices.Contains(used, false):
		t.Fatalf("%+v", b)
	case longest > b.Shortest+b.Shortest/20+1, b.Shortest < b.Bound:
		t.Fatalf("the longest set takes %s, the shortest found %s, bound %s", longest, b.Shortest, b.Bound)
	case complete && longest > before:
		t.Fatalf("worse than before: %s, not %s", longest, before)
	}
	// A proposal is balanced: nothing moves again.
	for i := range parts {
		parts[i].set = int(b.Shares[i].To)
	}
	again, err := balanced(count, tolerance, parts...)
	if err != nil {
		t.Fatal(err)
	}
	if moves := again.Moves(); len(moves) > 0 {
		t.Fatalf("moved again: %+v", moves)
	}
}

func TestABalanceDependsOnItsInputOnly(t *testing.T) {
	d := rustc(t)
	const target = "x86_64-unknown-linux-gnu"
	r := rand.New(rand.NewPCG(1, 2))
	timings := map[events.Benchmark]Timing{}
	for _, b := range d.Benchmarks {
		timings[b.Name] = Timing{Length: time.Duration(1+r.ExpFloat64()*60) * time.Second, Results: r.IntN(500)}
	}
	for sets := 2; sets <= 8; sets++ {
		wish := BalanceWish{Target: target, Sets: sets, For: events.Master, Tolerance: 0.05, Timings: timings}
		begun := time.Now()
		first, err := d.Balance(wish)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		second, err := d.Balance(wish)
		if diff := cmp.Diff(first, second); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
		t.Logf("%d sets: %s → %s, bound %s, %d moves of %d benchmarks, optimal %v, fewest %v, in %s", sets,
			slices.Max(first.Before), slices.Max(first.After), first.Bound, len(first.Moves()), len(first.Shares), first.Optimal, first.Fewest, took)
	}
}
