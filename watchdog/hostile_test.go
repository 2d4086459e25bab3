package watchdog

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/job"
)

// Scheduler, projector, door and collector have the same test: whatever collectors write, all come to the same.
func TestTheWatchdogAgrees(t *testing.T) {
	hostile.Agree(t, func() hostile.Fold {
		s := newState()
		return hostile.Fold{
			Take: func(e events.Recorded) { s.fold(e, e.Time) },
			Job: func(id events.JobID) (events.JobState, bool) {
				j, known := s.jobs[id]
				if !known {
					return "", true
				}
				return j.State, false
			},
			Lane: func(l events.Lane) (uint64, bool, bool) {
				work := s.lane(l).work
				return work.Place, work.Phase == job.Current, work.Phase == job.Ended
			},
			Collector: func(name events.CollectorName) hostile.Collector {
				c := s.collector(name)
				return hostile.Collector{Active: c.Active, Draining: c.Draining, Quarantined: c.Quarantined, Removed: c.Removed, Online: c.Online}
			},
			Takes: func(name events.CollectorName) bool { return s.collector(name).Takes() },
		}
	})
}
