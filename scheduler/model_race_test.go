//go:build race

package scheduler

// modelLives is how many random worlds are run under the race detector, which finds little where each world has one
// goroutine and makes it ten times slower.
const modelLives = 100
