package sitetest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// samples makes a graph of copies of the job of set 1 of an artifact.
func (st *story) samples(id events.RequestID, tag events.Tag, graph int, kind events.GraphKind, copies int) (jobs []events.JobSpec) {
	st.t.Helper()
	a := events.Artifact{Suite: "go", Tag: tag, Kind: events.Master}
	for i := range copies {
		j := events.JobSpec{
			Artifact: a, Kind: "compile", Target: machine, Set: 1, Backend: "gc", Profile: "opt", Definitions: st.suite.Digest(), RequestID: id,
			Sample: events.NewSample(id, graph, i+1), Backfill: kind == events.GraphNoise,
		}
		j.ID = j.First()
		jobs = append(jobs, j)
	}
	st.tell(
		events.GraphAdmitted{RequestID: id, Key: fmt.Sprint("k", graph), Kind: kind, Jobs: copies, Graphs: 1},
		events.GraphCreated{RequestID: id, Graph: graph, Kind: kind, Key: fmt.Sprint("k", graph), Jobs: copies, Priority: events.PriorityIdle},
		events.JobsCreated{RequestID: id, Key: fmt.Sprint("k", graph), Jobs: jobs, Graph: &events.GraphPart{Graph: graph}},
	)
	return jobs
}

func TestPagesOfSamples(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	page, of := "/requests/"+string(st.child), func(j events.JobSpec) string { return "/jobs/" + string(j.ID) }
	for _, path := range []string{"/", "/requests", page, "/jobs/" + string(st.work.ID), "/collectors"} {
		st.shows(path, nil, []string{" sample", "Sample", ">sample", "retrigger", "Retrigger", " noise,", "Noise:"})
	}
	before, err := st.now().Compare(st.ctx, client.CompareQuery{Suite: "go", A: sha("a"), B: sha("b"), Metric: "instructions:u"})
	if err != nil || before.Verdict != "regression" {
		t.Fatalf("%v: %+v", err, before)
	}

	noise := st.samples(st.child, sha("a"), 1, events.GraphNoise, 3)
	st.shows(page, []string{
		`<h2 id="graph-1">Graph 1: noise, 3 samples of the parent <span class="count">3 jobs</span>`, "No sample has measured anything yet.", "Its jobs",
		`<a href="` + of(noise[1]) + `">compile · sample 2</a>`, "for 90 days",
	}, []string{"Jobs stand to the right", `class="graph"`})
	st.shows(of(noise[1]), []string{`<dt>Sample</dt><dd>2 of 3 of <a href="/requests/` + string(st.child) + `#graph-1">graph 1</a> (noise), of job`, "<dt>Priority</dt><dd>idle</dd>"}, []string{"In the graph of"})
	st.finish(noise[0], "amd-1", 1)
	st.finish(noise[1], "amd-1", 1.1)
	st.finish(noise[2], "amd-1", 1.05)
	st.tell(events.GraphEnded{RequestID: st.child, Graph: 1, Outcome: events.Success, Jobs: 3})
	st.shows(page, []string{
		`<span class="count">3 jobs</span> <span class="state success">success</span>`, `id="graph-1-samples"`, `<td data-label="Samples" class="num">3</td>`, `<td data-label="Spread" class="num">10.0%</td>`,
	}, []string{"Base series", "Each sample"})
	after, err := st.now().Compare(st.ctx, client.CompareQuery{Suite: "go", A: sha("a"), B: sha("b"), Metric: "instructions:u"})
	if err != nil {
		t.Fatal(err)
	}
	spread := 0
	for i, ch := range after.Changes {
		if was := before.Changes[i]; ch.A.Min != was.A.Min || ch.B.Min != was.B.Min {
			t.Errorf("%s was %v to %v and is %v to %v", ch.Case, was.A.Min, was.B.Min, ch.A.Min, ch.B.Min)
		}
		if ch.Rule == "equal_artifacts" {
			spread++
		}
	}
	if spread == 0 {
		t.Errorf("no change is judged by the noise: %+v", after.Changes)
	}

	again := st.samples(st.child, sha("b"), 2, events.GraphRetrigger, 2)
	st.finish(again[0], "amd-1", 2)
	st.tell(events.GraphCancelled{RequestID: st.child, Graph: 2, Reason: "one is enough"})
	st.shows(page, []string{
		"Graph 2: retrigger, 2 samples", "Cancelled ", "one is enough. It ends with its last job.", `<td data-label="Base series" class="num">`, `<td data-label="Each sample" class="wide">`,
		`<h2 id="jobs-heading">Jobs <span class="count">2</span></h2>`,
	}, nil)
	shown, err := st.now().Graphs(st.ctx, string(st.child))
	if err != nil || len(shown.Graphs) != 2 || len(shown.Graphs[0].Measured) == 0 || shown.Graphs[1].CancelledAt == nil {
		t.Fatalf("%v: %+v", err, shown)
	}
	if first := shown.Graphs[0].Measured[0]; first.Metric != "instructions:u" || len(first.Minima) != 3 || first.Base == nil || first.Spread == nil {
		t.Errorf("%+v", first)
	}
	if job, err := st.now().Job(st.ctx, again[1].ID); err != nil || job.SampleOf == nil || job.SampleOf.Words != "sample 2 of 2 of graph 2 (retrigger)" {
		t.Errorf("%v: %+v", err, job)
	}
	b := browse(t)
	for name, path := range map[string]string{"samples": page, "sample": of(noise[1])} {
		b.do(t, chromedp.Navigate(s.http.URL+path), chromedp.WaitVisible(chromedp.CSS("h1")))
		b.keepPicture(t, name)
		if wide := value[bool](t, b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`); wide {
			t.Errorf("%s is wider than its window", path)
		}
	}
}
