//go:build !race

package scheduler

// modelLives is how many random worlds the test runs.
const modelLives = 10_000
