package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Retention is what is known of jobs that have ended and are still in the tables. The scheduler itself never
// forgets a job, so that none is made twice; it only says when the tables may.
type Retention struct {
	// Ended are the times at which jobs ended, sorted. Events come nearly in the order of their times, so that
	// nearly all are added at the end.
	Ended []time.Time
	// Last is when jobs were retired last; zero before.
	Last time.Time
}

// add notes that a job has ended.
func (r *Retention) add(at time.Time) {
	i, _ := slices.BinarySearchFunc(r.Ended, at, time.Time.Compare)
	r.Ended = slices.Insert(r.Ended, i, at)
}

// retired notes that jobs have left the tables. What cannot be read retired nothing, and still counts as one
// that was said: the next one is not due at once.
func (r *Retention) retired(f events.JobsRetired, at time.Time) {
	r.Last = at
	before, err := time.Parse(time.RFC3339, f.EndedBefore)
	if err != nil {
		return
	}
	i, _ := slices.BinarySearchFunc(r.Ended, before, time.Time.Compare)
	r.Ended = r.Ended[i:]
}
