package scheduler

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// retireEvery is the time between two retirements. With a shorter retention it is as short as that.
const retireEvery = 24 * time.Hour

// decideRetention lets the tables forget the jobs that ended longer ago than the retention. Of several schedulers the
// log takes one decision. A later decision of another one is harmless: it only names a time.
func decideRetention(s *state, p Policy, now time.Time) (decision, bool) {
	if p.Retention <= 0 || now.Sub(s.Retention.Last).Abs() < min(retireEvery, p.Retention) {
		return decision{}, false
	}
	before := now.Add(-p.Retention).UTC().Truncate(time.Second)
	if !s.Retention.Due(before) {
		return decision{}, false
	}
	return decision{what: "retire jobs", facts: []events.Fact{events.JobsRetired{EndedBefore: before.Format(time.RFC3339)}}}, true
}
