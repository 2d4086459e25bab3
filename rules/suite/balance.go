package suite

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// BalanceWish says what is to be balanced.
type BalanceWish struct {
	Target events.Target
	// Sets is into how many sets the benchmarks are split; 0 keeps the number that the target has.
	Sets int
	// For is the kind of request whose benchmarks are balanced: the jobs of one request run at the same time.
	For events.RequestKind
	// Tolerance is how much longer than the shortest possible the longest set may be, as a share (0.05 is 5 %).
	Tolerance float64
	// Timings are what was measured; a benchmark that is missing was not.
	Timings map[events.Benchmark]Timing
}

// Balance is a proposal of sets for one target.
type Balance struct {
	Target events.Target
	// Before and After are how long each set takes; Before has as many entries as there were sets.
	Before, After []time.Duration
	// Shortest is the shortest longest set that was found, Bound what no split can go below; when they are
	// equal, or Optimal is set, there is no shorter one.
	Shortest, Bound time.Duration
	Optimal         bool
	// Fewest reports that no proposal within the tolerance has fewer moves, or as many and loses less. It is
	// not set when the search ended before it had seen all.
	Fewest bool
	// Shares are all benchmarks that count, in the order of the definitions.
	Shares []Share
	// Left are benchmarks that do not count and have no set, or one that is no more. They need a plan of their own.
	Left []events.Benchmark
}

// Share is the place of one benchmark in a proposal.
type Share struct {
	Benchmark events.Benchmark
	Category  Category
	// Length is how long the set takes for it. Assumed says that it was not measured, and that the median of
	// its category stands for it; such a benchmark stays where it is.
	Length  time.Duration
	Assumed bool
	// From is the set that it has; nil when it has none. To is the one proposed.
	From *events.Set
	To   events.Set
	// Timing is what is known of it, and so what a move costs.
	Timing Timing
	// Gain is how much longer the longest set would be if this move alone were left out.
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

// Balance proposes sets for the benchmarks that requests of one kind measure on one target. The longest set
// takes at most the tolerance more than the shortest that was found; among those the proposal has the fewest
// moves, then loses the fewest measured results, then has the shortest longest set. It depends on nothing
// but its input. The other benchmarks of the target keep their sets and count nothing.
//
// Of small inputs the proposal is the best there is; of large ones the best that a search of fixed size has
// found. It is never worse than what the definitions have, and leaves sets alone that are balanced already:
// what it proposed it does not move again.
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

// shares lists the benchmarks that count, with their lengths; To is where each stays unless it moves.
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

// others returns which of count sets hold benchmarks that do not count, and those that are in none of them.
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

// lengthsBefore returns how long the sets take that there are; a benchmark without a set counts nowhere.
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
