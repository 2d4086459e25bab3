package ledger_test

import (
	"slices"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// Projector, door and collector have the same test: whatever collectors write, all of them get the same result.
func TestTheLedgerAgrees(t *testing.T) {
	hostile.Agree(t, func() hostile.Fold {
		l := ledger.New()
		return hostile.Fold{
			Take: l.Fold,
			Job:  func(id events.JobID) (events.JobState, bool) { return l.StateOf(id), false },
			Lane: func(name events.Lane) (uint64, bool, bool) {
				lane, known := l.Lanes[name]
				if !known {
					return 0, false, false
				}
				return lane.Work.Place, lane.Work.Phase == job.Current, lane.Work.Phase == job.Ended
			},
			Cancelled: func() bool {
				return slices.ContainsFunc(l.Graphs[hostile.Request], func(g *ledger.Graph) bool { return g.Number == hostile.Graph && g.Cancelled })
			},
			Collector: func(name events.CollectorName) hostile.Collector {
				c := l.Collector(name)
				return hostile.Collector{Active: c.Active, Draining: c.Draining, Quarantined: c.Quarantined, Removed: c.Removed, Online: c.Online}
			},
			Open: func() (open int) {
				for _, n := range l.Tree.Nodes() {
					if n.Leaf {
						open += int(n.Running)
					}
				}
				return open
			},
			Takes: func(name events.CollectorName) bool { c := l.Collector(name); return c.Takes() },
		}
	})
}
