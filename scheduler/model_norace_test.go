//go:build !race && !soak

package scheduler

import "time"

// How many random worlds the tests play in each check. make soak plays many times as many.
const (
	modelLives  = 400
	graphWorlds = 400
	keepWorlds  = 15
)

// poolLives is how many random pools the test runs; the large one has so many machines and jobs.
const (
	poolLives    = 10
	poolMachines = 100
	poolJobs     = 5000
)

// reuseWorlds is how many random worlds TestRandomReuse plays, and previewEvery how many steps lie between two previews.
const (
	reuseWorlds  = 10
	previewEvery = 2
)

// freshWithin is how long 1,000 jobs that were done before may take.
const freshWithin = 2 * time.Second
