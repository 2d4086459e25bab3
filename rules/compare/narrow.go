package compare

import (
	"math"
	"slices"
)

// narrowAlpha is how often, at most, the interval with which somebody stops does not hold the true median, over all looks.
const narrowAlpha = 0.05

// Narrow reports whether the samples of one test case are enough: the interval of their median reaches at most until, relative
// to the median, to each side. half is how far it reaches; infinite while nothing is known.
//
// It is a sequential rule: who measures until it says yes looks again and again, and would stop at a lucky moment. So it looks
// only at 7 samples and then at a third more each time, and look k has α/(k(k+1)) of α = 5 %. The interval is that of order
// statistics, which assumes nothing of the noise. Samples that are
// all equal are enough.
func Narrow(samples []float64, until float64) (narrow bool, half float64) {
	sorted := slices.DeleteFunc(slices.Clone(samples), func(v float64) bool { return !finite(v) })
	slices.Sort(sorted)
	n := len(sorted)
	if n < 2 {
		return false, math.Inf(1)
	}
	if sorted[0] == sorted[n-1] {
		return true, 0
	}
	look, looks := lookAt(n)
	k := float64(max(look, 1))
	low, high, ok := medianInterval(sorted, narrowAlpha/(k*(k+1)))
	middle := median(sorted)
	if !ok || middle <= 0 {
		return false, math.Inf(1)
	}
	half = max(high-middle, middle-low) / middle
	return looks && half <= until, half
}

// lookAt returns how many looks there are up to n samples, and whether n is one.
func lookAt(n int) (k int, is bool) {
	for at := 7; at <= n; at += (at + 2) / 3 {
		k, is = k+1, at == n
	}
	return k, is
}

// medianInterval returns the narrowest order statistics, equally far from both ends, that hold the median but for a
// probability of alpha; false if the samples are too few.
func medianInterval(sorted []float64, alpha float64) (low, high float64, ok bool) {
	n := len(sorted)
	// The chance that at most i of n samples lie below the median, on one side.
	tail, term := 0.0, math.Exp2(-float64(n))
	at := -1
	for i := range n / 2 {
		if tail += term; 2*tail > alpha {
			break
		}
		at = i
		term *= float64(n-i) / float64(i+1)
	}
	if at < 0 {
		return 0, 0, false
	}
	return sorted[at], sorted[n-1-at], true
}
