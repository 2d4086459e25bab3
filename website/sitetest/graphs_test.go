package sitetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// graph starts a request whose jobs need each other: smoke, then two of compile, then a hook after these.
func (st *story) graph(id events.RequestID) []events.JobSpec {
	st.t.Helper()
	found, err := st.now().Request(st.ctx, string(id))
	if err != nil {
		st.t.Fatal(err)
	}
	a := events.Artifact{Suite: "go", Tag: found.Tag, Kind: found.Kind}
	var jobs []events.JobSpec
	for _, part := range []struct {
		kind events.JobKind
		set  events.Set
	}{{"smoke", 1}, {"compile", 0}, {"compile", 1}, {"hook", 1}} {
		j := events.JobSpec{Artifact: a, Kind: part.kind, Target: machine, Set: part.set, Backend: "gc", Profile: "opt", Definitions: st.suite.Digest(), RequestID: id}
		j.ID = events.NewJobID(a, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
		jobs = append(jobs, j)
	}
	st.tell(
		events.RequestAdmitted{RequestID: id, Tag: found.Tag, Reason: "first in the queue"},
		events.RequestStarted{RequestID: id, Definitions: st.suite.Digest(), Jobs: len(jobs), Graphs: 1},
		events.GraphCreated{RequestID: id, Kind: events.GraphInitial, Jobs: len(jobs), Needs: 4},
		events.JobsCreated{RequestID: id, Jobs: jobs, Graph: &events.GraphPart{Needs: []events.JobNeeds{
			{Job: 1, On: []int{0}}, {Job: 2, On: []int{0}}, {Job: 3, On: []int{1, 2}, Until: events.UntilEnded},
		}, CostMS: []int64{5000, 240_000, 60_000, 1000}, Rank: []int{0, 1, 2, 3}}},
	)
	return jobs
}

// ends runs a job to an end on amd-1.
func (st *story) ends(j events.JobSpec, outcome events.Outcome, reason string) {
	st.t.Helper()
	token := st.dequeue(j, "amd-1")
	st.tell(events.JobFinished{
		Lane: j.Lane(), Place: st.places[j.Lane()], JobID: j.ID, RequestID: j.RequestID, Collector: "amd-1", Token: token, Attempt: 1, Outcome: outcome, Reason: reason,
	})
}

// shows checks what a page has and lacks.
func (st *story) shows(path string, has, lacks []string) {
	st.t.Helper()
	if _, err := st.now().Status(st.ctx); err != nil { // waits for the tables
		st.t.Fatal(err)
	}
	resp, page := st.get(path)
	if resp.StatusCode != http.StatusOK {
		st.t.Fatalf("%s: %s", path, resp.Status)
	}
	for _, part := range has {
		if !strings.Contains(page, part) {
			st.t.Errorf("%s lacks %q", path, part)
		}
	}
	for _, part := range lacks {
		if strings.Contains(page, part) {
			st.t.Errorf("%s has %q", path, part)
		}
	}
}

func TestPagesOfARequestWithAGraph(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	words := []string{"Graph", "blocked", "Needed by", `class="graph"`, "<dt>Expected</dt>", "expected "}
	st.shows("/requests/"+string(st.running), nil, append(words, "Needs"))
	st.shows("/jobs/"+string(st.work.ID), nil, append(words, "Needs"))
	empty, err := st.now().Graphs(st.ctx, string(st.running))
	if err != nil || empty.Graphs == nil || len(empty.Graphs) != 0 {
		t.Errorf("%v: %+v, want an empty list", err, empty)
	}

	id := st.master(sha("d"), "", 15)
	jobs := st.graph(id)
	page, job := "/requests/"+string(id), func(n int) string { return "/jobs/" + string(jobs[n].ID) }
	st.shows(page, []string{
		"<h2 id=\"graph-0\">Graph <span class=\"count\">4 jobs</span>", `<g class="job queued"><title>smoke · ○ queued</title>`,
		`<a href="` + job(1) + `"><g class="job blocked"><title>compile/0 · ◌ blocked</title>`, `class="ended"`, `<span class="state blocked">blocked</span>`,
		`<a href="` + job(1) + `">compile/0</a> <span class="meta">(any end)</span>`,
		`<span class="state blocked">blocked</span> <span class="meta">expected 4 min</span>`,
	}, []string{"skipped because", "✓ met"})
	st.shows(job(1), []string{
		`<span class="state blocked">blocked</span></h1>`, `<a href="` + job(0) + `">smoke</a> <span class="state queued">queued</span>`,
		`<a href="` + job(3) + `">hook</a> <span class="state blocked">blocked</span> <span class="meta">any end</span>`, "In the graph of its request",
		"<dt>Expected</dt><dd>4 min</dd>",
	}, nil)
	if w := st.expect(jobs[3].ID, readmodel.WaitNeeds, "it needs compile/linux-amd64/0/gc/opt (blocked) and compile/linux-amd64/1/gc/opt (blocked)"); w.NeedsCount != 2 || len(w.Needs) != 2 || w.Needs[1].JobID != jobs[2].ID {
		t.Errorf("%+v", w)
	}
	st.shows(job(0), []string{`<span class="none">no job</span>`, `<a href="` + job(2) + `">compile/1</a>`}, nil)
	st.shows("/", []string{`<span class="state blocked">blocked</span>`}, nil)

	st.ends(jobs[0], events.Failure, "it has no linker")
	st.shows(page, []string{
		`<g class="job failure">`, `<g class="job skipped"><title>compile/0 · ↷ skipped · because of smoke</title>`, `<g class="job queued"><title>hook · ○ queued</title>`,
		`<span class="state skipped">skipped</span> <span class="meta">because of smoke</span>`, `<span class="meta">✓ met</span>`,
	}, nil)
	st.shows(job(2), []string{`<span class="state skipped">skipped</span></h1>`, "it is skipped: smoke/linux-amd64/1/gc/opt failed;"}, nil)
	if w, err := st.now().Why(st.ctx, jobs[1].ID); err != nil || w.Reason != readmodel.WaitSkipped || w.SkippedBy.JobID != jobs[0].ID || !strings.Contains(w.Words, "it is skipped: smoke/linux-amd64/1/gc/opt failed;") {
		t.Errorf("%v: %+v", err, w)
	}
	shown, err := st.now().Graphs(st.ctx, string(sha("d"))[:12])
	if err != nil || shown.RequestID != id || len(shown.Graphs) != 1 || shown.Graphs[0].Nodes[2].State != "skipped" || *shown.Graphs[0].Nodes[2].SkippedBy != 0 {
		t.Errorf("%v: %+v", err, shown)
	}
	for state, want := range map[events.JobState]int{"skipped": 2, "blocked": 0, "failure": 1, "queued": 1} {
		if _, body := s.get(fmt.Sprintf("/api/v1/jobs?request=%s&state=%s", id, state)); strings.Count(body, `"request_id"`) != want {
			t.Errorf("%s: want %d jobs: %s", state, want, body)
		}
	}

	st.ends(jobs[3], events.Success, "")
	st.tell(
		events.JobsWithdrawn{RequestID: id, Jobs: []events.JobID{jobs[1].ID, jobs[2].ID}, Skipped: true},
		events.GraphEnded{RequestID: id, Outcome: events.Failure, Jobs: 4, Failed: 1, Skipped: 2, Causes: []int{0}},
		events.RequestFailed{RequestID: id, Reason: "3 of 4 jobs failed", Jobs: 4, FailedJobs: 3},
	)
	st.shows(page, []string{`<span class="count">4 jobs</span> <span class="state failure">failure</span>`, `<span class="state skipped">skipped</span> <span class="meta">because of smoke</span>`}, nil)
	st.shows(job(1), []string{`<p class="callout">Skipped because of smoke.</p>`}, nil)
	if resp, _ := s.get("/api/v1/requests/nothing/graphs"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("graphs of no request: %s", resp.Status)
	}
}

func TestLargeGraphsAreFoldedOnThePage(t *testing.T) {
	st := open(t, nil).story()
	id := st.master(sha("e"), "", 16)
	a := events.Artifact{Suite: "go", Tag: sha("e"), Kind: events.Master}
	var jobs []events.JobSpec
	var on []int
	for i := range 300 {
		j := events.JobSpec{Artifact: a, Kind: "compile", Target: machine, Backend: "gc", Profile: events.Profile(fmt.Sprint("p", i)), Definitions: st.suite.Digest(), RequestID: id}
		if i == 299 {
			j.Kind = "hook"
		} else {
			on = append(on, i)
		}
		j.ID = events.NewJobID(a, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
		jobs = append(jobs, j)
	}
	st.tell(
		events.RequestAdmitted{RequestID: id, Tag: sha("e"), Reason: "first in the queue"},
		events.RequestStarted{RequestID: id, Definitions: st.suite.Digest(), Jobs: len(jobs), Graphs: 1},
		events.GraphCreated{RequestID: id, Kind: events.GraphInitial, Jobs: len(jobs), Needs: len(on)},
		events.JobsCreated{RequestID: id, Jobs: jobs, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 299, On: on}}}},
	)
	st.shows("/requests/"+string(id), []string{">compile · 299 jobs</text>", "299 queued", ">hook · 1 job</text>", "There are too many to draw each"}, nil)
	st.shows("/jobs/"+string(jobs[299].ID), []string{"and 249 jobs more"}, nil)
}

func TestTheDrawingFollowsTheJobs(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	id := st.master(sha("d"), "", 15)
	jobs := st.graph(id)
	s.machines()
	b := browse(t)
	b.do(t, chromedp.Navigate(s.http.URL+"/requests/"+string(id)), chromedp.WaitVisible(chromedp.CSS(".live.on")), chromedp.WaitVisible(chromedp.CSS("svg.graph .blocked")))
	value[bool](t, b, `window.same = document.querySelector("details").open = true`)
	st.ends(jobs[0], events.Failure, "it has no linker")
	b.do(t, chromedp.WaitVisible(chromedp.CSS("svg.graph .failure")), chromedp.WaitVisible(chromedp.CSS("svg.graph .skipped")), chromedp.WaitVisible(chromedp.CSS("#graph-0-table .state.skipped")))
	if !value[bool](t, b, `window.same === true && document.querySelector("details").open`) {
		t.Error("the page was loaded again, or forgot what was open")
	}
	b.isAsSent(t)
}
