package queue

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Fallback is the assumed length of a request when the length of none of its jobs is known.
const Fallback = time.Hour

// Plan is the remaining work of one request. A plan without jobs means that nothing is left.
type Plan struct {
	Lanes []LaneWork
}

// LaneWork is the remaining work of one request on one lane.
type LaneWork struct {
	// Lane is zero for jobs that may run on several lanes and can run on none.
	Lane events.Lane
	// Unmanned lanes have no collector that begins jobs.
	Unmanned bool
	// Running is the request's job that the lane's collector executes now; nil when it executes none of this request.
	Running *RunningJob
	// Queued holds the jobs that have not begun, in order.
	Queued []Job
}

// Job is a job that has not begun, with the time that it is expected to take.
type Job struct {
	Expected
	// Optional jobs keep their lane busy, but no request waits for them.
	Optional bool
	// Number names the job in its plan, for those that wait for it; 0 for none. It begins when the jobs of After have ended;
	// numbers that the plan does not have are those of jobs that have.
	Number int
	After  []int
}

// RunningJob is a job that is being executed.
type RunningJob struct {
	// Elapsed is how long it has been running.
	Elapsed time.Duration
	// Expected is how long it should take in all.
	Expected Expected
	Optional bool
	// Number is as in Job.
	Number int
}

// Farm describes what the queue runs on.
type Farm struct {
	// Now is when the play begins.
	Now time.Time
	// MaxInProgress is how many requests are in progress at once, at least 1.
	MaxInProgress int
	// Left is the remaining work of requests that have ended: their optional jobs still run, before the jobs of
	// requests that start later.
	Left Plan
}

// Forecast is the estimate for one place.
type Forecast struct {
	ID events.RequestID
	// Start and End are when the request starts and when its last job ends; nil when unknown. The start of a request in
	// progress is the time when it started.
	Start, End *time.Time
	// With four chances in five the request starts and ends in these ranges; nil when unknown, and for a start that is
	// already known.
	StartEarliest, StartLatest *time.Time
	EndEarliest, EndLatest     *time.Time
	// Overrun reports that the request runs longer than expected: a running job is past its expected length, and past
	// the range around that if the range is known. A job past its expected length counts as having 0 left, so End and
	// all later estimates move back as time passes.
	Overrun bool
	// Guessed reports that the length of no job was known, so [Fallback] was assumed for the request.
	Guessed bool
	// NoEnd says in words why End is nil: a required job of this request, or of one that it waits for, is on a lane
	// that no collector serves. Empty when End is known, and when nothing is known about the request.
	NoEnd string
}

// Estimate plays the queue forward from now, and returns a forecast per place, in the same order.
//
// plans holds the remaining work of each request; nothing is known about a request without a plan. The farm limits how
// many requests are in progress at once: a request starts when one ahead of it ends and makes room. Each lane does the
// work of the requests in queue order, and the lanes work side by side. A job that waits for others lets those behind it on
// its lane go first. A request ends with the last of its required
// jobs. Optional jobs take their turn on their lanes; those that are left at that end come before the jobs of later
// requests. A job of unknown length takes the mean of the known lengths of its request. If none is known, the whole
// request takes [Fallback], and all lanes.
//
// A request with a required job that no collector executes has no end, and makes no room for others.
//
// Requests that wait for artifacts get neither start nor end.
//
// The ranges come from the same play, with mean and variance instead of lengths: see point for how the spreads of jobs
// add up, and lastOf for the lanes. The spread of a running job that is past its expected length is at least the time
// by which it is past. Whatever waits for a request with an unknown spread has an unknown spread too.
func Estimate(places []Place, plans map[events.RequestID]Plan, farm Farm) []Forecast {
	s := newSimulation(farm.Now)
	// Jobs that run now run to their end first, whatever is ahead of their request.
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
