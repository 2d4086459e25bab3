package sitetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

// evidence is all that the site says from results and from the lengths of jobs.
func (st *story) evidence() (all []any) {
	st.t.Helper()
	add := func(v any, err error) {
		st.t.Helper()
		if err != nil {
			st.t.Fatal(err)
		}
		all = append(all, v)
	}
	now := st.now()
	add(now.Compare(st.ctx, client.CompareQuery{Suite: "go", A: sha("a"), B: sha("b")}))
	add(now.Compare(st.ctx, client.CompareQuery{Suite: "go", A: sha("b"), B: sha("c")}))
	for _, path := range []string{
		"/api/v1/results?tag=" + string(sha("a")), "/api/v1/results?tag=" + string(sha("b")), "/api/v1/durations?target=" + string(machine), "/api/v1/uses",
		"/api/v1/compare?format=text&all=1&a=" + string(sha("a")) + "&b=" + string(sha("b")),
	} {
		resp, page := st.get(path)
		if resp.StatusCode != http.StatusOK {
			st.t.Fatalf("%s: %s", path, resp.Status)
		}
		all = append(all, page)
	}
	conn, err := pgx.Connect(st.ctx, st.url)
	if err != nil {
		st.t.Fatal(err)
	}
	defer conn.Close(st.ctx)
	for _, table := range []string{"noise", "job_duration", "job_use", "expected_jobs"} {
		var rows string
		if err := conn.QueryRow(st.ctx, "SELECT coalesce(json_agg(t ORDER BY t::text), '[]')::text FROM "+table+" t").Scan(&rows); err != nil {
			st.t.Fatal(err)
		}
		all = append(all, table+rows)
	}
	return all
}

// A wildly different result of a customised graph moves nothing, on the request's artifact as on its parent's, and is shown with
// a badge where its graph is.
func TestCustomisedResultsAreNoEvidence(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	for i, j := range st.samples(st.child, sha("a"), 1, events.GraphNoise, 2) {
		st.finish(j, "amd-1", 1+float64(i)/100)
	}
	st.tell(events.GraphEnded{RequestID: st.child, Graph: 1, Outcome: events.Success, Jobs: 2})
	before := st.evidence()

	var jobs []events.JobSpec
	for i, tag := range []events.Tag{sha("b"), sha("a")} {
		for set := range 2 {
			j := events.JobSpec{
				Artifact: events.Artifact{Suite: "go", Tag: tag, Kind: events.Master}, Kind: "compile", Target: machine, Set: events.Set(set), Backend: "gc", Profile: "opt",
				Definitions: st.suite.Digest(), RequestID: st.child, Sample: events.NewSample(st.child, 2, 1), Iterations: 30, Backfill: i > 0,
			}
			j.ID = j.First()
			jobs = append(jobs, j)
		}
	}
	st.tell(
		events.GraphAdmitted{RequestID: st.child, Key: "k2", Kind: events.GraphExternal, Jobs: len(jobs), Graphs: 1},
		events.GraphCreated{RequestID: st.child, Graph: 2, Kind: events.GraphExternal, Key: "k2", Jobs: len(jobs), Needs: 1, Priority: events.PriorityLow, Customised: true},
		events.JobsCreated{RequestID: st.child, Key: "k2", Jobs: jobs, Graph: &events.GraphPart{Graph: 2, Needs: []events.JobNeeds{{Job: 3, On: []int{1}}}}},
	)
	for i, j := range jobs[1:] { // amd-0 is busy
		if j.Set == 1 {
			st.finish(j, "amd-1", 100+float64(i))
		}
	}
	for i, was := range before {
		if diff := cmp.Diff(was, st.evidence()[i]); diff != "" {
			t.Errorf("evidence %d moved (-before +after):\n%s", i, diff)
		}
	}
	page, job := "/requests/"+string(st.child), "/jobs/"+string(jobs[1].ID)
	st.shows(page, []string{
		`<h2 id="graph-2">Graph 2: jobs that were submitted <span class="count">4 jobs</span> <span class="note" title=`, ">customised</span>", "no part of any history, comparison or estimate",
		`<li>compile/linux-amd64/0/gc/opt: iterations added: 30</li>`, `id="graph-2-samples"`, `<h2 id="jobs-heading">Jobs <span class="count">2</span></h2>`,
	}, nil)
	st.shows(job, []string{`(external) <span class="note">customised</span>`, "<dt>Iterations</dt><dd>30, and not as the definitions say</dd>"}, nil)
	if found, err := st.now().Job(st.ctx, jobs[1].ID); err != nil || found.SampleOf == nil || found.SampleOf.Words != "sample 1 of 1 of graph 2 (external, customised)" {
		t.Errorf("%v: %+v", err, found)
	}
	b := browse(t)
	b.do(t, chromedp.Navigate(s.http.URL+page+"#graph-2"), chromedp.WaitVisible(chromedp.CSS("h1")))
	b.keepPicture(t, "customised")
}

