package compare

import (
	"cmp"
	"math"
	"slices"
)

// stratum is two neighbouring pairs, or the one that is left over at the end: what was measured within a short time.
type stratum struct {
	a, b []float64
	// weight says how much the stratum counts, from 1 to maxWeight. It follows from the values alone, not from which side had
	// them, so that the test stays exact.
	weight int
}

const (
	// maxWeight is the weight of a quiet stratum, and how many times more it counts than the loudest.
	maxWeight = 8
	// exactStrata is up to how many strata the distribution of the test is computed in full. Beyond, it is as good as normal.
	exactStrata = 400
)

// stratify divides pairs into strata and weighs these.
func stratify(pairs []Pair) []stratum {
	strata := make([]stratum, 0, (len(pairs)+1)/2)
	for two := range slices.Chunk(pairs, 2) {
		var s stratum
		for _, p := range two {
			s.a, s.b = append(s.a, p.A), append(s.b, p.B)
		}
		strata = append(strata, s)
	}
	weigh(strata)
	return strata
}

// weigh gives strata their weights: the inverse of the spread where they lie, beside the spread of the quiet quarter. The spread
// of a place is that of the neighbours of the stratum, and not its own: strata whose sides happen to lie close together would
// count more, and the estimate would come out too small.
func weigh(strata []stratum) {
	spreads := make([]float64, len(strata))
	for i, s := range strata {
		spreads[i] = s.spread()
	}
	around := make([]float64, len(strata))
	for i := range strata {
		near := slices.Concat(spreads[max(0, i-1):i], spreads[i+1:min(i+2, len(strata))])
		slices.Sort(near)
		if len(near) > 0 {
			around[i] = median(near)
		}
	}
	sorted := slices.Sorted(slices.Values(around))
	quiet := 0.0
	if len(sorted) > 0 {
		quiet = sorted[len(sorted)/4]
	}
	for i := range strata {
		strata[i].weight = maxWeight
		if around[i] > 0 {
			strata[i].weight = int(math.Round(min(max(quiet/around[i]*maxWeight, 1), maxWeight)))
		}
	}
}

// spread returns how far apart the values of a stratum are, relative to their middle. The middle of values that are nearly zero may
// be zero.
func (s stratum) spread() float64 {
	all := slices.Sorted(slices.Values(append(slices.Clone(s.a), s.b...)))
	if all[0] == all[len(all)-1] {
		return 0
	}
	return min((all[len(all)-1]-all[0])/median(all), math.MaxFloat64)
}

// wins returns twice the number of pairs of a value of a and one of b in which that of b is larger; a tie counts once.
func wins(a, b []float64) (n int) {
	for _, x := range a {
		for _, y := range b {
			n += 1 + cmp.Compare(y, x)
		}
	}
	return n
}

// nulls returns wins for each way in which the values of a stratum could have fallen to the two sides. Under the hypothesis
// that the sides do not differ, all of these ways are equally likely.
func (s stratum) nulls() []int {
	all := append(slices.Clone(s.a), s.b...)
	switch {
	case !tied(all):
		return untied(s)
	case len(all) == 2:
		return []int{1, 1}
	}
	var out []int
	for i := range all {
		for j := range i {
			var a, b []float64
			for k, v := range all {
				if k == i || k == j {
					b = append(b, v)
				} else {
					a = append(a, v)
				}
			}
			out = append(out, wins(a, b))
		}
	}
	return out
}

// tied reports whether two of the values are equal.
func tied(values []float64) bool {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return true
		}
	}
	return false
}

// middle is what wins has in the middle: half of its most.
func (s stratum) middle() int { return len(s.a) * len(s.b) }

// null is the distribution of the distance of the weighted sum of wins from its middle, under the hypothesis that the sides do
// not differ.
type null struct {
	// tail[d] is the probability of a distance of at least d; nil if deviation stands for it.
	tail      []float64
	deviation float64
}

