package queue

import (
	"container/heap"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// simulation is the state of the farm while the queue is played forward.
type simulation struct {
	now time.Time
	// begin is when the last request began: requests begin in queue order. It is never before floor.
	begin point
	floor time.Time
	// free is when each lane is done with all requests so far. Lanes that are not in it are free at idle.
	free map[events.Lane]point
	// idle is the end of the last request that took all lanes.
	idle point
	// last is when the last of all requests so far ends.
	last point
	// ends holds when the requests that are in progress at begin end, soonest first.
	ends endHeap
	// stuck says why no further request can begin; empty while one can.
	stuck string
	// room is a buffer for adding up loads.
	room loads
}

func newSimulation(now time.Time) *simulation {
	return &simulation{
		now: now, floor: now, begin: sure(now), idle: sure(now), last: sure(now), free: make(map[events.Lane]point),
	}
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

// rest is the remaining load of a running job.
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
	if ok {
		f.Overrun = overruns(plan, mean)
	}
	switch why := unserved(plan); {
	case why != "" || known && !hasRequired(plan):
		s.aside(f, p, plan, sure(s.now), s.now, why)
	case !ok:
		elapsed := longestRun(plan)
		if f.Start != nil {
			elapsed = max(elapsed, s.now.Sub(*f.Start))
		}
		f.Guessed, f.Overrun = true, elapsed > Fallback
		s.takeAll(f, s.last, s.now, max(Fallback-max(elapsed, 0), 0))
	default:
		s.finish(f, s.work(plan, mean, sure(s.now)), s.now)
	}
}

// start estimates a request that has not started. It starts when fewer than limit requests are in progress.
func (s *simulation) start(f *Forecast, p Place, plan Plan, known bool, limit int) {
	for s.stuck == "" && len(s.ends) >= limit {
		next := heap.Pop(&s.ends).(ending)
		s.begin, s.stuck = laterOf(s.begin, next.point), next.never
	}
	if s.stuck != "" {
		f.NoEnd = s.stuck
		return
	}
	begin := s.begin.at
	f.Start = &begin
	f.StartEarliest, f.StartLatest = s.begin.bounds(s.floor)
	if f.StartEarliest != nil {
		s.floor = *f.StartEarliest
	}
	mean, ok := meanLength(plan)
	switch why := unserved(plan); {
	case why != "" || known && !hasRequired(plan):
		s.aside(f, p, plan, s.begin, s.floor, why)
	case !ok:
		f.Guessed = true
		s.takeAll(f, laterOf(s.begin, s.last), s.floor, Fallback)
	default:
		s.finish(f, s.work(plan, mean, s.begin), s.floor)
	}
}

// aside estimates a request that does not end with its work. Either it has no required jobs and ends when it begins, or
// it never ends and why says the reason.
func (s *simulation) aside(f *Forecast, p Place, plan Plan, begin point, floor time.Time, why string) {
	if mean, ok := meanLength(plan); ok {
		s.work(plan, mean, begin)
	}
	if why == "" {
		s.finish(f, begin, floor)
		return
	}
	f.NoEnd = why
	heap.Push(&s.ends, ending{never: fmt.Sprintf("`%s` ahead of it has no end: %s", name(p), why)})
}

func name(p Place) string {
	if p.Tag == "" {
		return string(p.ID)
	}
	return string(p.Tag)
}

// work does the queued jobs of a plan on its lanes, none before begin, and returns when the last required job ends.
func (s *simulation) work(plan Plan, mean time.Duration, begin point) point {
	if waits(plan) {
		return s.workInTurn(plan, mean, begin)
	}
	end, worked := begin, false
	for _, w := range plan.Lanes {
		if w.Unmanned {
			w.Queued = nil
		}
		if w.Running == nil && len(w.Queued) == 0 {
			continue
		}
		t := laterOf(begin, s.freeAt(w.Lane))
		needed, last := t, w.lastRequired()
		s.room.reset()
		for i := range w.Queued {
			s.room.add(w.Queued[i].Expected, length(w.Queued[i].Expected, mean))
			if i == last {
				needed = t.plus(s.room.total())
			}
		}
		if s.free[w.Lane] = needed; last < len(w.Queued)-1 {
			s.free[w.Lane] = t.plus(s.room.total())
		}
		switch {
		case last < 0 && (w.Running == nil || w.Running.Optional):
		case !worked:
			end, worked = needed, true
		default:
			end = lastOf(begin, end, needed)
		}
	}
	return end
}

// takeAll makes a request take all lanes for this long, none before begin.
func (s *simulation) takeAll(f *Forecast, begin point, floor time.Time, long time.Duration) {
	end := begin.plus(load{length: long, vague: true})
	s.finish(f, end, floor)
	s.idle = end
}

// finish notes when a request ends; never before floor.
func (s *simulation) finish(f *Forecast, end point, floor time.Time) {
	at := end.at
	f.End = &at
	f.EndEarliest, f.EndLatest = end.bounds(floor)
	s.last = laterOf(s.last, end)
	heap.Push(&s.ends, ending{point: end})
}

func (s *simulation) freeAt(l events.Lane) point {
	if free, known := s.free[l]; known {
		return laterOf(free, s.idle)
	}
	return s.idle
}

// remaining returns the time left of a running job; negative when it has run longer than expected.
func remaining(r *RunningJob, mean time.Duration) time.Duration {
	return length(r.Expected, mean) - max(r.Elapsed, 0)
}

// margin is how much longer than expected a job may take without being an overrun. One job of ten takes longer than
// that.
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
			add(e.Expected)
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / time.Duration(n), true
}

