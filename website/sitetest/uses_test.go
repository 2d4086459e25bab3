package sitetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
)

func TestWhatJobsUsedAndHintsAboutIt(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	st.staff()
	hungry := s.suite
	hungry.Kinds = slices.Clone(s.suite.Kinds)
	for i := range hungry.Kinds {
		hungry.Kinds[i].Lanes, hungry.Kinds[i].Backfill, hungry.Kinds[i].Requires = suite.LanesAny, false, []string{"memory=24g"}
	}
	st.ask(s.control.Publish(s.ctx, teller(), hungry))
	var jobs []events.JobSpec
	ends := func(n int) {
		_, made := st.asked(sha(fmt.Sprint(n)), []string{"exclusive", "memory=24g"})
		j := made[0]
		jobs = append(jobs, j)
		token := st.begun(j, pool[0], "eider-3-1", 1)
		st.tell(events.JobFinished{
			Lane: pool[0], Place: st.places[pool[0]], JobID: j.ID, RequestID: j.RequestID, Collector: "eider-3-1", Token: token, Attempt: 1,
			Outcome: events.Success, Measured: 2, DurationMS: 9000, Used: &events.Used{PeakMemoryBytes: int64(n) << 30, CPUMS: int64(n) * 1000},
		})
	}
	ends(5)
	ends(6)
	if found, err := st.now().Machines(s.ctx); err != nil || len(found.Hints) > 0 {
		t.Errorf("after two jobs: %+v, %v", found.Hints, err)
	}
	ends(7)
	found, err := st.now().Machines(s.ctx)
	if err != nil || len(found.Hints) != 1 {
		t.Fatalf("%+v, %v", found.Hints, err)
	}
	want := "kind compile of suite go requires memory=24g; its last 3 jobs had at most 7168 MiB, less than half of that: write memory=9g"
	if h := found.Hints[0]; h.Words != want || h.JobID != jobs[2].ID || h.ProposedMiB != 9<<10 {
		t.Errorf("%+v", h)
	}
	j, err := s.now().Job(s.ctx, jobs[0].ID)
	if err != nil || j.PeakMemoryBytes != 5<<30 || j.CPUMS != 5000 || len(j.Alike) != 3 || j.Alike[0] != (readmodel.JobUse{
		JobID: jobs[2].ID, State: events.JobSuccess, PeakMemoryBytes: 7 << 30, CPUMS: 7000, MemoryMiB: 24 << 10,
	}) {
		t.Errorf("%+v, %v", j, err)
	}
	if uses, err := s.now().Uses(s.ctx, "go"); err != nil || len(uses) != 1 || len(uses[0].Uses) != 3 || len(readmodel.MemoryHints(hungry, uses)) != 1 {
		t.Errorf("%+v, %v", uses, err)
	}
	for path, parts := range map[string][]string{
		"/machines":                   {want, "/jobs/" + string(jobs[2].ID)},
		"/jobs/" + string(jobs[0].ID): {"5.0 GiB of memory at its peak, 5 s of CPU time", "The last jobs like it used", "7.0 GiB", "24.0 GiB", "7 s"},
		"/api/v1/machines":            {`"hints":`},
		"/api/v1/uses":                {`"peak_memory_bytes":`},
	} {
		_, page := s.get(path)
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q", path, part)
			}
		}
	}
}
