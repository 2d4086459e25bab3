package scheduler

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestRulesOfFailFast(t *testing.T) {
	const abcn = "a b:a z y x:z n|a"
	playGraphRules(t, []graphRule{
		{name: "nothing fails", kinds: abcn, ran: "a z b y x n", state: events.StateCompleted, graphs: "success 6/0/0"},
		{
			// One more than the job that failed is on the lane by then.
			name: "the first failure skips what is not dispatched", kinds: abcn, ends: map[events.JobKind]string{"a": "-"},
			ran: "a z", state: events.StateFailed, graphs: "failure 6/1/4 by [0]",
		},
		{
			name: "a rerun of the cause lets them go", kinds: abcn, ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				for len(f.ran) == 0 {
					f.step()
				}
				f.want(id, events.GraphRerun, f.only("a"))
			},
			ran: "a z a y b x n", state: events.StateCompleted, graphs: "success 6/0/0",
		},
		{
			name: "a forced job runs, and no other", kinds: abcn, ends: map[events.JobKind]string{"a": "-"},
			does: func(f *graphFarm, id events.RequestID) {
				for len(f.ran) == 0 {
					f.step()
				}
				f.force(id, f.only("b"))
			},
			ran: "a z b", state: events.StateFailed, graphs: "failure 6/1/3 by [0]",
		},
		{
			name: "a repair runs what failed and what was skipped", kinds: abcn, ends: map[events.JobKind]string{"a": "-+"},
			does: func(f *graphFarm, id events.RequestID) { f.settle(); f.want(id, events.GraphRepair) },
			ran:  "a z a y b x n", state: events.StateFailed, graphs: "failure 6/1/4 by [0], success 6/0/0",
		},
	}, func(f *graphFarm) { f.rule = events.FailFast }, func(t *testing.T, f *graphFarm) {
		for _, e := range f.log {
			if failed, ok := e.Fact.(events.RequestFailed); ok && !strings.Contains(failed.Reason, "were skipped because of that (fail-fast)") {
				t.Errorf("it failed because %s", failed.Reason)
			}
		}
	})
}
