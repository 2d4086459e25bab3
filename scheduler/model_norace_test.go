//go:build !race

package scheduler

// modelLives is how many random worlds are run.
const modelLives = 10_000
