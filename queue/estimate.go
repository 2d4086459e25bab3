package queue

import (
	"container/heap"
	"math"
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
	// Running is the job that the lane's collector executes now; nil when it executes none of this request.
	Running *RunningJob
	// Queued holds what each job that has not begun is expected to take, in order.
	Queued []Expected
}

// RunningJob is a job that is being executed.
type RunningJob struct {
	// Elapsed is how long it has been running.
	Elapsed time.Duration
	// Expected is how long it should take in all.
	Expected Expected
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
}

// Estimate plays the queue forward from now, and returns a forecast per place, in the same order.
//
// plans holds the work that is left by request; a request without a plan is one of which nothing is known.
// At most maxInProgress requests are in progress at once, and at least 1: a request starts when one ahead of it
// ends and makes room. Each lane does the work of the requests in queue order; lanes work side by side, and
// a request ends with its last lane. What a job with unknown length will take is the mean of the known ones
// of its request. If none is known, the whole request takes [Fallback], all lanes to itself.
//
// Of requests that wait for artifacts nothing is known, neither start nor end.
//
// The ranges follow the same play, with mean and variance instead of lengths: see point for how the spreads of
// jobs add up, and lastOf for the lanes. A running job that is past its expected length may go on for as long
// again. What follows a request with an unknown spread has an unknown spread itself.
func Estimate(places []Place, plans map[events.RequestID]Plan, now time.Time, maxInProgress int) []Forecast {
	s := &simulation{
		now: now, floor: now, begin: sure(now), idle: sure(now), last: sure(now), free: make(map[events.Lane]point),
	}
	// What runs now runs to its end first, whatever is ahead of its request.
	for _, p := range places {
		if p.State == events.InProgress {
			s.occupy(plans[p.ID])
		}
	}
	forecasts := make([]Forecast, len(places))
	for i, p := range places {
		forecasts[i].ID = p.ID
		if p.State == events.WaitingForArtifacts || p.State.Terminal() {
			continue
		}
		plan, known := plans[p.ID]
		if p.State == events.InProgress {
			s.carryOn(&forecasts[i], p, plan, known)
		} else {
			s.start(&forecasts[i], plan, known, max(maxInProgress, 1))
		}
	}
	return forecasts
}

// simulation is the state of the farm as the queue is played forward.
type simulation struct {
	now time.Time
	// begin is when the last request began: requests begin in queue order. It is not before floor.
	begin point
	floor time.Time
	// free is when each lane is done with all requests so far; lanes that are missing are free at idle.
	free map[events.Lane]point
	// idle is the end of the last request that took all lanes.
	idle point
	// last is when the last of all requests so far ends.
	last point
	// ends holds when the requests that are in progress at begin end, soonest first.
	ends endHeap
	// room is what loads are added up in.
	room loads
}

// occupy keeps lanes busy with the running jobs of a request in progress.
func (s *simulation) occupy(plan Plan) {
	mean, ok := meanLength(plan)
	if !ok {
		return
	}
	for _, w := range plan.Lanes {
		if w.Running != nil {
			s.free[w.Lane] = laterOf(s.freeAt(w.Lane), sure(s.now).plus(s.rest(w.Running, mean)))
		}
	}
}

// rest is what is left of a running job.
func (s *simulation) rest(r *RunningJob, mean time.Duration) load {
	rest := remaining(r, mean)
	e := r.Expected
	e.Spread = max(e.Spread, -rest)
	s.room.reset()
	s.room.add(e, max(rest, 0))
	return s.room.total()
}

// carryOn estimates a request that is in progress.
func (s *simulation) carryOn(f *Forecast, p Place, plan Plan, known bool) {
	if !p.StartedAt.IsZero() {
		start := p.StartedAt
		f.Start = &start
	}
	mean, ok := meanLength(plan)
	switch {
	case known && !hasJobs(plan):
		s.finish(f, sure(s.now), s.now)
	case !ok:
		elapsed := longestRun(plan)
		if f.Start != nil {
			elapsed = max(elapsed, s.now.Sub(*f.Start))
		}
		f.Guessed, f.Overrun = true, elapsed > Fallback
		s.takeAll(f, s.last, s.now, max(Fallback-max(elapsed, 0), 0))
	default:
		for _, w := range plan.Lanes {
			f.Overrun = f.Overrun || w.Running != nil && remaining(w.Running, mean) < -w.Running.Expected.margin()
		}
		s.finish(f, s.work(plan, mean, sure(s.now)), s.now)
	}
}

