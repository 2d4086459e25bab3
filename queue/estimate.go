package queue

import (
	"container/heap"
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
	// Overrun reports that the request runs longer than expected: a running job is past its expected length,
	// so that what remains of it is taken as 0, and End, like all that follows, moves back as time passes.
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
func Estimate(places []Place, plans map[events.RequestID]Plan, now time.Time, maxInProgress int) []Forecast {
	s := &simulation{now: now, begin: now, idle: now, last: now, free: make(map[events.Lane]time.Time)}
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
	// begin is when the last request began: requests begin in queue order.
	begin time.Time
	// free is when each lane is done with all requests so far; lanes that are missing are free at idle.
	free map[events.Lane]time.Time
	// idle is the end of the last request that took all lanes.
	idle time.Time
	// last is when the last of all requests so far ends.
	last time.Time
	// ends holds when the requests that are in progress at begin end, soonest first.
	ends timeHeap
}

// occupy keeps lanes busy with the running jobs of a request in progress.
func (s *simulation) occupy(plan Plan) {
	mean, ok := meanLength(plan)
	if !ok {
		return
	}
	for _, w := range plan.Lanes {
		if w.Running != nil {
			rest, _ := remaining(w.Running, mean)
			s.free[w.Lane] = later(s.freeAt(w.Lane), s.now.Add(rest))
		}
	}
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
		s.finish(f, s.now)
	case !ok:
		elapsed := longestRun(plan)
		if f.Start != nil {
			elapsed = max(elapsed, s.now.Sub(*f.Start))
		}
		f.Guessed, f.Overrun = true, elapsed > Fallback
		s.takeAll(f, s.last, max(Fallback-max(elapsed, 0), 0))
	default:
		for _, w := range plan.Lanes {
			if w.Running != nil {
				_, over := remaining(w.Running, mean)
				f.Overrun = f.Overrun || over
			}
		}
		s.finish(f, s.work(plan, mean, s.now))
	}
}

// start estimates a request that has not started, once there is room for it among limit.
func (s *simulation) start(f *Forecast, plan Plan, known bool, limit int) {
	for len(s.ends) >= limit {
		s.begin = later(s.begin, heap.Pop(&s.ends).(time.Time))
	}
	begin := s.begin
	f.Start = &begin
	mean, ok := meanLength(plan)
	switch {
	case known && !hasJobs(plan):
		s.finish(f, begin)
	case !ok:
		f.Guessed = true
		s.takeAll(f, later(begin, s.last), Fallback)
	default:
		s.finish(f, s.work(plan, mean, begin))
	}
}

// work does the queued jobs of a plan on its lanes, none before begin, and returns when the last job ends.
func (s *simulation) work(plan Plan, mean time.Duration, begin time.Time) time.Time {
	end := begin
	for _, w := range plan.Lanes {
		if w.Running == nil && len(w.Queued) == 0 {
			continue
		}
		t := later(begin, s.freeAt(w.Lane))
		for _, job := range w.Queued {
			t = t.Add(length(job, mean))
		}
		s.free[w.Lane] = t
		end = later(end, t)
	}
	return end
}

// takeAll makes a request take all lanes for so long, none before begin.
func (s *simulation) takeAll(f *Forecast, begin time.Time, long time.Duration) {
	s.finish(f, begin.Add(long))
	s.idle = *f.End
}

// finish notes when a request ends.
func (s *simulation) finish(f *Forecast, end time.Time) {
	f.End = &end
	s.last = later(s.last, end)
	heap.Push(&s.ends, end)
}

func (s *simulation) freeAt(l events.Lane) time.Time { return later(s.free[l], s.idle) }

// remaining returns what is left of a running job, and whether it has run longer than expected.
func remaining(r *RunningJob, mean time.Duration) (time.Duration, bool) {
	rest := length(r.Expected, mean) - max(r.Elapsed, 0)
	return max(rest, 0), rest < 0
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

// timeHeap holds times, the soonest on top.
type timeHeap []time.Time

func (h timeHeap) Len() int           { return len(h) }
func (h timeHeap) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h timeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push appends a time.Time, as [heap.Interface] wants it.
func (h *timeHeap) Push(x any) { *h = append(*h, x.(time.Time)) }

// Pop takes the last time off, as [heap.Interface] wants it.
func (h *timeHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
