package projector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/match"
)

// sampled is a story in which b0 is 4 % slower in sha2 than in sha1.
type sampled struct{ *farm }

func newSampled(t *testing.T) *sampled {
	s := &sampled{&farm{story: newStory(t), parent: job("sha1", lanes[0], "opt"), child: job("sha2", lanes[0], "opt")}}
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	s.man(lanes[:]...)
	s.tell(events.CollectorOnline{Name: collectorOf(lanes[0]), Instance: "i1", Version: "v1", Environment: events.Environment{Fingerprint: "env1"}})
	s.tell(created("sha1", "", 0))
	s.startRequest("sha1", s.parent)
	s.measures(s.parent, 1.00)
	s.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 1})
	s.tell(created("sha2", "sha1", 0))
	s.startRequest("sha2", s.child)
	s.measures(s.child, 1.04)
	return s
}

// measures runs a job that measures b0.
func (s *sampled) measures(j events.JobSpec, seconds float64) {
	f := measured(j, s.tell(dequeued(j, 1, 0)), "b0")
	f.Cases[0].Iterations = nil
	for n := range 8 {
		f.Cases[0].Iterations = append(f.Cases[0].Iterations, events.Iteration{Metrics: map[events.Metric]float64{"wall-time": seconds * (1 + 1e-6*float64(n))}})
	}
	s.tell(f)
	s.tell(finished(j, f.Token, events.Success))
}

// wishes makes a graph of copies of a job for the request of sha2.
func (s *sampled) wishes(number int, kind events.GraphKind, base events.JobSpec, copies int) (jobs []events.JobSpec) {
	id := requestID("sha2")
	for i := range copies {
		j := base
		j.RequestID, j.Sample, j.Backfill = id, events.NewSample(id, number, i+1), base.Artifact.Tag != "sha2"
		j.ID = j.First()
		jobs = append(jobs, j)
	}
	priority := events.PriorityIdle
	if kind == events.GraphRetrigger {
		priority = events.PriorityHigh // its request is less urgent
	}
	s.tell(events.GraphCreated{RequestID: id, Graph: number, Kind: kind, Key: "k", Jobs: copies, Priority: priority})
	s.tell(events.JobsCreated{RequestID: id, Key: "k", Jobs: jobs, Graph: &events.GraphPart{Graph: number}})
	return jobs
}

// judged compares sha2 with sha1 by what the tables hold after the story so far.
func (s *sampled) judged(t *testing.T) (*readmodel.Reader, compare.Change) {
	t.Helper()
	r := open(t, project(t, s.stored, 7))
	c, err := comparison.Tables{Reader: r}.Compare(t.Context(), comparison.Query{B: "sha2", Suite: suite})
	if err != nil || len(c.Changes) != 1 {
		t.Fatalf("%v: %+v", err, c)
	}
	return r, c.Changes[0]
}

// TestNoiseWidensTheThreshold: a change within what a noise graph finds is no change; until its end the samples say nothing.
func TestNoiseWidensTheThreshold(t *testing.T) {
	s := newSampled(t)
	if _, ch := s.judged(t); ch.Judgement != compare.Regressed || ch.Rule != compare.RuleFewResults || ch.Threshold != 0.02 {
		t.Fatalf("without noise: %+v", ch)
	}
	jobs := s.wishes(1, events.GraphNoise, s.parent, 4)
	s.measures(jobs[0], 1.1)
	s.measures(jobs[1], 1.25)
	s.measures(jobs[2], 1.0)
	s.tell(failedCase(jobs[3], s.tell(dequeued(jobs[3], 1, 0)), "exit status 2"))
	s.tell(finished(jobs[3], s.lane(lanes[0]).Token, events.Failure))
	r, before := s.judged(t)
	if before.Judgement != compare.Regressed || before.A.Min != 1 {
		t.Errorf("before the end of the graph: %+v", before)
	}
	graphs, err := r.Graphs(t.Context(), requestID("sha2"))
	if err != nil || len(graphs) != 1 || graphs[0].Copies != 4 || graphs[0].Kind != events.GraphNoise || graphs[0].Nodes[1].Sample != jobs[1].Sample {
		t.Fatalf("%v: %+v", err, graphs)
	}
	if diff := cmp.Diff([]string{"compile · sample 1", "compile · sample 2", "compile · sample 3", "compile · sample 4"}, graphs[0].Names()); diff != "" {
		t.Error(diff)
	}
	err = comparison.Tables{Reader: r}.Measured(t.Context(), suite, graphs)
	base, spread := 1.0, 0.25
	want := []readmodel.SampledMetric{{
		Tag: "sha1", TestCase: before.Case, Metric: "wall-time", Unit: "s", Environment: "env1",
		Minima: []readmodel.SampleMinimum{{Copy: 1, Value: 1.1}, {Copy: 2, Value: 1.25}, {Copy: 3, Value: 1}}, Smallest: 1, Largest: 1.25, Spread: &spread, Base: &base,
	}}
	if diff := cmp.Diff(want, graphs[0].Measured); diff != "" || err != nil {
		t.Error(err, diff)
	}

	s.tell(events.GraphEnded{RequestID: requestID("sha2"), Graph: 1, Outcome: events.Success, Jobs: 4})
	if _, ch := s.judged(t); ch.Judgement != compare.Unchanged || ch.Rule != compare.RuleSpread || ch.Threshold != spread || ch.A.Min != 1 {
		t.Errorf("after the noise graph: %+v", ch)
	}
	s.tell(retired(s.at.Unix() + 1))
	if _, ch := s.judged(t); ch.Rule != compare.RuleSpread {
		t.Errorf("after the graph has left: %+v", ch)
	}
	for at, want := range map[int]int{-89: 1, -91: 0, 89: 1, 91: 0} {
		r := open(t, project(t, s.stored, 100))
		if list, err := r.Spreads(t.Context(), suite, s.at.AddDate(0, 0, at), ""); err != nil || len(list) != want {
			t.Errorf("%d days: %v, %+v", at, err, list)
		}
	}
	url := project(t, s.stored, 3)
	verify(t, newFeed("log", s.stored...), url)
}