// start estimates a request that has not started, once there is room for it among limit.
func (s *simulation) start(f *Forecast, plan Plan, known bool, limit int) {
	for len(s.ends) >= limit {
		s.begin = laterOf(s.begin, heap.Pop(&s.ends).(point))
	}
	begin := s.begin.at
	f.Start = &begin
	f.StartEarliest, f.StartLatest = s.begin.bounds(s.floor)
	if f.StartEarliest != nil {
		s.floor = *f.StartEarliest
	}
	mean, ok := meanLength(plan)
	switch {
	case known && !hasJobs(plan):
		s.finish(f, s.begin, s.floor)
	case !ok:
		f.Guessed = true
		s.takeAll(f, laterOf(s.begin, s.last), s.floor, Fallback)
	default:
		s.finish(f, s.work(plan, mean, s.begin), s.floor)
	}
}

// work does the queued jobs of a plan on its lanes, none before begin, and returns when the last job ends.
func (s *simulation) work(plan Plan, mean time.Duration, begin point) point {
	end, worked := begin, false
	for _, w := range plan.Lanes {
		if w.Running == nil && len(w.Queued) == 0 {
			continue
		}
		s.room.reset()
		for _, job := range w.Queued {
			s.room.add(job, length(job, mean))
		}
		t := laterOf(begin, s.freeAt(w.Lane)).plus(s.room.total())
		s.free[w.Lane] = t
		if !worked {
			end, worked = t, true
			continue
		}
		end = lastOf(begin, end, t)
	}
	return end
}

// takeAll makes a request take all lanes for so long, none before begin.
func (s *simulation) takeAll(f *Forecast, begin point, floor time.Time, long time.Duration) {
	end := begin.plus(load{length: long, vague: true})
	s.finish(f, end, floor)
	s.idle = end
}

// finish notes when a request ends, which is not before floor.
func (s *simulation) finish(f *Forecast, end point, floor time.Time) {
	at := end.at
	f.End = &at
	f.EndEarliest, f.EndLatest = end.bounds(floor)
	s.last = laterOf(s.last, end)
	heap.Push(&s.ends, end)
}

func (s *simulation) freeAt(l events.Lane) point {
	if free, known := s.free[l]; known {
		return laterOf(free, s.idle)
	}
	return s.idle
}

// remaining returns what is left of a running job; negative when it has run longer than expected.
func remaining(r *RunningJob, mean time.Duration) time.Duration {
	return length(r.Expected, mean) - max(r.Elapsed, 0)
}

// margin is how much longer than expected a job may take without surprise: one of ten does.
func (e Expected) margin() time.Duration {
	if !e.Ranged {
		return 0
	}
	return time.Duration(width * math.Hypot(float64(e.Spread), float64(e.Doubt)))
}

func length(e Expected, mean time.Duration) time.Duration {
	if !e.Known {
		return mean
	}
	return max(e.Length, 0)
}

// meanLength returns the mean of the lengths that a plan knows, and whether there are any.
func meanLength(plan Plan) (time.Duration, bool) {
	var sum time.Duration
	n := 0
	add := func(e Expected) {
		if e.Known {
			sum += max(e.Length, 0)
			n++
		}
	}
	for _, w := range plan.Lanes {
		if w.Running != nil {
			add(w.Running.Expected)
		}
		for _, e := range w.Queued {
			add(e)
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / time.Duration(n), true
}

func hasJobs(plan Plan) bool {
	for _, w := range plan.Lanes {
		if w.Running != nil || len(w.Queued) > 0 {
			return true
		}
	}
	return false
}

func longestRun(plan Plan) time.Duration {
	var longest time.Duration
	for _, w := range plan.Lanes {
		if w.Running != nil {
			longest = max(longest, w.Running.Elapsed)
		}
	}
	return longest
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// endHeap holds ends of requests, the soonest on top.
type endHeap []point

func (h endHeap) Len() int           { return len(h) }
func (h endHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h endHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push appends a point, as [heap.Interface] wants it.
func (h *endHeap) Push(x any) { *h = append(*h, x.(point)) }

// Pop takes the last point off, as [heap.Interface] wants it.
func (h *endHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