// customisable starts a request on a branch that lets people change its jobs.
func (st *story) customisable(tag, parent events.Tag, account events.AccountName) (events.RequestID, []events.JobSpec) {
	st.t.Helper()
	d := st.suite
	d.Version, d.Branches = 2, []suite.Branch{{Match: "*", Customise: suite.CustomiseAny}}
	if _, err := st.control.Publish(st.ctx, teller(), d); err != nil {
		st.t.Fatal(err)
	}
	st.suite = d
	id := st.request(control.NewRequest{Suite: "go", Kind: events.Master, Tag: tag, Parent: parent, Branch: "main", Account: account})
	return id, st.start(id)
}

// count counts the wishes for graphs of a request and their parts, made the graphs that it was given.
func (st *story) count(id events.RequestID) (n int) {
	for _, e := range st.history(id) {
		// Only these are asked for.
		//exhaustive:ignore
		switch e.Fact.(type) {
		case events.GraphProposed, events.GraphWanted:
			n++
		}
	}
	return n
}

func (st *story) made(id events.RequestID) (n int) {
	for _, e := range st.history(id) {
		if _, ok := e.Fact.(events.GraphCreated); ok {
			n++
		}
	}
	return n
}

func (st *story) history(id events.RequestID) []events.Recorded {
	st.t.Helper()
	history, err := st.log.Read(st.ctx, events.RequestSubject(id))
	if err != nil {
		st.t.Fatal(err)
	}
	return history
}

// The list of jobs that a request shows can be changed and submitted. The same key and graph is the same answer.
func TestWhatIsShownCanBeSubmitted(t *testing.T) {
	st := scheduled(t)
	id, _ := st.customisable(sha("d"), sha("b"), "")
	found, err := st.now().Request(st.ctx, string(id))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found.JobList {
		found.JobList[i].Iterations = 30
	}
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	submitted := client.SubmittedGraph{Graph: text, Key: "k1", Reason: "more of them", DryRun: true}
	shown, err := st.client.SubmitGraph(st.ctx, id, submitted)
	if err != nil || !shown.DryRun || len(shown.Jobs) != 2 || !shown.Customised || !strings.Contains(strings.Join(shown.Differences, "\n"), "compile/linux-amd64/1/gc/opt: iterations added: 30") {
		t.Fatalf("%+v, %v", shown, err)
	}
	if n := st.count(id); n > 0 {
		t.Fatalf("a dry run recorded %d facts", n)
	}
	submitted.DryRun = false
	made, err := st.client.SubmitGraph(st.ctx, id, submitted)
	if err != nil || !made.Answered || made.Existed || len(made.Jobs) != 2 || *made.Graph != 1 || !made.Customised || made.Jobs[0].Sample != events.NewSample(id, 1, 1) {
		t.Fatalf("%+v, %v", made, err)
	}
	again, err := st.client.SubmitGraph(st.ctx, id, submitted)
	if err != nil || !again.Existed || len(again.Jobs) != 2 || *again.Graph != 1 || !again.Customised {
		t.Errorf("the same once more: %+v, %v", again, err)
	}
	submitted.Graph = json.RawMessage(strings.Replace(string(text), `"iterations":30`, `"iterations":31`, 1))
	_, err = st.client.SubmitGraph(st.ctx, id, submitted)
	wantStatus(t, err, http.StatusConflict, "was used before for another wish")

	graphs, err := st.now().Graphs(st.ctx, string(id))
	if err != nil || len(graphs.Graphs) != 1 || graphs.Graphs[0].Nodes[1].Iterations != 30 || !graphs.Graphs[0].Customised {
		t.Fatalf("%v: %+v", err, graphs)
	}
	differs, err := st.now().GraphDifferences(st.ctx, string(id), 1)
	if err != nil || !differs.Customised || differs.Why != "" || len(differs.Differences) < 2 {
		t.Errorf("%v: %+v", err, differs)
	}
	text, _ = json.Marshal(graphs) // of a graph that was submitted, too
	submitted.Graph, submitted.Key = text, "k2"
	if made, err := st.client.SubmitGraph(st.ctx, id, submitted); err != nil || *made.Graph != 2 || !made.Customised {
		t.Errorf("%+v, %v", made, err)
	}
}

