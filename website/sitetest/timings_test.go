package sitetest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// A graph whose first job fails: the last one runs after it, the others are skipped.
func TestTimingsOfAGraphThatFails(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	id := st.master(sha("d"), "", 15)
	jobs := st.graph(id)
	page := "/requests/" + string(id)
	ends := func(j events.JobSpec, outcome events.Outcome) {
		t.Helper()
		s.clock.advance(time.Minute)
		token := st.dequeue(j, "amd-1")
		s.clock.advance(3 * time.Minute)
		st.tell(events.JobFinished{
			Lane: j.Lane(), Place: st.places[j.Lane()], JobID: j.ID, RequestID: j.RequestID, Collector: "amd-1", Token: token, Attempt: 1, Outcome: outcome,
			Phases: &events.Phases{Wait: 1000, Fetch: 2000, Prepare: 3000, Run: 170_000, Store: 4000},
		})
	}
	ends(jobs[0], events.Failure)
	st.shows(page, []string{"Over time: 3 min running, 1 min waiting for machines, 12 min blocked<", "together, until now"}, []string{"machine time lost"})
	ends(jobs[3], events.Success)
	st.tell(
		events.JobsWithdrawn{RequestID: id, Jobs: []events.JobID{jobs[1].ID, jobs[2].ID}, Skipped: true},
		events.GraphEnded{RequestID: id, Outcome: events.Failure, Jobs: 4, Failed: 1, Skipped: 2, Causes: []int{0}},
		events.RequestFailed{RequestID: id, Reason: "3 of 4 jobs failed", Jobs: 4, FailedJobs: 3},
	)
	s.clock.advance(time.Hour)
	st.shows(page, []string{
		"Over time: 6 min running, 2 min waiting for machines, 12 min blocked, 8 min skipped<", `id="graph-0-path"`, `<a href="/jobs/` + string(jobs[3].ID) + `">hook</a></th><td data-label="Ready after">4 min</td>`,
		`<td data-label="Running" class="num">1.0</td><td data-label="Waiting" class="num">0.0</td><td data-label="Blocked" class="num">3.0</td><td data-label="Skipped" class="num">0.0</td>`,
	}, []string{"until now"})
	got, err := s.now().Timings(s.ctx, string(id), 0)
	minute := time.Minute.Milliseconds()
	if err != nil || got.Outcome != events.Failure || len(got.Path) != 2 || got.RunningMS != 6*minute || got.BlockedMS != 12*minute || got.SkippedMS != 8*minute || len(got.Rounds) != 4 {
		t.Fatalf("%v: %+v", err, got)
	}
	if got.Path[0].Name != "smoke" || got.Path[1].WaitingMS != minute || len(got.Rounds[0].Unblocked) != 1 || got.Rounds[0].Unblocked[0] != 3 {
		t.Errorf("path %+v, jobs %+v", got.Path, got.Rounds)
	}
	if p := got.Rounds[3].Phases; p == nil || p.Run != 170_000 || got.Phases.Fetch != 4000 || *got.Rounds[3].BegunMS != 5*minute || got.Rounds[1].SkippedMS != 4*minute {
		t.Errorf("jobs %+v", got.Rounds)
	}
	st.shows(page+"/graphs/0/timings", []string{
		"Graph 0 over time", `<svg xmlns="http://www.w3.org/2000/svg" class="timeline"`, `class="name critical"`, `<rect class="skipped"`, `<dt>Skipped</dt><dd>8 min</dd>`,
		`<td data-label="Began after">5 min</td>`, "2 s for its turn on the machine, 4 s fetch, 6 s prepare", `<td data-label="Unblocked" class="wide">hook</td>`,
	}, []string{"style="})
	if resp, _ := s.get(page + "/graphs/7/timings"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the page of no graph: %s", resp.Status)
	}
	for number, want := range map[string]int{"1": http.StatusNotFound, "x": http.StatusBadRequest} {
		resp, body := s.get("/api/v1/requests/" + string(id) + "/graphs/" + number + "/timings")
		if resp.StatusCode != want || !strings.Contains(body, "graph") {
			t.Errorf("graph %s: %s %s", number, resp.Status, body)
		}
	}
	st.shows("/requests/"+string(st.parent), nil, []string{"Over time", "blocked"})
}
