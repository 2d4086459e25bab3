package compare

import (
	"cmp"
	"slices"

	"golang.org/x/perf/benchmath"
)

// alpha is the level of the test: of the changes called significant, at most this share is expected to be
// false.
const alpha = 0.05

// differ returns the p-value of the two-sided Mann-Whitney test, or nil when there are too few samples to reach alpha.
// Neither sample may be empty.
func differ(a, b sample) *float64 {
	if smallestP(a.N, b.N) > alpha {
		return nil
	}
	p := min(max(benchmath.AssumeNothing.Compare(a.sorted, b.sorted).P, 0), 1)
	return &p
}

// smallestP returns 2/C(n1+n2, n1): the p-value of two samples that do not overlap at all, at most 1.
func smallestP(n1, n2 int) float64 {
	p := 2.0
	for i := 1; i <= n1 && p > 0; i++ {
		p *= float64(i) / float64(n2+i)
	}
	return min(p, 1)
}

// samplesNeeded returns the smallest n for which n+n samples can give a p-value of at most p. p must be above zero.
func samplesNeeded(p float64) int {
	n := 1
	for smallestP(n, n) > p {
		n++
	}
	return n
}

// adjust returns the p-values after Benjamini and Hochberg, in the order given: sorted ascending, p₍ᵢ₎
// becomes the minimum over j ≥ i of p₍ⱼ₎·m/j, at most 1.
func adjust(ps []float64) []float64 {
	m := len(ps)
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	adjusted := make([]float64, m)
	smallest := 1.0
	for rank := m; rank >= 1; rank-- {
		i := order[rank-1]
		smallest = min(smallest, ps[i]*(float64(m)/float64(rank)))
		adjusted[i] = smallest
	}
	return adjusted
}
