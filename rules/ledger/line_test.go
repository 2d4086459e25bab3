package ledger_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tachobench/tacho/events"
)

// line returns the jobs of a request that wait for the lane of a job, in their order.
func (w *teller) line(j events.JobSpec) []events.JobID {
	return w.Lanes[j.Lane()].Queued[j.RequestID]
}

// more makes a graph of jobs like one, with these ranks.
func (w *teller) more(like events.JobSpec, number int, kind events.GraphKind, priority events.Priority, ranks ...int) (ids []events.JobID) {
	w.Helper()
	var specs []events.JobSpec
	for i := range ranks {
		spec := like
		if kind.Sampled() {
			spec.Sample = events.NewSample(like.RequestID, number, i+1)
		} else {
			spec.Profile = events.Profile("more-" + string(rune('a'+number)) + string(rune('a'+i)))
		}
		spec.ID = spec.First()
		specs, ids = append(specs, spec), append(ids, spec.ID)
	}
	w.happens(
		events.GraphCreated{RequestID: like.RequestID, Graph: number, Kind: kind, Key: "k", Jobs: len(specs), Priority: priority},
		events.JobsCreated{RequestID: like.RequestID, Key: "k", Jobs: specs, Graph: &events.GraphPart{Graph: number, Rank: ranks, CostMS: make([]int64, len(ranks))}},
	)
	return ids
}

// Of the waiting jobs of a request the more urgent go first, then those that are no samples, then the lower graph, then the
// lower rank.
func TestOrderWithinARequest(t *testing.T) {
	w := tell(t)
	id, jobs := w.starts("t1", "")
	of := jobs[0]
	low := w.more(of, 0, events.GraphRetrigger, events.PriorityLow, 1, 0)
	usual := w.more(of, 1, events.GraphRetrigger, events.PriorityNormal, 2, 0, 1)
	own := w.more(of, 2, events.GraphRepair, "", 1, 0)
	want := func(when string, ids ...events.JobID) {
		t.Helper()
		got := slices.DeleteFunc(slices.Clone(w.line(of)), func(id events.JobID) bool { return !slices.Contains(ids, id) })
		if !slices.Equal(got, ids) {
			t.Errorf("%s the order is %v, want %v", when, got, ids)
		}
	}
	want("at first", own[1], own[0], usual[1], usual[2], usual[0], low[1], low[0])
	second := 1
	w.happens(events.PriorityChanged{RequestID: id, Graph: &second, To: events.PriorityIdle})
	want("with graph 1 at idle", own[1], own[0], low[1], low[0], usual[1], usual[2], usual[0])
	w.happens(events.PriorityChanged{RequestID: id, To: events.PriorityIdle})
	want("with the request at idle", own[1], own[0], low[1], low[0], usual[1], usual[2], usual[0])
}

// Ranks that nobody makes change nothing but the order.
func TestOddRanks(t *testing.T) {
	w := tell(t)
	_, jobs := w.starts("t1", "")
	ids := w.more(jobs[0], 0, events.GraphRepair, "", math.MaxInt, -7, 5)
	w.happens(events.JobsCreated{RequestID: jobs[0].RequestID, Key: "k", Graph: &events.GraphPart{Graph: 0, Rank: []int{1, 2, 3, 4, 5, 6}, First: -2}})
	got := slices.DeleteFunc(slices.Clone(w.line(jobs[0])), func(id events.JobID) bool { return !slices.Contains(ids, id) })
	if want := []events.JobID{ids[1], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}
