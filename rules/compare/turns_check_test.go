//go:build !soak

package compare_test

// turnsPlayed is how many comparisons each simulation plays; make soak plays a hundred times as many.
const turnsPlayed = 200
