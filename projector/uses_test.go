package projector_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// ends executes a matched job on the first machine; its commands use so many MiB, and a second of CPU time for each.
func (s *story) ends(j events.JobSpec, outcome events.Outcome, mib int64, change ...func(*events.JobFinished)) {
	on := j.Bound(builders[0])
	s.tell(events.JobDispatched{Job: on, Closes: true, Share: turnOf("alice")})
	f := finished(on, s.tell(dequeued(on, 1, 0)), outcome)
	f.Used = &events.Used{PeakMemoryBytes: mib << 20, CPUMS: mib * 1000}
	for _, c := range change {
		c(&f)
	}
	s.tell(f)
}

// TestJobsAlikeTellWhatTheyUsed: the last ten jobs that tried their test cases count, and no others.
func TestJobsAlikeTellWhatTheyUsed(t *testing.T) {
	s := newStory(t)
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	s.staff()
	var jobs []events.JobSpec
	for i := range 16 {
		tag := events.Tag(fmt.Sprintf("sha%d", i))
		j := matchedJob(tag, "", "memory=2g", "trait=nvme")
		s.begin(created(tag, "", 0), j)
		jobs = append(jobs, j)
	}
	for i := range 9 {
		s.ends(jobs[i], events.Success, int64(100+i))
	}
	s.ends(jobs[9], events.Failure, 2048, func(f *events.JobFinished) { f.Measured, f.Failed = 0, 2 })
	s.ends(jobs[10], events.Failure, 500, func(f *events.JobFinished) { f.Fault = events.ErrorArtifact })
	s.ends(jobs[11], events.Success, 600, func(f *events.JobFinished) { f.Measured, f.Skipped = 0, 2 })
	s.ends(jobs[12], events.Success, 0, func(f *events.JobFinished) { f.Used = nil })
	s.ends(jobs[13], events.Success, 0, func(f *events.JobFinished) { f.Used = &events.Used{PeakMemoryBytes: -5, CPUMS: -5} })
	s.ends(jobs[14], events.Success, 300)
	static := job("sha99", lanes[0], "any")
	s.begin(created("sha99", "", 0), static)
	s.tell(events.JobDispatched{Job: static})
	f := finished(static, s.tell(dequeued(static, 1, 0)), events.Success)
	f.Used = &events.Used{PeakMemoryBytes: 1 << 40, CPUMS: 1}
	s.tell(f)

	url := project(t, s.stored, 1)
	r, ctx := open(t, url), t.Context()
	waiting, err := r.Job(ctx, jobs[15].ID)
	if err != nil {
		t.Fatal(err)
	}
	use := func(i int, state events.JobState, mib int64) readmodel.JobUse {
		return readmodel.JobUse{JobID: jobs[i].ID, State: state, PeakMemoryBytes: mib << 20, CPUMS: mib * 1000, MemoryMiB: 2048}
	}
	want := []readmodel.JobUse{use(14, events.JobSuccess, 300), use(13, events.JobSuccess, 0), use(9, events.JobFailure, 2048)}
	for i := 8; i >= 2; i-- {
		want = append(want, use(i, events.JobSuccess, int64(100+i)))
	}
	if diff := cmp.Diff(want, waiting.Alike); diff != "" {
		t.Errorf("what jobs like one that waits used:\n%s", diff)
	}
	if rows, err := r.Uses(ctx, suite); err != nil || len(rows) != 1 || len(rows[0].Uses) != 10 || rows[0].Uses[9] != want[0] {
		t.Errorf("of the suite: %+v, %v", rows, err)
	}
	for id, mib := range map[events.JobID]int64{jobs[10].ID: 500, jobs[12].ID: 0, jobs[13].ID: 0, static.ID: 0} {
		j, err := r.Job(ctx, id)
		if err != nil || j.PeakMemoryBytes != mib<<20 || j.CPUMS != mib*1000 {
			t.Errorf("job %s used %d bytes, %d ms, %v", id, j.PeakMemoryBytes, j.CPUMS, err)
		}
		if id == static.ID && j.Alike != nil {
			t.Errorf("jobs like the static one used %+v", j.Alike)
		}
	}

	rows := contents(t, url)
	for _, size := range []int{7, 1000} {
		if diff := cmp.Diff(rows, contents(t, project(t, s.stored, size))); diff != "" {
			t.Fatalf("batch size 1 (-) and %d (+):\n%s", size, diff)
		}
	}
	report, err := projector.Replay(ctx, newFeed("log", s.stored...), url, projector.ReplayOptions{Verify: true})
	if err != nil || !report.Identical() {
		t.Errorf("%+v %v", report, err)
	}
}
