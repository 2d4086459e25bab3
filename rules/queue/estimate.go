package queue

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Fallback is how long a request is taken to last when no length of any of its jobs is known.
const Fallback = time.Hour

// Plan is the work that is left of one request. A plan without jobs says that nothing is left.
type Plan struct {
	Lanes []LaneWork
}

// LaneWork is what is left of one request on one lane.
type LaneWork struct {
	Lane events.Lane
	// Unmanned lanes have no collector that begins jobs.
	Unmanned bool
	// Running is the job that the lane's collector executes now; nil when it executes none of this request.
	Running *RunningJob
	// Queued holds the jobs that have not begun, in order.
	Queued []Job
}

// Job is a job that has not begun: what it is expected to take.
type Job struct {
	Expected
	// Optional jobs keep their lane busy. No request waits for them.
	Optional bool
}

// RunningJob is a job that is being executed.
type RunningJob struct {
	// Elapsed is how long it has been running.
	Elapsed time.Duration
	// Expected is how long it should take in all.
	Expected Expected
	Optional bool
}

// Farm is what the queue runs on.
type Farm struct {
	// Now is when the play begins.
	Now time.Time
	// MaxInProgress is how many requests are in progress at once, at least 1.
	MaxInProgress int
	// Left is what is left of requests that have ended: their optional jobs are done all the same, before those of
	// requests that start later.
	Left Plan
}

// Forecast is the estimate for one place.
type Forecast struct {
	ID events.RequestID
	// Start and End are when the request becomes in progress and when its last job ends; nil when unknown.
	// The start of a request in progress is the time when it started.
	Start, End *time.Time
	// Four times of five the request starts and ends between these; nil when unknown, and where the start is
	// no estimate.
	StartEarliest, StartLatest *time.Time
	EndEarliest, EndLatest     *time.Time
	// Overrun reports that the request runs longer than expected: a running job is past its expected length, and
	// past the range around it where that is known. What remains of a job that is past its expected length is
	// taken as 0, and End, like all that follows, moves back as time passes.
	Overrun bool
	// Guessed reports that no length of any job was known, so that the request was taken to last [Fallback].
	Guessed bool
	// NoEnd says in words why End is nil: a required job waits on a lane that nobody serves, of this request or of
	// one that it waits for. Empty where End is known, and where nothing is known of the request.
	NoEnd string
}

// Estimate plays the queue forward from now, and returns a forecast per place, in the same order.
//
// plans holds the work that is left by request; a request without a plan is one of which nothing is known.
// At most so many requests are in progress at once as the farm allows: a request starts when one ahead of it
// ends and makes room. Each lane does the work of the requests in queue order; lanes work side by side, and
// a request ends with the last of its required jobs: optional ones take their turn on their lanes, and what they
// have left then comes before the jobs of later requests. What a job with unknown length will take is the mean of the
// known ones of its request. If none is known, the whole request takes [Fallback], all lanes to itself.
//
// A request with a required job that nobody executes has no end, and makes no room for others.
//
// Of requests that wait for artifacts nothing is known, neither start nor end.
//
// The ranges follow the same play, with mean and variance instead of lengths: see point for how the spreads of
// jobs add up, and lastOf for the lanes. A running job that is past its expected length may go on for as long
// again. What follows a request with an unknown spread has an unknown spread itself.
func Estimate(places []Place, plans map[events.RequestID]Plan, farm Farm) []Forecast {
	s := newSimulation(farm.Now)
	// What runs now runs to its end first, whatever is ahead of its request.
	s.occupy(farm.Left)
	for _, p := range places {
		if p.State == events.StateInProgress {
			s.occupy(plans[p.ID])
		}
	}
	if mean, ok := meanLength(farm.Left); ok {
		s.work(farm.Left, mean, sure(s.now))
	}
	forecasts := make([]Forecast, len(places))
	for i, p := range places {
		forecasts[i].ID = p.ID
		if p.State == events.StateWaitingForArtifacts || p.State.Terminal() {
			continue
		}
		plan, known := plans[p.ID]
		if p.State == events.StateInProgress {
			s.carryOn(&forecasts[i], p, plan, known)
		} else {
			s.start(&forecasts[i], p, plan, known, max(farm.MaxInProgress, 1))
		}
	}
	return forecasts
}
