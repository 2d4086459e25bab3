package sitetest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/website/client"
)

func TestPagesOfAForcedJob(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	id := st.master(sha("d"), "", 15)
	jobs := st.graph(id)
	page, job := "/requests/"+string(id), "/jobs/"+string(jobs[2].ID)
	for _, path := range []string{page, job, "/requests/" + string(st.running)} {
		st.shows(path, nil, []string{"forced", "Forced"})
	}
	st.tell(events.JobForced{RequestID: id, JobID: jobs[2].ID, Key: "k", Reason: "smoke is <broken>"})
	st.shows(page, []string{`<span class="note" title="smoke is &lt;broken&gt;">forced</span>`}, nil)
	st.shows(job, []string{"Forced: it did not wait for all jobs that it needs. smoke is &lt;broken&gt;", `<span class="state queued">queued</span></h1>`}, nil)
	found, err := st.now().Graphs(st.ctx, string(id))
	if err != nil || found.Graphs[0].Nodes[2].Forced != "smoke is <broken>" || !found.Graphs[0].Nodes[2].Needs[0].Met || found.Graphs[0].Nodes[1].Forced != "" {
		t.Errorf("%v: %+v", err, found)
	}
	st.ends(jobs[2], events.Success, "")
	if j, err := st.now().Job(st.ctx, jobs[2].ID); err != nil || j.State != events.JobSuccess || j.Forced == "" {
		t.Errorf("%v: %+v", err, j)
	}
	st.shows(job, []string{"Forced:"}, nil)
}

// A comparison says which jobs measured without all that they need.
func TestComparisonsNameForcedJobs(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	id := st.master(sha("d"), sha("b"), 15)
	page := "/compare?suite=go&a=" + string(sha("b")) + "&b=" + string(sha("d"))
	jobs := st.graph(id)
	st.tell(events.JobForced{RequestID: id, JobID: jobs[2].ID, Key: "k", Reason: "smoke is <broken>"})
	st.finish(jobs[2], "amd-1", 1.04)
	want := "1 job ran although not all that it needs had succeeded: compile linux-amd64/1 gc opt (smoke is <broken>)."
	st.shows(page, []string{"Forced: " + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(want)}, nil)
	st.shows("/compare?suite=go&a="+string(sha("a"))+"&b="+string(sha("b")), nil, []string{"Forced"})
	found, err := st.now().Compare(st.ctx, client.CompareQuery{Suite: "go", A: sha("b"), B: sha("d")})
	if err != nil || len(found.Forced) != 1 || found.ForcedWords() != want {
		t.Errorf("%v: %+v", err, found.Forced)
	}
	for format, want := range map[string]string{"text": "Forced: " + want, "markdown": "> **Forced:** `1 job ran although"} {
		if _, text := st.get(strings.Replace(page, "/compare", "/api/v1/compare", 1) + "&format=" + format); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", format, want, text)
		}
	}
}

func TestAForcedJobIsReady(t *testing.T) {
	st := scheduled(t)
	id := st.master(sha("d"), "", 15)
	jobs := st.graph(id)
	force := client.Force{Key: "k1", Reason: "smoke is broken"}
	answer, err := st.client.ForceJob(st.ctx, jobs[3].ID[:10], force)
	if err != nil || answer.JobID != jobs[3].ID || answer.RequestID != id || !answer.Answered || answer.Key != "k1" || answer.State != events.StateInProgress {
		t.Fatalf("%+v, %v", answer, err)
	}
	again, err := st.client.ForceJob(st.ctx, jobs[3].ID, force)
	if err != nil || !again.Existed || !again.Answered {
		t.Errorf("the same once more: %+v, %v", again, err)
	}
	history, err := st.log.Read(st.ctx, events.RequestSubject(id))
	forced := 0
	for _, e := range history {
		if _, ok := e.Fact.(events.JobForced); ok {
			forced++
		}
	}
	if err != nil || forced != 1 {
		t.Errorf("%d times forced (%v)", forced, err)
	}
	found, err := st.now().Graphs(st.ctx, string(id))
	if err != nil || found.Graphs[0].Nodes[3].Forced != force.Reason || found.Graphs[0].Nodes[3].State == string(graph.Blocked) ||
		slices.ContainsFunc(found.Graphs[0].Nodes[3].Needs, func(n readmodel.GraphNeed) bool { return !n.Met }) {
		t.Errorf("%v: %+v", err, found)
	}
	for name, c := range map[string]struct {
		job    events.JobID
		force  client.Force
		status int
		says   string
	}{
		"no reason":             {jobs[2].ID, client.Force{}, http.StatusBadRequest, "--reason"},
		"an unknown job":        {"j00", force, http.StatusNotFound, "j00"},
		"an unknown request":    {jobs[2].ID, client.Force{Request: "r00", Reason: "x"}, http.StatusNotFound, "r00"},
		"of another request":    {jobs[2].ID, client.Force{Request: st.child, Reason: "x"}, http.StatusConflict, "is no job of request"},
		"of one that has ended": {st.work.ID, client.Force{Request: st.child, Reason: "x"}, http.StatusConflict, "is no job of request"},
	} {
		_, err := st.client.ForceJob(st.ctx, c.job, c.force)
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		wantStatus(t, err, c.status, c.says)
	}
	_, err = st.client.WantGraph(st.ctx, id, client.NewGraph{Kind: events.GraphForce, Jobs: []events.JobID{jobs[2].ID}, Reason: "x"})
	if err == nil || !strings.Contains(err.Error(), "/force") {
		t.Errorf("a graph of kind force: %v", err)
	}
}