// TestLateSamplesAreNoNoise: what comes after the end of the graph says nothing, also if both are in one batch.
func TestLateSamplesAreNoNoise(t *testing.T) {
	s := newSampled(t)
	jobs := s.wishes(1, events.GraphNoise, s.parent, 3)
	s.measures(jobs[0], 1.1)
	s.measures(jobs[1], 1.2)
	token := s.tell(dequeued(jobs[2], 1, 0))
	s.tell(events.GraphEnded{RequestID: requestID("sha2"), Graph: 1, Outcome: events.Success, Jobs: 3})
	s.tell(measured(jobs[2], token, "b0"))
	want := contents(t, project(t, s.stored, 1))
	if len(want["noise"]) != 1 {
		t.Errorf("%q", want["noise"])
	}
	if diff := cmp.Diff(want, contents(t, project(t, s.stored, 1000))); diff != "" {
		t.Error(diff)
	}
}

// TestSamplesAreNoneOfTheJobs: what counts jobs, judges or shows errors leaves samples out, also once they have left.
func TestSamplesAreNoneOfTheJobs(t *testing.T) {
	s := newSampled(t)
	ctx, id := t.Context(), requestID("sha2")
	noise := s.wishes(1, events.GraphNoise, s.parent, 2)
	again := s.wishes(2, events.GraphRetrigger, s.child, 2)
	s.measures(again[0], 3)
	s.tell(failedCase(again[1], s.tell(dequeued(again[1], 1, 0)), "exit status 2"))
	s.tell(finished(again[1], s.lane(lanes[0]).Token, events.Failure))
	s.tell(measured(noise[0], s.tell(dequeued(noise[0], 1, 0)), "b0"))
	s.tell(events.PriorityChanged{RequestID: id, To: events.PriorityLow})
	look := func(list int, want readmodel.JobCounts) *readmodel.Reader {
		t.Helper()
		r, ch := s.judged(t)
		if ch.B.N != 8 || ch.B.Min != 1.04 {
			t.Errorf("the base series: %+v", ch)
		}
		found, err := r.Request(ctx, id)
		if err != nil || len(found.JobList) != list || found.Errors != 0 {
			t.Fatalf("%v: %d jobs, %d errors", err, len(found.JobList), found.Errors)
		}
		if diff := cmp.Diff(want, found.Jobs); diff != "" {
			t.Error(diff)
		}
		report, err := comparison.Tables{Reader: r}.ReportOf(ctx, id)
		if err != nil || len(report.FailedCases)+len(report.FailedJobs) != 0 {
			t.Errorf("%v: %+v", err, report)
		}
		if results, err := r.Results(ctx, suite, "sha2"); err != nil || len(results) != 1 || results[0].JobID != s.child.ID {
			t.Errorf("%v: %+v", err, results)
		}
		errs, err := r.Errors(ctx, id)
		if of, err2 := r.ErrorsOf(ctx, suite, "sha2"); err != nil || err2 != nil || len(errs)+len(of) != 0 {
			t.Errorf("%v, %v: %+v %+v", err, err2, errs, of)
		}
		return r
	}
	r := look(1, readmodel.JobCounts{Total: 1, Success: 1, Samples: 4})
	shown, err := r.Job(ctx, again[1].ID)
	if err != nil || shown.SampleOf == nil || shown.SampleOf.Words != "sample 2 of 2 of graph 2 (retrigger)" || shown.SampleOf.JobID != s.child.ID || len(shown.ErrorList) != 1 {
		t.Errorf("%v: %+v", err, shown)
	}
	if base, err := r.Job(ctx, s.child.ID); err != nil || base.SampleOf != nil {
		t.Errorf("%v: %+v", err, base)
	}
	if of, err := r.Job(ctx, noise[1].ID); err != nil || of.SampleOf.JobID != s.parent.ID || of.Priority != events.PriorityIdle {
		t.Errorf("%v: %+v", err, of)
	}
	if history, err := r.History(ctx, suite, "sha2", 30, ""); err != nil || len(history) != 1 || len(history[0].Minima) != 1 || history[0].Minima[0] != 1 {
		t.Errorf("%v: %+v", err, history)
	}
	if took, err := r.Durations(ctx, suite, lanes[0].Target); err != nil || len(took) != 1 || *took[0].Seconds > 10 || took[0].Artifacts != 2 {
		t.Errorf("%v: %+v", err, took)
	}

	s.tell(events.GraphCancelled{RequestID: id, Graph: 1, Reason: "enough"})
	s.tell(events.JobsWithdrawn{RequestID: id, Jobs: []events.JobID{noise[1].ID}})
	graphs, err := look(1, readmodel.JobCounts{Total: 1, Success: 1, Samples: 4}).Graphs(ctx, id)
	if err != nil || graphs[0].CancelledAt == nil || graphs[0].CancelReason != "enough" || graphs[0].EndedAt != nil || graphs[1].CancelledAt != nil {
		t.Errorf("%v: %+v", err, graphs)
	}
	s.tell(finished(noise[0], s.lane(lanes[0]).Token, events.Cancelled))
	s.tell(events.GraphEnded{RequestID: id, Graph: 1, Outcome: events.Cancelled})
	s.tell(events.RequestCompleted{RequestID: id, Jobs: 1})
	s.tell(events.GraphEnded{RequestID: id, Graph: 2, Outcome: events.Failure})
	s.tell(retired(s.at.Unix() + 1))
	look(0, readmodel.JobCounts{Total: 1, Success: 1, Samples: 4, Retired: 1})
}

