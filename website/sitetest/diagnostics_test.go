package sitetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// says begins a job, lets it print texts, and ends it with errors of 24 test cases.
func (st *story) says(j events.JobSpec, more int, texts ...string) {
	st.t.Helper()
	token := st.dequeue(j, "amd-1")
	st.clock.advance(3 * time.Minute)
	seen := events.DiagnosticsSeen{Lane: j.Lane(), JobID: j.ID, Collector: "amd-1", Token: token, Attempt: 1, More: more, Lines: map[string]int{"warning": more + 2*len(texts)}}
	for i, text := range texts {
		seen.Items = append(seen.Items, events.Diagnostic{Level: "warning", Code: "W1", Text: text, Hash: fmt.Sprintf("%016x", text), Count: 1 + i%2})
	}
	st.tell(seen)
	for i := range 24 {
		c := events.TestCase{Benchmark: events.Benchmark(fmt.Sprintf("bench-%02d", i)), Profile: j.Profile, Scenario: "full", Backend: j.Backend, Target: j.Target}
		st.tell(events.ErrorRecorded{
			Lane: j.Lane(), JobID: j.ID, Artifact: j.Artifact, Collector: "amd-1", Token: token, Attempt: 1, Kind: events.ErrorBenchmark, Context: string(c.Benchmark), Case: &c,
			Message: fmt.Sprintf("%s ended with exit code 2 after %d ms\nmain.go:%d: no <frobnicate>", c.Benchmark, i+3, i+1),
		})
	}
	st.tell(events.JobFinished{
		Lane: j.Lane(), Place: st.places[j.Lane()], JobID: j.ID, RequestID: j.RequestID, Collector: "amd-1", Token: token, Attempt: 1, Outcome: events.Failure,
		Fault: events.ErrorDiagnostics, Reason: "the commands succeeded, and printed 2 lines that the definitions deny",
	})
}

func TestDiagnosticsAndErrorsAreSaidOnce(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	id := st.master(sha("d"), "", 15)
	jobs := st.graph(id)
	shared := "warning: <b>unused</b> \u202ex"
	st.says(jobs[0], 0, shared)
	st.says(jobs[3], 9800, shared, "warning: "+strings.Repeat("only in the hook ", 60))
	first, last := string(jobs[0].ID), string(jobs[3].ID)
	st.shows("/jobs/"+first, []string{"2 × warning.", "<bdi>warning: &lt;b&gt;unused&lt;/b&gt;", "… and 23 other test cases: same error", `<h2 id="errors">Errors <span class="count">24<`}, nil)
	st.shows("/jobs/"+last, []string{"9804 × warning", "(1 duplicate: job <a class=\"code\" href=\"/jobs/" + first + "#diagnostics\">", "only in the hook", "and 9800 more"}, []string{"unused"})
	page := "/requests/" + string(id)
	st.shows(page, []string{"9806 × warning, 9802 different (1 duplicate). Each text", "9804 × warning, 9802 different (1 duplicate)</td>", "… and 47 other test cases: same error"}, nil)
	st.shows("/requests/"+string(st.parent), nil, []string{"iagnostics"})

	got, err := s.now().Diagnostics(s.ctx, string(id))
	if err != nil || len(got) != 1 || *got[0].Graph != 0 || got[0].Duplicates != 1 || len(got[0].Jobs) != 2 || got[0].Jobs[1].Number != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	graphs, err := s.now().Graphs(s.ctx, string(id))
	if err != nil || graphs.Graphs[0].Diagnostics == nil || graphs.Graphs[0].Diagnostics.Words() != got[0].Words() {
		t.Errorf("%+v, %v", graphs, err)
	}
	j, err := s.now().Job(s.ctx, jobs[3].ID)
	if err != nil || j.Diagnostics.More != 9800 || j.Diagnostics.Items[0].SaidBy != jobs[0].ID || j.Diagnostics.Items[1].SaidBy != "" {
		t.Errorf("%+v, %v", j.Diagnostics, err)
	}
	if none, err := s.now().Diagnostics(s.ctx, string(st.parent)); err != nil || none == nil || len(none) > 0 {
		t.Errorf("of a request that said nothing: %+v, %v", none, err)
	}
}

func TestDiagnosticsAndTimingsFitEveryScreen(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	id := st.master(sha("d"), "", 15)
	jobs := st.graph(id)
	for i, at := range []int{0, 3} {
		s.clock.advance(time.Minute)
		st.says(jobs[at], 9800*(1-i), "src/main.go:12: unused variable x", "warning: "+strings.Repeat("an-unbroken-line-of-many-words-", 20)+string(jobs[at].Kind))
	}
	s.clock.advance(time.Minute)
	s.machines()
	page := "/requests/" + string(id)
	browse(t).fitsEveryScreen(t, s, map[string]string{
		"said": "/jobs/" + string(jobs[0].ID), "said-again": "/jobs/" + string(jobs[3].ID), "said-graph": page, "timings": page + "/graphs/0/timings",
	})
}
