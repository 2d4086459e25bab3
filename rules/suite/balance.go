package suite

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// BalanceWish says what to balance.
type BalanceWish struct {
	Target events.Target
	// Sets is the number of sets to split the benchmarks into; 0 keeps the target's number.
	Sets int
	// For is the kind of request whose benchmarks are balanced. Only one kind, because the jobs of one request run at
	// the same time.
	For events.RequestKind
	// Tolerance is how much longer the longest set may be than in the shortest split, as a share (0.05 is 5 %).
	Tolerance float64
	// Timings are the measured lengths. A benchmark that is not in it was not measured.
	Timings map[events.Benchmark]Timing
}

// Balance is a proposal of sets for one target.
type Balance struct {
	Target events.Target
	// Before and After are how long each set takes. Before has an entry for every set that holds a benchmark now, at
	// least as many as After.
	Before, After []time.Duration
	// Shortest is the length of the longest set in the best split that was found. No split can go below Bound. When
	// they are equal, or Optimal is set, there is no shorter split.
	Shortest, Bound time.Duration
	Optimal         bool
	// Fewest reports that no proposal within the tolerance has fewer moves, or as many moves and loses fewer results.
	// It is not set when the search ended before it had seen all.
	Fewest bool
	// Shares are all benchmarks that count, in the order of the definitions.
	Shares []Share
	// Left are benchmarks that do not count and have no set, or a set that no longer exists. They need a plan of their
	// own.
	Left []events.Benchmark
}

// Share is the place of one benchmark in a proposal.
type Share struct {
	Benchmark events.Benchmark
	Category  Category
	// Length is how long the benchmark takes. Assumed says that it was not measured and Length is the median of its
	// category; such a benchmark stays in its set.
	Length  time.Duration
	Assumed bool
	// From is its present set; nil when it has none. To is the proposed set.
	From *events.Set
	To   events.Set
	// Timing is what is known about it; it shows what a move costs.
	Timing Timing
	// Gain is how much longer the longest set would be without this one move.
	Gain time.Duration
}

// Moved reports whether the benchmark changes its set, which breaks its series.
func (s Share) Moved() bool { return s.From != nil && *s.From != s.To }

// New reports whether the benchmark had no set.
func (s Share) New() bool { return s.From == nil }

// Moves returns the shares that change their set.
func (b Balance) Moves() []Share {
	return slices.DeleteFunc(slices.Clone(b.Shares), func(s Share) bool { return !s.Moved() })
}

// Balance proposes sets for the benchmarks that requests of one kind measure on one target. The longest set takes at
// most the tolerance more than in the shortest split that was found. Among such splits the proposal has the fewest
// moves, then loses the fewest measured results, then has the shortest longest set. It depends only on its input. The
// other benchmarks of the target keep their sets and do not count.
//
// For small inputs the proposal is the best possible; for large ones it is the best that a search of fixed size has
// found. It is never worse than the present sets, and does not change sets that are already balanced: Balance never
// moves again what it proposed.
func (d Definitions) Balance(w BalanceWish) (Balance, error) {
	target, ok := d.Target(w.Target)
	if !ok {
		return Balance{}, fmt.Errorf("unknown target %q: use %s", w.Target, either(names(d.Targets, func(t Target) events.Target { return t.Name })))
	}
	count := cmp.Or(w.Sets, target.Sets)
	if count < 1 || count > maxSets {
		return Balance{}, fmt.Errorf("%d sets: use 1 to %d", count, maxSets)
	}
	if math.IsNaN(w.Tolerance) || w.Tolerance < 0 || w.Tolerance > 1 {
		return Balance{}, fmt.Errorf("a tolerance of %v: use a share from 0 to 1, such as 0.05", w.Tolerance)
	}
	shares, err := d.shares(w)
	if err != nil {
		return Balance{}, err
	}
	others, left := d.others(w, count)
	s := newSplit(shares, others, count)
	if err := s.fillable(); err != nil {
		return Balance{}, err
	}
	b := Balance{Target: w.Target, Before: lengthsBefore(shares, count), Shares: shares, Left: left}
	var best []int
	best, b.Optimal = s.shortest()
	assigned := best
	for best != nil {
		b.Shortest = s.longest(best)
		limit := b.Shortest + time.Duration(float64(b.Shortest)*w.Tolerance)
		assigned, b.Fewest = s.fewest(limit, best)
		best = nil
		if !b.Optimal {
			best = s.shorterFrom(assigned, shares, others, w.Tolerance)
		}
	}
	if b.Bound = s.bound(); b.Optimal {
		b.Bound = b.Shortest
	}
	b.After = s.lengths(assigned)
	for i, p := range s.pieces {
		b.Shares[p.share].To = events.Set(assigned[i])
		if b.Shares[p.share].Moved() && p.home >= 0 {
			b.Shares[p.share].Gain = s.without(assigned, i)
		}
	}
	return b, nil
}

// shares lists the benchmarks that count, with their lengths. To is their present set.
func (d Definitions) shares(w BalanceWish) ([]Share, error) {
	var shares []Share
	measured := map[Category][]time.Duration{}
	var all []time.Duration
	for _, b := range d.Benchmarks {
		if len(d.defaultCases(b, w.Target, w.For)) == 0 {
			continue
		}
		s := Share{Benchmark: b.Name, Category: b.Category, Timing: w.Timings[b.Name]}
		if set, placed := b.Sets[w.Target]; placed {
			s.From, s.To = &set, set
		}
		if s.Length, s.Assumed = s.Timing.Length, s.Timing.Length <= 0; !s.Assumed {
			measured[b.Category] = append(measured[b.Category], s.Length)
			all = append(all, s.Length)
		}
		shares = append(shares, s)
	}
	switch {
	case len(shares) == 0:
		return nil, fmt.Errorf("%s requests measure no benchmark of suite %s that is split into sets: plan for another kind of request", w.For, d.Name)
	case len(all) == 0:
		return nil, fmt.Errorf("no benchmark that %s requests measure has a known duration on %s: benchmark an artifact there first, or give durations of such benchmarks in a file",
			w.For, w.Target)
	}
	for i := range shares {
		if s := &shares[i]; s.Assumed {
			list := measured[s.Category]
			if len(list) == 0 {
				list = all
			}
			s.Length = median(list)
		}
	}
	return shares, nil
}

// others returns which of the count sets hold benchmarks that do not count, and the benchmarks among those that are in
// none of the sets.
func (d Definitions) others(w BalanceWish, count int) (held map[int]bool, left []events.Benchmark) {
	held = map[int]bool{}
	for _, b := range d.Benchmarks {
		k, _ := d.Kind(b.Kind)
		if !k.PerSet || len(d.defaultCases(b, w.Target, w.For)) > 0 {
			continue
		}
		if set, placed := b.Sets[w.Target]; placed && int(set) < count {
			held[int(set)] = true
		} else {
			left = append(left, b.Name)
		}
	}
	return held, left
}

// lengthsBefore returns how long the present sets take. A benchmark without a set is in none of them.
func lengthsBefore(shares []Share, count int) []time.Duration {
	lengths := make([]time.Duration, count)
	for _, s := range shares {
		if s.From == nil {
			continue
		}
		for int(*s.From) >= len(lengths) {
			lengths = append(lengths, 0)
		}
		lengths[*s.From] += s.Length
	}
	return lengths
}

// median returns the middle of a list that is not empty, or the mean of the two in the middle.
func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return low + (high-low)/2
}