// TestSamplesWaitBehindTheJobs: a sample has a place of its own in the line, and an idle one delays no request before it runs.
func TestSamplesWaitBehindTheJobs(t *testing.T) {
	s := newSampled(t)
	id := requestID("sha2")
	jobs := s.wishes(1, events.GraphNoise, s.parent, 3)
	fresh := s.wishes(2, events.GraphRetrigger, s.child, 2)
	r := open(t, project(t, s.stored, 1000))
	for n, want := range map[events.JobID]events.Priority{jobs[0].ID: events.PriorityIdle, fresh[0].ID: ""} {
		if j, err := r.Job(t.Context(), n); err != nil || j.Priority != want {
			t.Errorf("%v: job %s waits at %q, want %q", err, n, j.Priority, want)
		}
	}
	s.tell(created("sha3", "sha2", 0))
	other := job("sha3", lanes[0], "opt")
	s.tell(events.RequestStarted{RequestID: requestID("sha3"), Definitions: "d1", Jobs: 1})
	s.tell(events.JobsCreated{RequestID: requestID("sha3"), Jobs: []events.JobSpec{other}})
	for _, q := range s.queueOf() { // its job takes 90 s, as do the two samples that are as urgent as the request before
		if left := q.EstimatedEnd.Sub(s.at); q.Tag == "sha3" && (left > 271*time.Second || left < 260*time.Second) {
			t.Errorf("it ends in %s: %+v", left, q)
		}
	}
	s.tell(events.PriorityChanged{RequestID: id, To: events.PriorityHigh})
	s.waits(t, jobs[2], 3)  // of the more urgent tier
	s.waits(t, other, 2)    // those of the high retrigger
	s.waits(t, fresh[1], 1) // its sibling
	s.tell(events.PriorityChanged{RequestID: id, To: events.PriorityLow})
	s.waits(t, fresh[1], 1+1) // also the normal one
	s.waits(t, other, 0)
}

