package job

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Work is a lane with the jobs that were dispatched to it. A part that follows the log folds it to know which facts on
// the work of the lane count.
type Work struct {
	Lane
	// Dispatched maps places to jobs, for those that have not ended.
	Dispatched map[uint64]events.JobID
	// Places is the place of the newest dispatch.
	Places uint64
}

// Dispatch records that a job was dispatched to the lane, and reports whether it counts: places begin at 1, and none is given
// twice.
func (w *Work) Dispatch(f events.JobDispatched) bool {
	if f.Place <= w.Places {
		return false
	}
	if w.Dispatched == nil {
		w.Dispatched = map[uint64]events.JobID{}
	}
	w.Dispatched[f.Place] = f.Job.ID
	w.Places = f.Place
	return true
}

// Take applies a fact on the work of the lane that was recorded at seq, and reports whether it counts (see Counts). A
// fact that does not count changes nothing.
func (w *Work) Take(f events.WorkFact, seq events.Seq, at time.Time) bool {
	if !Counts(w.Lane, f, w.at) {
		return false
	}
	w.Lane = Evolve(w.Lane, f, seq, at)
	if w.Phase == Ended {
		delete(w.Dispatched, w.Place)
	}
	return true
}

func (w *Work) at(place uint64) (events.JobID, bool) {
	id, ok := w.Dispatched[place]
	return id, ok
}

// Ahead counts the jobs that are dispatched but not being executed.
func (w *Work) Ahead() int {
	n := len(w.Dispatched)
	if _, ok := w.Dispatched[w.Place]; ok && w.Phase == Current {
		n--
	}
	return n
}