func TestWhatCannotBeSubmitted(t *testing.T) {
	st := scheduled(t)
	id, jobs := st.customisable(sha("d"), sha("b"), "")
	node := func(more string) string {
		return `{"nodes": [{"kind": "compile", "target": "linux-amd64", "set": 0, "backend": "gc", "profile": "opt"` + more + `}]}`
	}
	for name, c := range map[string]struct {
		id     events.RequestID
		graph  string
		status int
		says   string
	}{
		"an unknown request":      {"r00", node(""), 404, "r00"},
		"one that is not started": {st.release, node(""), 409, "has no jobs yet"},
		"a branch that forbids":   {st.child, node(""), 409, "no [[branch]] applies to this master request"},
		"no JSON object":          {id, "[]", 400, "line 1, column 1: a graph is an object"},
		"no jobs":                 {id, `{"nodes": []}`, 400, "the graph has no jobs"},
		"an unknown profile":      {id, node(`, "profile": "fast"`), 409, `job 0 (compile/linux-amd64/0/gc/fast): unknown profile "fast"`},
		"a set that is not there": {id, node(`, "set": 99`), 409, "set is 99: target linux-amd64 has 2"},
		"benchmarks of nothing":   {id, node(`, "benchmarks": ["nobody*"]`), 409, "matches nothing"},
		"someone's artifact":      {id, node(`, "tag": "abc"`), 409, "submit a graph for the request of abc"},
		"terms of a static job":   {id, node(`, "requires": ["os=linux"]`), 409, "leave requires out"},
		"a cycle":                 {id, node(`, "needs": [{"on": 0}]`), 400, "needs itself"},
		"a job of 2 MiB":          {id, node(`, "benchmarks": ["` + strings.Repeat("x", 2<<20) + `"]`), 400, "larger than 65536 bytes"},
		"10,001 jobs":             {id, `{"nodes": [` + strings.Repeat(`{},`, graph.MaxJobs) + `{}]}`, 400, "it may have 10000 jobs"},
		"30 MB of needs":          {id, node(`, "needs": [` + strings.Repeat(`{"on": 0},`, 3<<20) + `{"on": 0}]`), 413, "has at most 16 MiB"},
	} {
		for _, dry := range []bool{true, false} {
			_, err := st.client.SubmitGraph(st.ctx, c.id, client.SubmittedGraph{Graph: json.RawMessage(c.graph), DryRun: dry})
			t.Run(fmt.Sprint(name, dry), func(t *testing.T) { wantStatus(t, err, c.status, c.says) })
		}
	}
	for name, body := range map[string]string{
		"copies":     `{"graph": ` + node("") + `, "copies": 2}`,
		"downstream": `{"graph": ` + node("") + `, "downstream": "all"}`,
		"select":     `{"graph": ` + node("") + `, "select": ["kind=compile"]}`,
		"cut off":    `{"graph": {`,
	} {
		resp, text := st.do(http.MethodPost, "/api/v1/requests/"+string(id)+"/graphs/external", body, map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"})
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s: %s", name, resp.Status, text)
		}
	}
	_, err := st.client.WantGraph(st.ctx, id, client.NewGraph{Kind: events.GraphExternal})
	wantStatus(t, err, http.StatusBadRequest, "tacho graph submit FILE")
	bob, _ := st.account("bob", control.AccountChange{})
	_, err = bob.SubmitGraph(st.ctx, id, client.SubmittedGraph{Graph: json.RawMessage(node(""))})
	wantStatus(t, err, http.StatusForbidden, "lacks the right customise")
	carol, _ := st.account("carol", control.AccountChange{May: &[]events.Right{events.RightCustomise}})
	_, err = carol.SubmitGraph(st.ctx, id, client.SubmittedGraph{Graph: json.RawMessage(node(""))})
	wantStatus(t, err, http.StatusForbidden, "is not of account carol")
	if n := st.made(id) + st.made(st.child); n > 0 || len(jobs) != 2 {
		t.Errorf("%d graphs were made", n)
	}
}
