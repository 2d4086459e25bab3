package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// Retention is what is known of jobs that have ended and are still in the tables. The scheduler itself never
// forgets a job, so that none is made twice; it only says when the tables may.
type Retention struct {
	// Hours are those in which jobs ended, counted from 1970, sorted.
	Hours []int64
	// Last is when jobs were retired last; zero before.
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

// Due reports whether jobs may be retired that ended before a time: those of a whole hour.
func (r *Retention) Due(before time.Time) bool { return r.over(before) > 0 }

// over counts the hours that were over at a time.
func (r *Retention) over(at time.Time) int {
	i, _ := slices.BinarySearch(r.Hours, at.Unix()/hour)
	return i
}

// retired notes that jobs have left the tables. What cannot be read retired nothing, and still counts as one
// that was said: the next one is not due at once.
func (r *Retention) retired(f events.JobsRetired, at time.Time) {
	r.Last = at
	before, err := time.Parse(time.RFC3339, f.EndedBefore)
	if err != nil {
		return
	}
	r.Hours = r.Hours[r.over(before):]
}