// hasRequired reports whether the plan has a required job left.
func hasRequired(plan Plan) bool {
	for _, w := range plan.Lanes {
		if w.Running != nil && !w.Running.Optional || w.lastRequired() >= 0 {
			return true
		}
	}
	return false
}

// lastRequired returns the index of the last required job that has not begun; -1 when there is none.
func (w *LaneWork) lastRequired() int {
	last := len(w.Queued) - 1
	for last >= 0 && w.Queued[last].Optional {
		last--
	}
	return last
}

// lanesNamed is how many of many lanes a sentence names.
const lanesNamed = 3

// unserved says which lanes have required jobs but no collector that begins them, or that there are required jobs for
// which there is no lane; empty when there are none.
func unserved(plan Plan) string {
	var lanes, words []string
	for _, w := range plan.Lanes {
		switch {
		case !w.Unmanned || w.lastRequired() < 0:
		case w.Lane == events.Lane{}:
			words = []string{"no machine that takes jobs can run all of its jobs"}
		default:
			lanes = append(lanes, w.Lane.String())
		}
	}
	if len(lanes) > 0 {
		named := strings.Join(lanes, " and ")
		if more := len(lanes) - lanesNamed; more > 1 {
			named = fmt.Sprintf("%s and %d more lanes", strings.Join(lanes[:lanesNamed], ", "), more)
		}
		words = append(words, "no collector serves "+named)
	}
	return strings.Join(words, "; ")
}

// overruns reports whether a required job has run longer than nine of ten jobs of its sort.
func overruns(plan Plan, mean time.Duration) bool {
	for _, w := range plan.Lanes {
		if r := w.Running; r != nil && !r.Optional && remaining(r, mean) < -r.Expected.margin() {
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

// ending is when a request in progress makes room for another one.
type ending struct {
	point
	// never says why the request never makes room; empty when it does.
	never string
}

// endHeap holds the ends of requests, soonest on top. Ends that never come are below all others.
type endHeap []ending

func (h endHeap) Len() int { return len(h) }
func (h endHeap) Less(i, j int) bool {
	if h[i].never != "" || h[j].never != "" {
		return h[i].never == "" || h[j].never != "" && h[i].never < h[j].never
	}
	return h[i].at.Before(h[j].at)
}
func (h endHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push appends an end, as [heap.Interface] requires.
func (h *endHeap) Push(x any) { *h = append(*h, x.(ending)) }

// Pop removes and returns the last end, as [heap.Interface] requires.
func (h *endHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
