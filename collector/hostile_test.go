package collector

import (
	"maps"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
)

// The ledger, the projector and the door have the same test. The collector does not measure again what it takes for
// measured, so that must be in the tables.
func TestTheCollectorAgrees(t *testing.T) {
	hostile.Agree(t, func() hostile.Fold {
		histories := map[events.JobID][]events.Recorded{}
		return hostile.Fold{
			Trusting: true,
			Take: func(e events.Recorded) {
				if f, ok := e.Fact.(events.ResultFact); ok {
					histories[f.Which()] = append(histories[f.Which()], e)
				}
			},
			Cases: func(id events.JobID) int {
				cases := map[events.TestCase]bool{}
				for _, of := range foldResults(histories[id], "").done {
					maps.Copy(cases, of)
				}
				return len(cases)
			},
		}
	})
}
