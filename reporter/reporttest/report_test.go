package reporttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/reporter"
	"github.com/tachobench/tacho/rules/compare"
)

// expect fails if a report lacks a text, or has one that it must not have (after a "!").
func expect(t *testing.T, r reporter.Report, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if text, unwanted := strings.CutPrefix(want, "!"); strings.Contains(r.Body, text) == unwanted {
			t.Errorf("wanted %q in\n%s", want, r.Body)
		}
	}
}

func TestARequestThatEndedIsReported(t *testing.T) {
	s := open(t)
	parent := s.request(control.NewRequest{Kind: events.Master, Tag: sha("a")})
	s.run(s.start(parent, "opt"), map[events.Benchmark]float64{"generics": 1, "hello": 1, "parser": 1, "tables": 0})
	s.tell(events.RequestFailed{RequestID: parent.ID, Reason: "1 of 1 required jobs failed", Jobs: 1, FailedJobs: 1})
	child := s.request(control.NewRequest{Kind: events.Try, Tag: sha("b"), Parent: sha("a"), PR: 7, Key: "comment 1"})
	s.run(s.start(child, "opt"), map[events.Benchmark]float64{"generics": 1.05, "hello": 0.97, "parser": 0, "tables": 0})
	s.tell(events.RequestFailed{RequestID: child.ID, Reason: "1 of 1 required jobs failed", Jobs: 1, FailedJobs: 1})
	made := s.report(child)
	expect(t, made,
		"Finished benchmarking commit ("+string(sha("b"))+"): [comparison URL](https://perf.example/compare?a="+string(sha("a"))+"&b="+string(sha("b"))+"&suite=go).\n",
		"**Overall result: ❌✅ regressions and improvements - deserves attention, 1 newly failed benchmark, not everything could be measured**",
		"> **The request failed:** 1 of 1 required jobs failed\n",
		"> **Incomplete:** The request for "+string(sha("a"))+" failed",
		"[request](https://perf.example/requests/"+string(child.ID)+")",
		"### Newly failed benchmarks\n\n- `parser/opt/full/gc/linux-amd64`: `bench ended with exit code 2: panic: @you broke it`\n\n",
		"| Regressions ❌ (primary) | +5.00% | [+5.00%, +5.00%] | 1 |", "| Improvements ✅ (secondary) | -3.00% |",
		"Failed jobs\n\n- [`compile linux-amd64/0 gc opt`](https://perf.example/jobs/", "1 benchmark failed as for the parent", "`tables/opt/full/gc/linux-amd64`",
		"!starting", "!goroutine", "Nothing changed in `max-rss`.")
	want := reporter.Report{Body: made.Body, AddLabels: []string{"perf-regression"}, RemoveLabels: []string{"S-waiting-on-perf"}}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
}

// TestARepairIsReported: what ran again after the end is said, and a job that succeeded then has not failed.
func TestARepairIsReported(t *testing.T) {
	s := open(t)
	child := s.request(control.NewRequest{Kind: events.Try, Tag: sha("b"), Parent: sha("a"), PR: 7, Key: "comment 1"})
	job := s.start(child, "opt")
	s.run(job, map[events.Benchmark]float64{"generics": 1, "hello": 0})
	s.tell(events.RequestFailed{RequestID: child.ID, Reason: "1 of 1 required jobs failed", Jobs: 1, FailedJobs: 1})
	expect(t, s.report(child), "!Run again", "Failed jobs")
	again := job.Again()
	s.tell(events.GraphWanted{RequestID: child.ID, Key: "k", Kind: events.GraphRepair})
	s.tell(events.GraphAdmitted{RequestID: child.ID, Key: "k", Kind: events.GraphRepair, Jobs: 1}, events.JobsCreated{RequestID: child.ID, Key: "k", Jobs: []events.JobSpec{again}})
	expect(t, s.report(child), "> **Run again:** 1 job ran again after the request had ended: 1 not done yet.", "!Failed jobs")
	s.run(again, map[events.Benchmark]float64{"hello": 1})
	expect(t, s.report(child), "> **Run again:** 1 job ran again after the request had ended: 1 succeeded. The results are part of this report; the request stays as it ended.\n",
		"> **The request failed:**", "!Failed jobs")
}

// TestLateResultsChangeTheReport: when more of the parent is measured, the text says more.
func TestLateResultsChangeTheReport(t *testing.T) {
	s := open(t)
	parent := s.request(control.NewRequest{Kind: events.Master, Tag: sha("a"), PR: 6})
	child := s.request(control.NewRequest{Kind: events.Master, Tag: sha("b"), Parent: sha("a"), PR: 7})
	s.run(s.start(child, "opt"), map[events.Benchmark]float64{"generics": 1.001, "hello": 1})
	s.tell(events.RequestCompleted{RequestID: child.ID, Jobs: 1})
	before := s.report(child)
	expect(t, before, "**Overall result: no parent results to compare with**", "its parent `"+string(sha("a"))+"` was not.", "!compare?")
	if diff := cmp.Diff([]string{"S-waiting-on-perf"}, before.RemoveLabels); diff != "" || len(before.AddLabels) > 0 {
		t.Error(diff, before.AddLabels)
	}
	job := s.start(parent, "opt")
	s.run(job, map[events.Benchmark]float64{"generics": 1})
	some := s.report(child)
	expect(t, some, "**Overall result: no relevant changes - incomplete**", "of 1 test case", "Incomplete:** The request for "+string(sha("a"))+" has not ended", "New in b: 2 measurements")
	if again := s.report(child); again.Body != some.Body {
		t.Errorf("the same tables give another text:\n%s", cmp.Diff(some.Body, again.Body))
	}
	s.tell(events.RequestCompleted{RequestID: parent.ID, Jobs: 1})
	expect(t, s.report(child), "!Incomplete", "of 1 test case")
}

