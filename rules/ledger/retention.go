package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Retention is what is known about jobs that have ended and are still in the tables. The ledger never forgets a job, so
// none is made twice; the scheduler only says when the tables may forget.
type Retention struct {
	// Hours are the hours in which jobs ended, counted from 1970, sorted.
	Hours []int64
	// Last is when jobs were last retired; zero before that.
	Last time.Time
}

const hour = int64(time.Hour / time.Second)

// add notes that a job has ended.
func (r *Retention) add(at time.Time) {
	h := at.Unix() / hour
	if i, known := slices.BinarySearch(r.Hours, h); !known {
		r.Hours = slices.Insert(r.Hours, i, h)
	}
}

// Due reports whether there are jobs to retire that ended before a time. It counts whole hours only.
func (r *Retention) Due(before time.Time) bool { return r.over(before) > 0 }

// over counts the hours that had ended at a time.
func (r *Retention) over(at time.Time) int {
	i, _ := slices.BinarySearch(r.Hours, at.Unix()/hour)
	return i
}

// retired notes that jobs have left the tables. A fact with an unreadable time retires nothing, but still sets Last, so
// the next one is not due at once.
func (r *Retention) retired(f events.JobsRetired, at time.Time) {
	r.Last = at
	before, err := time.Parse(time.RFC3339, f.EndedBefore)
	if err != nil {
		return
	}
	r.Hours = r.Hours[r.over(before):]
}
