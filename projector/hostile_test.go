package projector

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/rules/job"
)

// Ledger, door and collector have the same test: whatever collectors write, all come to the same result.
func TestTheProjectorAgrees(t *testing.T) {
	hostile.Agree(t, func() hostile.Fold {
		s, litter := newState(1), 0
		cases, series := map[events.JobID]map[events.TestCase]bool{}, map[string]map[events.TestCase]bool{}
		return hostile.Fold{
			Take: func(e events.Recorded) {
				before := s.stale
				s.results = nil
				s.fold(newFact(e, e.Time))
				switch e.Fact.(type) {
				case events.WorkFact, events.TestCasesMeasured:
					litter += s.stale - before
				}
				for _, r := range s.results {
					if cases[r.JobID] == nil {
						cases[r.JobID] = map[events.TestCase]bool{}
					}
					cases[r.JobID][r.TestCase()] = true
					if series[r.Sample] == nil {
						series[r.Sample] = map[events.TestCase]bool{}
					}
					series[r.Sample][r.TestCase()] = true
				}
			},
			Job:    func(id events.JobID) (events.JobState, bool) { return s.jobs[id].State, false },
			Cases:  func(id events.JobID) int { return len(cases[id]) },
			Series: func(sample string) int { return len(series[sample]) },
			Cancelled: func() bool {
				g := s.graphs[graphKey{hostile.Request, hostile.Graph}]
				return g != nil && g.row.CancelledAt != nil
			},
			Lane: func(l events.Lane) (uint64, bool, bool) {
				row := s.works[l]
				if row == nil {
					return 0, false, false
				}
				if running := s.lanes[l]; (running != nil) != (row.Phase == job.Current) || running != nil && running.Token != row.Token {
					t.Fatalf("lane %s is %+v, and its attempt %+v", l, row, running)
				}
				return row.Place, row.Phase == job.Current, row.Phase == job.Ended
			},
			Collector: func(name events.CollectorName) hostile.Collector {
				c := s.collectors[name].standing()
				return hostile.Collector{Active: c.Active, Draining: c.Draining, Quarantined: c.Quarantined, Removed: c.Removed, Online: c.Online}
			},
			Open: func() (open int) {
				for _, r := range s.shares {
					open += r.Running
				}
				return open
			},
			Charged: func() (ms int64) {
				for _, r := range s.shares {
					ms += r.ChargedMS
				}
				return ms
			},
			Litter: func() int { return litter },
		}
	})
}
