package readmodel

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

func TestWhyAJobWaitsForOthers(t *testing.T) {
	need := func(backend events.Backend, state string) WhyNeed {
		return WhyNeed{RequestID: "r1", JobID: events.JobID("j" + backend), Kind: "compile", Target: "linux", Backend: backend, Profile: "debug", State: state, Maker: "r1", RequestState: events.StateInProgress}
	}
	for _, tc := range []struct {
		name   string
		held   graph.State
		needs  []WhyNeed
		reason WaitReason
		words  string
	}{
		{"one need", graph.Blocked, []WhyNeed{need("gc", "in_progress")}, WaitNeeds, "it needs compile/linux/0/gc/debug, which is in progress"},
		{
			"two needs", graph.Blocked,
			[]WhyNeed{need("gc", "queued"), need("", "blocked")},
			WaitNeeds,
			"it needs compile/linux/0/gc/debug (queued) and compile/linux/0/debug (blocked)",
		},
		{
			"many needs", graph.Blocked,
			[]WhyNeed{need("a", "queued"), need("b", "queued"), need("c", "queued"), need("d", "queued"), {JobID: "gone", State: "queued"}},
			WaitNeeds,
			"it needs compile/linux/0/a/debug (queued), compile/linux/0/b/debug (queued), compile/linux/0/c/debug (queued) and 2 more",
		},
		{"a need that left the tables", graph.Blocked, []WhyNeed{{JobID: "gone", State: "queued"}}, WaitNeeds, "it needs gone, which is queued"},
		{"a graph half told", graph.Blocked, nil, WaitNeeds, "it waits until all jobs of its graph are made"},
		{
			"skipped", graph.Skipped,
			[]WhyNeed{need("gc", "failure")},
			WaitSkipped,
			"it is skipped: compile/linux/0/gc/debug failed; `tacho job rerun jgc` runs that one again",
		},
		{
			"skipped for a cancelled job", graph.Skipped,
			[]WhyNeed{need("gc", "cancelled")},
			WaitSkipped,
			"it is skipped: compile/linux/0/gc/debug was cancelled; `tacho job rerun jgc` runs that one again",
		},
		{
			"skipped for a job of another request", graph.Skipped,
			[]WhyNeed{{RequestID: "r1", JobID: "j2", Maker: "r2", Kind: "compile", Target: "linux", State: "failure", RequestState: events.StateInProgress}},
			WaitSkipped,
			"it is skipped: compile/linux/0 failed; `tacho job rerun j2 --request r1` runs that one again",
		},
		{
			"skipped in a repair", graph.Skipped,
			[]WhyNeed{{RequestID: "r1", JobID: "j2", Maker: "r1", State: "failure", RequestState: events.StateFailed}},
			WaitSkipped,
			"it is skipped: j2 failed; `tacho request repair r1 --select j2` runs that one again",
		},
	} {
		r := waitingJob()
		r.job.Held, r.needs, r.lengths = tc.held, tc.needs, []whyLength{{60_000}}
		w := r.why()
		if !w.Waits || w.Reason != tc.reason || w.Words != tc.words || w.Starts != nil || len(w.Needs) != w.NeedsCount {
			t.Errorf("%s: %+v\nwant %s", tc.name, w, tc.words)
		}
	}
	r := waitingJob()
	r.job.Held, r.needs = graph.Blocked, make([]WhyNeed, needsNamed+5)
	if w := r.why(); len(w.Needs) != needsNamed || w.NeedsCount != needsNamed+5 {
		t.Errorf("%d of %d needs are named", len(w.Needs), w.NeedsCount)
	}
}