// nullOf returns the distribution for strata, whose wins can be those of outcomes.
func nullOf(strata []stratum, outcomes func(stratum) []int) null {
	most, variance := 0, 0.0
	for _, s := range strata {
		most += s.weight * s.middle()
		ways, squares := outcomes(s), 0.0
		for _, w := range ways {
			d := float64(s.weight * (w - s.middle()))
			squares += d * d
		}
		variance += squares / float64(len(ways))
	}
	if len(strata) > exactStrata {
		return null{deviation: math.Sqrt(variance)}
	}
	// at[most+d] is the probability of the distance d, with its sign.
	at, next := make([]float64, 2*most+1), make([]float64, 2*most+1)
	at[most] = 1
	reach := 0
	for _, s := range strata {
		ways := outcomes(s)
		share := 1 / float64(len(ways))
		for d := -reach; d <= reach; d++ {
			if p := at[most+d] * share; p > 0 {
				for _, w := range ways {
					next[most+d+s.weight*(w-s.middle())] += p
				}
			}
		}
		at, next = next, at
		clear(next)
		reach += s.weight * s.middle()
	}
	tail := make([]float64, most+2)
	for d := most; d >= 0; d-- {
		tail[d] = tail[d+1] + at[most+d]
		if d > 0 {
			tail[d] += at[most-d]
		}
	}
	return null{tail: tail}
}

// p returns the probability of a distance of at least d.
func (n null) p(d int) float64 {
	switch {
	case d <= 0:
		return 1
	case n.tail == nil && n.deviation == 0, n.tail != nil && d >= len(n.tail):
		return 0
	case n.tail == nil:
		return math.Erfc(float64(d) / n.deviation / math.Sqrt2)
	}
	return min(n.tail[d], 1)
}

// critical returns the smallest distance whose probability is at most level; false if there is none.
func (n null) critical(level float64, most int) (int, bool) {
	d := 1 + largest(most, func(d int) bool { return n.p(d) > level })
	return d, d <= most
}

// The wins of a stratum of one pair and of two, when all values are different.
var one, two = []int{0, 2}, []int{0, 2, 4, 4, 6, 8}

func untied(s stratum) []int {
	if len(s.a) == 1 {
		return one
	}
	return two
}

// differInTurns returns the two-sided p-value of van Elteren's test on the strata. without is their distribution without ties.
func differInTurns(strata []stratum, without null) float64 {
	d := 0
	for _, s := range strata {
		d += s.weight * (wins(s.a, s.b) - s.middle())
	}
	if slices.ContainsFunc(strata, func(s stratum) bool { return tied(append(slices.Clone(s.a), s.b...)) }) {
		without = nullOf(strata, stratum.nulls)
	}
	return without.p(max(d, -d))
}

// shift is b/a of one value of each side in one stratum, and what it counts.
type shift struct {
	ratio  float64
	weight int
}

// shifts returns the ratios of all pairs of values within the strata, ascending.
func shifts(strata []stratum) (out []shift, weight int) {
	for _, s := range strata {
		for _, x := range s.a {
			for _, y := range s.b {
				out = append(out, shift{y / x, s.weight})
				weight += s.weight
			}
		}
	}
	slices.SortFunc(out, func(x, y shift) int { return cmp.Compare(x.ratio, y.ratio) })
	return out, weight
}

// estimate returns the Hodges-Lehmann estimate of b/a: the ratio at which the test sees nothing, and the interval of all ratios
// that the test at level does not refuse; nil if the strata are too few for that. without is their distribution without ties.
func estimate(strata []stratum, without null, level float64) (ratio float64, interval *Interval) {
	sorted, total := shifts(strata)
	// below is the weight of the ratios up to and with number i. Where the ratio is larger than those and smaller than the next,
	// the sum of wins is 2·(total − below), and its distance from the middle is total − 2·below.
	below := make([]int, len(sorted))
	sum := 0
	for i, s := range sorted {
		sum += s.weight
		below[i] = sum
	}
	low, _ := slices.BinarySearch(below, (total+1)/2)
	ratio = sorted[low].ratio
	if 2*below[low] == total {
		ratio = (sorted[low].ratio + sorted[low+1].ratio) / 2
	}
	most := 0
	for _, s := range strata {
		most += s.weight * s.middle()
	}
	critical, ok := without.critical(level, most)
	if !ok {
		return ratio, nil
	}
	accepted := func(i int) bool { d := total - 2*below[i]; return max(d, -d) < critical }
	first := slices.IndexFunc(below, func(b int) bool { return total-2*b < critical })
	last := first
	for last+1 < len(sorted) && accepted(last) {
		last++
	}
	return ratio, &Interval{Low: sorted[first].ratio, High: sorted[last].ratio}
}
