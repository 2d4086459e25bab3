package scheduler

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/job"
)

// Projector, watchdog, door and collector have the same test: whatever collectors write, all come to the same.
func TestTheSchedulerAgrees(t *testing.T) {
	hostile.Agree(t, func() hostile.Fold {
		s := newState()
		return hostile.Fold{
			Take: s.fold,
			Job:  func(id events.JobID) (events.JobState, bool) { return s.jobs[id].State, false },
			Lane: func(l events.Lane) (uint64, bool, bool) {
				work := s.lane(l).work
				return work.Place, work.Phase == job.Current, work.Phase == job.Ended
			},
			Collector: func(name events.CollectorName) hostile.Collector {
				c := s.collector(name).standing
				return hostile.Collector{Active: c.Active, Draining: c.Draining, Quarantined: c.Quarantined, Removed: c.Removed, Online: c.Online}
			},
			Takes: func(name events.CollectorName) bool { return s.collector(name).standing.Takes() },
		}
	})
}
