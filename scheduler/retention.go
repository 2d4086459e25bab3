package scheduler

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// retention is what is known of jobs that have ended and are still in the tables. The scheduler itself never
// forgets a job, so that none is made twice; it only says when the tables may.
type retention struct {
	// ended are the times at which jobs ended, sorted. Events come nearly in the order of their times, so that
	// nearly all are added at the end.
	ended []time.Time
	// last is when jobs were retired last; zero before.
	last time.Time
}

// add notes that a job has ended.
func (r *retention) add(at time.Time) {
	i, _ := slices.BinarySearchFunc(r.ended, at, time.Time.Compare)
	r.ended = slices.Insert(r.ended, i, at)
}

// retired notes that jobs have left the tables. What cannot be read retired nothing, and still counts as one
// that was said: the next one is not due at once.
func (r *retention) retired(f events.JobsRetired, at time.Time) {
	r.last = at
	before, err := time.Parse(time.RFC3339, f.EndedBefore)
	if err != nil {
		return
	}
	i, _ := slices.BinarySearchFunc(r.ended, before, time.Time.Compare)
	r.ended = r.ended[i:]
}

// retireEvery is the pace at which jobs are retired. A shorter retention has a shorter one.
const retireEvery = 24 * time.Hour

// decideRetention lets the tables forget the jobs that ended longer ago than the retention. Of several
// schedulers the log takes the word of one; a later one of another is harmless, as it names a time only.
func decideRetention(s *state, p Policy, now time.Time) (decision, bool) {
	if p.Retention <= 0 || now.Sub(s.retention.last).Abs() < min(retireEvery, p.Retention) {
		return decision{}, false
	}
	before := now.Add(-p.Retention).UTC().Truncate(time.Second)
	if len(s.retention.ended) == 0 || !s.retention.ended[0].Before(before) {
		return decision{}, false
	}
	return decision{what: "retire jobs", facts: []events.Fact{events.JobsRetired{EndedBefore: before.Format(time.RFC3339)}}}, true
}
