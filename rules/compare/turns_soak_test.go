//go:build soak

package compare_test

// turnsPlayed is how many comparisons each simulation plays.
const turnsPlayed = 20_000
