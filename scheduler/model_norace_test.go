//go:build !race

package scheduler

import "time"

// modelLives is how many random worlds the test runs.
const modelLives = 5_000

// poolLives is how many random pools the test runs; the large one has so many machines and jobs.
const (
	poolLives    = 100
	poolMachines = 100
	poolJobs     = 5000
)

// graphWorlds is how many random farms with graphs the test plays.
const graphWorlds = 10_000

// keepWorlds is how many random farms the test of the jobs of requests plays.
const keepWorlds = 60

// freshWithin is how long 1,000 jobs that were done before may take.
const freshWithin = 2 * time.Second
