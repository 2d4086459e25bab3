package scheduler

import (
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// force asks to let a job run.
func (f *graphFarm) force(id events.RequestID, job events.JobID) {
	f.wish(id, events.GraphWanted{Kind: events.GraphForce, Select: []events.JobID{job}, Reason: "it is harmless"})
}

// answer returns the newest refusal of a wish, or what was forced last.
func (f *graphFarm) answer() string {
	for _, e := range slices.Backward(f.log) {
		// The others are no answers to force.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.GraphRefused:
			return fact.Reason
		case events.JobForced:
			return "forced " + string(fact.JobID)
		}
	}
	return ""
}

func TestRulesOfForce(t *testing.T) {
	const abcn = "a b:a c:b n|a"
	until := func(f *graphFarm, ran string) {
		for strings.Join(f.ran, " ") != ran {
			f.step()
		}
	}
	playGraphRules(t, []graphRule{
		{
			name: "a blocked job runs at once, by its rank", kinds: "z b:a y:z x:y w:x a:w",
			does: func(f *graphFarm, id events.RequestID) { until(f, "z"); f.force(id, f.only("b")) },
			ran:  "z y b x w a", state: events.StateCompleted, graphs: "success 6/0/0",
		},
		{
			name: "a skipped job runs, and those that need it", kinds: abcn, ends: map[events.JobKind]string{"a": "-"},
			does: func(f *graphFarm, id events.RequestID) { until(f, "a"); f.force(id, f.only("b")) },
			ran:  "a b n c", state: events.StateFailed, graphs: "failure 4/1/0 by [0]",
		},
		{
			name: "a forced job that fails skips others, and runs again without its needs", kinds: abcn, ends: map[events.JobKind]string{"a": "-", "b": "-+"},
			does: func(f *graphFarm, id events.RequestID) {
				until(f, "a")
				f.force(id, f.only("b"))
				for f.state.Jobs[f.only("b")].State != events.JobFailure {
					f.step()
				}
				f.want(id, events.GraphRerun, f.only("b"))
			},
			ran: "a b n b c", state: events.StateFailed, graphs: "failure 4/1/0 by [0]",
		},
		{
			name: "twice is as once", kinds: abcn, ends: map[events.JobKind]string{"a": "-"},
			does: func(f *graphFarm, id events.RequestID) {
				until(f, "a")
				f.force(id, f.only("b"))
				f.force(id, f.only("b"))
			},
			ran: "a b n c", state: events.StateFailed, graphs: "failure 4/1/0 by [0]",
		},
		{
			name: "in the graph of a repair", kinds: "a b:a", ends: map[events.JobKind]string{"a": "--"},
			does: func(f *graphFarm, id events.RequestID) {
				f.settle()
				f.want(id, events.GraphRepair)
				for len(f.state.Graphs[id]) == 0 {
					f.step()
				}
				f.force(id, f.only("b"))
			},
			ran: "a a b", state: events.StateFailed, graphs: "failure 2/1/1 by [0], failure 2/1/0 by [0]",
		},
	}, nil, nil)
}

func TestForceIsRefused(t *testing.T) {
	f := newGraphFarm(t, kinds("a b:a c:b"))
	f.ends["a"] = "-"
	other := f.ask("t0", "", events.Master)
	id := f.ask("t1", "", events.Master)
	for len(f.state.Graphs[other]) == 0 || len(f.state.Graphs[id]) == 0 {
		f.step()
	}
	newest := f.only("b") // of the request that started last
	mine, theirs := id, other
	if f.state.Jobs[newest].Spec().RequestID != id {
		mine, theirs = other, id
	}
	refused := func(r events.RequestID, job events.JobID, words string) {
		t.Helper()
		f.force(r, job)
		for len(f.state.Requests[r].Wishes) > 0 {
			f.step()
		}
		if got := f.answer(); !strings.Contains(got, words) {
			t.Errorf("answer %q, want %q", got, words)
		}
	}
	refused(mine, "nobody", "there is no job nobody: `tacho request show")
	refused(theirs, newest, "is no job of request "+string(theirs)+": `tacho request show")
	refused(mine, f.only("a"), "nothing that it needs is missing: `tacho job why")
	f.settle()
	refused(mine, newest, "is failed: `tacho request repair "+string(mine)+"`")
}

func TestForceOfWhatWaitsForNoJob(t *testing.T) {
	d := kinds("a b:a")
	d.Targets = append(d.Targets, suite.Target{Name: "there", Sets: 1, Optional: true})
	f := newGraphFarm(t, d)
	f.ends["a"] = "-"
	id := f.ask("t1", "", events.Master)
	for len(f.ran) == 0 {
		f.step()
	}
	f.force(id, f.state.Graphs[id][0].Jobs[0])
	for len(f.state.Requests[id].Wishes) > 0 {
		f.step()
	}
	if got := f.answer(); !strings.Contains(got, "has ended") && !strings.Contains(got, "nothing that it needs is missing") {
		t.Errorf("answer %q", got)
	}
	r := f.state.Requests[id]
	for _, w := range []events.GraphWanted{
		{Kind: events.GraphForce, Reason: "x"},
		{Kind: events.GraphForce, Select: []events.JobID{"a", "b"}, Reason: "x"},
		{Kind: events.GraphForce, Select: []events.JobID{"a"}, Reason: " "},
		{Kind: events.GraphForce, Select: []events.JobID{"a"}, Reason: "x", Copies: 2},
	} {
		w.Key = "k"
		if facts, err := request.Decide(*r, request.Want{GraphWanted: w}); err == nil {
			t.Errorf("%+v is accepted: %v", w, facts)
		} else if !strings.Contains(err.Error(), "tacho job force") {
			t.Errorf("%v names no next step", err)
		}
	}
}
