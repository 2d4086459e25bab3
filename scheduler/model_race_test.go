//go:build race

package scheduler

import "time"

// modelLives is how many random worlds the test runs under the race detector. There are few, because the detector makes
// the test ten times slower and finds little: each world has one goroutine.
const modelLives = 30

// poolLives is how many random pools the test runs; the large one has so many machines and jobs.
const (
	poolLives    = 6
	poolMachines = 10
	poolJobs     = 200
)

// graphWorlds is how many random farms with graphs the test plays.
const graphWorlds = 10

// keepWorlds is how many random farms the test of the jobs of requests plays under the race detector.
const keepWorlds = 4

// reuseWorlds is how many random worlds TestRandomReuse plays.
const reuseWorlds = 3

// freshWithin is how long 1,000 jobs that were done before may take under the race detector.
const freshWithin = 20 * time.Second