// TestANarrowedSampleLeadsToItsJob: also if another request had some benchmarks of the same artifact measured since.
func TestANarrowedSampleLeadsToItsJob(t *testing.T) {
	s := newSampled(t)
	other := s.child
	other.RequestID, other.Benchmarks = requestID("sha1"), []string{"b0"}
	other.ID = other.First()
	s.tell(events.JobsCreated{RequestID: other.RequestID, Key: "more", Jobs: []events.JobSpec{other}})
	for number, globs := range [][]string{{"b0"}, {"b*"}, nil} {
		narrowed := s.child
		narrowed.Benchmarks = globs
		sample := s.wishes(number+1, events.GraphRetrigger, narrowed, 1)[0]
		j, err := open(t, project(t, s.stored, 1000)).Job(t.Context(), sample.ID)
		if err != nil || j.SampleOf == nil || j.SampleOf.JobID != s.child.ID {
			t.Errorf("%v: a sample of %v leads to %+v, want %s", err, globs, j.SampleOf, s.child.ID)
		}
	}
}

// TestPrioritiesOfSamples: a sample is as urgent as its request if its graph names no priority, and never more urgent.
func TestPrioritiesOfSamples(t *testing.T) {
	s := newSampled(t)
	id := requestID("sha2")
	wants := map[events.JobID]map[events.Priority]events.Priority{}
	for number, tt := range []struct {
		graph           events.Priority
		ofVIP, of, idle events.Priority
	}{{"", "vip", "", "idle"}, {"normal", "", "", "idle"}, {"low", "low", "low", "idle"}, {"vip", "vip", "", "idle"}} {
		j := s.child
		j.RequestID, j.Sample = id, events.NewSample(id, number+1, 1)
		j.ID = j.First()
		wants[j.ID] = map[events.Priority]events.Priority{"vip": tt.ofVIP, "": tt.of, "idle": tt.idle}
		s.tell(events.GraphCreated{RequestID: id, Graph: number + 1, Kind: events.GraphRetrigger, Key: "k", Jobs: 1, Priority: tt.graph})
		s.tell(events.JobsCreated{RequestID: id, Key: "k", Jobs: []events.JobSpec{j}, Graph: &events.GraphPart{Graph: number + 1}})
	}
	check := func(priority events.Priority) {
		t.Helper()
		r := open(t, project(t, s.stored, 1000))
		for n, want := range wants {
			if j, err := r.Job(t.Context(), n); err != nil || j.Priority != want[priority] {
				t.Errorf("%v: sample %s of a request of priority %q waits at %q, want %q", err, j.Sample, priority, j.Priority, want[priority])
			}
		}
	}
	check("")
	for _, to := range []events.Priority{"vip", "idle"} {
		s.tell(events.PriorityChanged{RequestID: id, To: to})
		check(to)
	}
	s.tell(events.PriorityChanged{RequestID: id, To: "high"})
	for graph, to := range []events.Priority{"normal", "idle", "vip", "high"} {
		s.tell(events.PriorityChanged{RequestID: id, Graph: new(graph + 1), To: to})
	}
	s.tell(events.PriorityChanged{RequestID: id, Graph: new(9), To: "vip"})
	for n := range wants {
		j, err := open(t, project(t, s.stored, 1000)).Job(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		graph := strings.Split(j.Sample, "-")[1]
		if want := map[string]events.Priority{"1": "", "2": "idle", "3": "high", "4": "high"}[graph]; j.Priority != want {
			t.Errorf("sample %s waits at %q, want %q", j.Sample, j.Priority, want)
		}
	}
	s.tell(events.RequestCompleted{RequestID: id, Jobs: 1}) // its samples still wait
	s.tell(events.PriorityChanged{RequestID: id, Graph: new(4), To: "low"})
	for n := range wants {
		if j, err := open(t, project(t, s.stored, 1000)).Job(t.Context(), n); err != nil || strings.Contains(j.Sample, "-4-") && j.Priority != "low" {
			t.Errorf("%v: sample %s waits at %q", err, j.Sample, j.Priority)
		}
	}
}

// waits checks how many jobs come before one that waits.
func (s *sampled) waits(t *testing.T, j events.JobSpec, ahead int) {
	t.Helper()
	why, err := open(t, project(t, s.stored, 3)).Why(t.Context(), string(j.ID), match.Waits{Now: s.at})
	if err != nil || why.Ahead != ahead {
		t.Errorf("%v: %d jobs are before %s, want %d: %s", err, why.Ahead, j.ID, ahead, why.Words)
	}
}
