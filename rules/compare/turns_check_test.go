//go:build !soak

package compare_test

// turnsPlayed is how many comparisons each simulation plays; make soak plays fifty times as many.
const turnsPlayed = 200
