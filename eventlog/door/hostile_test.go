package door

import (
	"testing"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// Ledger, projector and collector have the same test: whatever collectors write, all of them get the same result. If
// the door accepted more than they do, collectors could build on it.
func TestTheDoorAgrees(t *testing.T) {
	hostile.AgreeOnFewer(t, func() hostile.Fold {
		l, b := &shelf{Ledger: ledger.New()}, newBooks()
		var from Ledger = l
		b.from.Store(&from)
		return hostile.Fold{
			Take: func(e events.Recorded) {
				if _, err := l.Take(stored(t, e)); err != nil {
					t.Fatal(err)
				}
			},
			Lane: func(name events.Lane) (uint64, bool, bool) {
				lane, known := l.Lanes[name]
				if !known {
					return 0, false, false
				}
				// A job leaves its lane only when it has ended.
				for place, d := range lane.Dispatches {
					if place == lane.Work.Place && lane.Work.Phase == job.Ended || b.over(name, d.Seq) {
						t.Fatalf("place %d of lane %s waits, or may be taken off", place, name)
					}
				}
				return lane.Work.Place, lane.Work.Phase == job.Current, lane.Work.Phase == job.Ended
			},
			Collector: func(name events.CollectorName) hostile.Collector {
				c := b.standing(name)
				return hostile.Collector{Active: c.Active, Draining: c.Draining, Quarantined: c.Quarantined, Removed: c.Removed, Online: c.Online}
			},
			Takes: func(name events.CollectorName) bool { return b.standing(name).Takes() },
		}
	})
}

// stored is an event as the log has it.
func stored(t *testing.T, e events.Recorded) events.Stored {
	t.Helper()
	s, err := events.Encode(eventlog.NewEvent(e.Fact, eventlog.Meta{Source: "test", Actor: "test"}, e.Time))
	if err != nil {
		t.Fatal(err)
	}
	s.Seq, s.StoredAt = e.Seq, e.Time
	return s
}