// TestWhatWasMeasuredAfterAllIsNoFailure: a recorded error counts only while there is no result.
func TestWhatWasMeasuredAfterAllIsNoFailure(t *testing.T) {
	s := open(t)
	parent := s.request(control.NewRequest{Kind: events.Master, Tag: sha("a")})
	s.run(s.start(parent, "opt"), map[events.Benchmark]float64{"generics": -1, "hello": 1})
	s.tell(events.RequestCompleted{RequestID: parent.ID, Jobs: 1})
	child := s.request(control.NewRequest{Kind: events.Master, Tag: sha("b"), Parent: sha("a"), PR: 7})
	s.run(s.start(child, "opt"), map[events.Benchmark]float64{"generics": 0, "hello": -1})
	s.tell(events.RequestCompleted{RequestID: child.ID, Jobs: 1})
	expect(t, s.report(child), "### Newly failed benchmarks\n\n- `generics/opt/full/gc/linux-amd64`:", "1 newly failed benchmark**", "!hello/opt/full/gc", "!Incomplete")
}

func TestAnUnknownParentIsNoFault(t *testing.T) {
	s := open(t)
	r := s.request(control.NewRequest{Kind: events.Master, Tag: sha("b"), PR: 7})
	s.run(s.start(r, "opt"), map[events.Benchmark]float64{"generics": 1})
	s.tell(events.RequestCompleted{RequestID: r.ID, Jobs: 1})
	expect(t, s.report(r), "no parent results to compare with", "`"+string(sha("b"))+"` was measured (1 test case), and its parent is not known.")
}

func TestAQuarantinedRequestSaysWhy(t *testing.T) {
	s := open(t)
	r := s.request(control.NewRequest{Kind: events.Try, Tag: sha("b"), Parent: sha("a"), PR: 7, Key: "comment 1"})
	s.tell(events.RequestExpansionFailed{RequestID: r.ID, Reason: "no such profile", Failures: 3},
		events.RequestFailed{RequestID: r.ID, Reason: "quarantined: 3 times it could not be turned into jobs: no such profile"})
	s.tables.Labels = reporter.Labels{}
	made := s.report(r)
	expect(t, made, "**Overall result: ❌ nothing could be measured**", "> **The request failed:** quarantined: 3 times it could not be turned into jobs: no such profile\n")
	if len(made.AddLabels)+len(made.RemoveLabels) > 0 {
		t.Errorf("labels without names: %+v", made)
	}
}

// TestWhatFailedIsSaidByComparisonsToo: a comparison says the same about failures as the report on the pull request.
func TestWhatFailedIsSaidByComparisonsToo(t *testing.T) {
	s := open(t)
	parent := s.request(control.NewRequest{Kind: events.Master, Tag: sha("a")})
	s.run(s.start(parent, "opt"), map[events.Benchmark]float64{"generics": 1, "hello": 1})
	s.tell(events.RequestCompleted{RequestID: parent.ID, Jobs: 1})
	half := s.request(control.NewRequest{Kind: events.Try, Tag: sha("b"), Parent: sha("a"), PR: 7, Key: "comment 1"})
	s.run(s.start(half, "opt"), map[events.Benchmark]float64{"generics": 1, "hello": 0})
	s.tell(events.RequestFailed{RequestID: half.ID, Reason: "1 of 1 required jobs failed", Jobs: 1, FailedJobs: 1})
	whole := s.request(control.NewRequest{Kind: events.Try, Tag: sha("c"), Parent: sha("a"), PR: 7, Key: "comment 2"})
	s.run(s.start(whole, "opt"), map[events.Benchmark]float64{"generics": 0, "hello": 0})
	s.tell(events.RequestFailed{RequestID: whole.ID, Reason: "1 of 1 required jobs failed", Jobs: 1, FailedJobs: 1})

	overall := "no relevant changes - 1 newly failed benchmark, not everything could be measured"
	made := s.report(half)
	expect(t, made, "**Overall result: "+overall+"**")
	tables := comparison.Tables{Reader: s.tables.Reader}
	c, err := tables.Compare(t.Context(), comparison.Query{B: sha("b")})
	if err != nil || c.Overall != overall || c.Label != compare.LabelLeave {
		t.Errorf("comparison: %q, label %q, %v", c.Overall, c.Label, err)
	}
	if len(c.Failed) != 1 || !c.Failed[0].New || c.Failed[0].Message != "bench ended with exit code 2: panic: @you broke it" {
		t.Errorf("failed: %+v", c.Failed)
	}

	made = s.report(whole)
	expect(t, made, "**Overall result: ❌ nothing could be measured**")
	if diff := cmp.Diff([]string{"S-waiting-on-perf"}, made.RemoveLabels); diff != "" {
		t.Errorf("labels of a report on nothing:\n%s", diff)
	}
	_, err = tables.Compare(t.Context(), comparison.Query{B: sha("c")})
	want := string(sha("c")) + " has no results in suite go: nothing could be measured (1 of 1 required jobs failed): its request is failed, see `tacho request show " + string(sha("c")) + "`"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
