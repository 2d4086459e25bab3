package door

import (
	"testing"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/job"
)

// Scheduler, projector, watchdog and collector have the same test: whatever collectors write, all come to the same. What
// the door believed more than they do it would let a collector build on.
func TestTheDoorAgrees(t *testing.T) {
	hostile.AgreeOnFewer(t, func() hostile.Fold {
		l := newLedger()
		return hostile.Fold{
			Take: func(e events.Recorded) {
				s, err := events.Encode(eventlog.NewEvent(e.Fact, eventlog.Meta{Source: "test", Actor: "test"}, e.Time))
				if err != nil {
					t.Fatal(err)
				}
				s.Seq, s.StoredAt = e.Seq, e.Time
				if err := l.take([]events.Stored{s}, true); err != nil {
					t.Fatal(err)
				}
			},
			Lane: func(name events.Lane) (uint64, bool, bool) {
				lane := l.lane(name)
				// A job leaves its lane when it has ended, and not before.
				for place, d := range lane.dispatched {
					if place == lane.work.Place && lane.work.Phase == job.Ended || l.over(name, d.seq) {
						t.Fatalf("place %d of lane %s waits, or may be taken off", place, name)
					}
				}
				return lane.work.Place, lane.work.Phase == job.Current, lane.work.Phase == job.Ended
			},
			Collector: func(name events.CollectorName) hostile.Collector {
				c := l.standing(name)
				return hostile.Collector{Active: c.Active, Draining: c.Draining, Quarantined: c.Quarantined, Removed: c.Removed, Online: c.Online}
			},
			Takes: func(name events.CollectorName) bool { return l.standing(name).Takes() },
		}
	})
}
