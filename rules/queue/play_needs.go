package queue

import (
	"slices"
	"time"
)

// waits reports whether a job of the plan waits for another one.
func waits(plan Plan) bool {
	return slices.ContainsFunc(plan.Lanes, func(w LaneWork) bool {
		return !w.Unmanned && slices.ContainsFunc(w.Queued, func(j Job) bool { return len(j.After) > 0 })
	})
}

// turns is the play of a plan whose jobs wait for each other.
type turns struct {
	*simulation
	mean  time.Duration
	lanes []turnLane
	// ends is when the jobs end that have one, by number. waiters are the jobs that wait for each other one.
	ends    map[int]point
	waiters map[int][]*task
}

// turnLane is a lane in such a play.
type turnLane struct {
	work LaneWork
	// free is when it is done with what it has begun, needed when with the last required job of it.
	free, needed point
	// does has worked once it has a required job. ready are the jobs that may begin, the next one first.
	does  bool
	ready []*task
	// next is the place in ready of the job that the lane begins next, and start when; they are found anew if stale is set.
	next  int
	start point
	stale bool
}

// task is a job that has not begun. place orders the jobs of a lane.
type task struct {
	Job
	lane, place, unmet int
	// from is when the last of those that it waits for ends.
	from point
}

// workInTurn does what work does for a plan whose jobs wait for each other: whenever a lane is free, it takes the first of its
// jobs that wait for none.
func (s *simulation) workInTurn(plan Plan, mean time.Duration, begin point) point {
	t := turns{simulation: s, mean: mean, ends: map[int]point{}, waiters: map[int][]*task{}}
	known := map[int]bool{}
	for _, w := range plan.Lanes {
		if w.Running != nil {
			known[w.Running.Number] = true
		}
		for _, j := range w.Queued {
			known[j.Number] = known[j.Number] || !w.Unmanned
		}
	}
	delete(known, 0)
	var ended []int // the running ones, whose lanes are free at their ends
	for _, w := range plan.Lanes {
		free := laterOf(begin, s.freeAt(w.Lane))
		lane := turnLane{work: w, free: free, needed: free, does: w.Running != nil && !w.Running.Optional}
		if w.Running != nil && w.Running.Number != 0 {
			t.ends[w.Running.Number] = free
			ended = append(ended, w.Running.Number)
		}
		t.lanes = append(t.lanes, lane)
		if w.Unmanned {
			continue
		}
		for place, j := range w.Queued {
			job := &task{Job: j, lane: len(t.lanes) - 1, place: place, from: begin}
			for _, on := range j.After {
				if known[on] {
					job.unmet++
					t.waiters[on] = append(t.waiters[on], job)
				}
			}
			if job.unmet == 0 {
				t.enter(job)
			}
		}
	}
	for _, number := range ended {
		t.end(number)
	}
	for t.step() {
	}
	return t.close(begin)
}

// enter notes that a job may begin once the time has come.
func (t *turns) enter(job *task) {
	lane := &t.lanes[job.lane]
	at, _ := slices.BinarySearchFunc(lane.ready, job, func(a, b *task) int { return a.place - b.place })
	lane.ready, lane.stale = slices.Insert(lane.ready, at, job), true
}

// end lets the jobs follow that wait for one.
func (t *turns) end(number int) {
	for _, job := range t.waiters[number] {
		job.from = laterOf(job.from, t.ends[number])
		if job.unmet--; job.unmet == 0 {
			t.enter(job)
		}
	}
}

// step lets the lane that can begin a job first do so; false if none is left. No job that is found ready later could have
// begun before it: it waits for one that has not begun yet.
func (t *turns) step() bool {
	var lane *turnLane
	for i := range t.lanes {
		other := &t.lanes[i]
		other.choose()
		if len(other.ready) > 0 && (lane == nil || other.start.at.Before(lane.start.at)) {
			lane = other
		}
	}
	if lane == nil {
		return false
	}
	job, start := lane.ready[lane.next], lane.start
	lane.ready, lane.stale = slices.Delete(lane.ready, lane.next, lane.next+1), true
	t.room.reset()
	t.room.add(job.Expected, length(job.Expected, t.mean))
	lane.free = start.plus(t.room.total())
	if !job.Optional {
		lane.needed, lane.does = lane.free, true
	}
	if job.Number != 0 {
		t.ends[job.Number] = lane.free
		t.end(job.Number)
	}
	return true
}

// choose finds the job that the lane begins next: the one that can begin first, and of equals the first.
func (l *turnLane) choose() {
	if !l.stale {
		return
	}
	l.stale = false
	for i, job := range l.ready {
		start := laterOf(l.free, job.from)
		if i == 0 || start.at.Before(l.start.at) {
			l.next, l.start = i, start
		}
		if !job.from.at.After(l.free.at) {
			return // those behind it cannot begin before
		}
	}
}

// close notes when the lanes are free, and returns when the last required job ends.
func (t *turns) close(begin point) point {
	end, worked := begin, false
	for _, lane := range t.lanes {
		if lane.work.Running == nil && (lane.work.Unmanned || len(lane.work.Queued) == 0) {
			continue
		}
		t.free[lane.work.Lane] = lane.free
		switch {
		case !lane.does:
		case !worked:
			end, worked = lane.needed, true
		default:
			end = lastOf(begin, end, lane.needed)
		}
	}
	return end
}
