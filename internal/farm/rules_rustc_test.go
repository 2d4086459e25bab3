package farm

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// The rules of optional targets, of backfills and of failed requests, with the definitions of rustc.

const aarch64 = events.Target("aarch64-unknown-linux-gnu")

// sort is the sort of job that a test counts.
type sort struct {
	kind     events.JobKind
	target   events.Target
	optional bool
	backfill bool
}

// jobsOf counts the jobs that were made for a request.
func (f *Farm) jobsOf(id events.RequestID) map[sort]int {
	f.T.Helper()
	jobs := map[sort]int{}
	for _, e := range f.Events() {
		if made, ok := e.Fact.(events.JobsCreated); ok && made.RequestID == id {
			for _, j := range made.Jobs {
				jobs[sort{j.Kind, j.Target, j.Optional, j.Backfill}]++
			}
		}
	}
	return jobs
}

// folded returns a request as its events tell it.
func (f *Farm) folded(id events.RequestID) request.Request {
	f.T.Helper()
	history, err := f.Log.Read(f.ctx, events.RequestSubject(id))
	if err != nil {
		f.T.Fatal(err)
	}
	var r request.Request
	for _, e := range history {
		r = request.Evolve(r, e.Fact, e.Time)
	}
	return r
}

// awaitJobs waits until n jobs that count have ended.
func (f *Farm) awaitJobs(what string, n int, counts func(events.JobFinished) bool) {
	f.T.Helper()
	f.Await(what, func(fact events.Fact) bool {
		if j, ok := fact.(events.JobFinished); ok && counts(j) {
			n--
		}
		return n == 0
	})
}

func (f *Farm) try(key string, tag, parent events.Tag, p events.Parameters) events.RequestID {
	f.T.Helper()
	id := f.request(control.NewRequest{Kind: events.Try, Key: key, PR: 7, Parameters: p})
	if _, _, err := f.Control.ArtifactsReady(f.ctx, By, id, tag, parent); err != nil {
		f.T.Fatal(err)
	}
	return id
}

func TestATryForAarch64MakesSevenJobs(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		id := f.try("try", "t1", "", events.Parameters{Targets: []events.Target{aarch64}})
		f.awaitStart(id)
		want := map[sort]int{
			{kind: "compile", target: aarch64, optional: true}: 5,
			{kind: "runtime", target: aarch64, optional: true}: 1,
			{kind: "bootstrap", target: x86}:                   1,
		}
		if diff := cmp.Diff(want, f.jobsOf(id)); diff != "" {
			t.Error(diff)
		}
		// No collector of aarch64 was ever registered: the one required job ends the request.
		f.Start("eider-0", lane0, "a", &Bench{Each: time.Second})
		if end, ok := f.awaitEnd(id).(events.RequestCompleted); !ok || end.Jobs != 1 {
			t.Errorf("got %+v", end)
		}
	})
}

func TestAParentsOptionalJobsDoNotBlockItsChild(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		f.Start("eider-0", lane0, "a", &Bench{Each: time.Second})
		f.Start("eider-1", lane1, "b", &Bench{Each: time.Second})
		f.awaitEnd(f.master("c1", ""))
		child := f.try("try", "t1", "c1", events.Parameters{Targets: []events.Target{x86, aarch64}})
		if end, ok := f.awaitEnd(child).(events.RequestCompleted); !ok || end.Jobs != 12 {
			t.Errorf("got %+v", end)
		}
		want := map[sort]int{
			{kind: "compile", target: aarch64, optional: true, backfill: true}: 5,
			{kind: "compile", target: x86}:                                     10,
			{kind: "compile", target: aarch64, optional: true}:                 5,
			{kind: "runtime", target: x86}:                                     1,
			{kind: "runtime", target: aarch64, optional: true}:                 1,
			{kind: "bootstrap", target: x86}:                                   1,
		}
		if diff := cmp.Diff(want, f.jobsOf(child)); diff != "" {
			t.Error(diff)
		}
		for _, e := range f.Events() {
			if j, ok := e.Fact.(events.JobFinished); ok && j.Lane.Target == aarch64 {
				t.Errorf("event %d: a job of aarch64 ended, and nobody runs such jobs", e.Seq)
			}
		}
	})
}

func TestABackfillBlocksTheChildUntilItSucceeds(t *testing.T) {
	backfillBlocks(t, nil)
}

func TestABackfillBlocksTheChildUntilItFails(t *testing.T) {
	backfillBlocks(t, &collector.PermanentError{Kind: events.ErrorArtifact, Err: errors.New("c1 is not on the server")})
}

// backfillBlocks lets all jobs of a child end while the backfill of its parent, which appeared late, runs
// on one lane. Then the backfill ends in the given way.
func backfillBlocks(t *testing.T, outcome error) {
	inFarm(t, func(t *testing.T, f *Farm) {
		held := make(chan struct{})
		f.Start("eider-1", lane1, "b", &Bench{Each: time.Second})
		child := f.master("c2", "c1")
		own := func(j events.JobFinished) bool { return j.RequestID == child && j.Outcome == events.Success }
		f.awaitJobs("the jobs of lane 1", 5, own)
		f.master("c1", "")
		f.Await("the backfill", func(f events.Fact) bool { _, ok := f.(events.BackfillAdmitted); return ok })
		f.Start("eider-0", lane0, "a", &Bench{Each: time.Second, Err: func(spec events.JobSpec) error {
			if !spec.Backfill {
				return nil
			}
			<-held
			return outcome
		}})
		f.awaitJobs("12 jobs of the child and 5 of the backfill", 17, own)
		f.Pass(10 * time.Minute)
		if r := f.folded(child); r.State != events.StateInProgress {
			t.Errorf("the child is %s and the backfill of its parent runs", r.State)
		}
		close(held)
		if end, ok := f.awaitEnd(child).(events.RequestCompleted); !ok || end.Jobs != 12 {
			t.Errorf("got %+v", end)
		}
		ended := map[events.Outcome]int{}
		for _, e := range f.Events() {
			if j, ok := e.Fact.(events.JobFinished); ok && j.RequestID == child {
				ended[j.Outcome]++
			}
		}
		want := map[events.Outcome]int{events.Success: 22}
		if outcome != nil {
			want = map[events.Outcome]int{events.Success: 17, events.Failure: 5}
		}
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Error(diff)
		}
	})
}

func TestARequestOfFailedJobsFailsWithADuration(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Err: func(events.JobSpec) error {
			<-time.After(time.Minute)
			return &collector.PermanentError{Kind: events.ErrorArtifact, Err: errors.New("c1 is not on the server")}
		}}
		f.Start("eider-0", lane0, "a", bench)
		f.Start("eider-1", lane1, "b", bench)
		id := f.master("c1", "")
		end, ok := f.awaitEnd(id).(events.RequestFailed)
		if !ok || end.Jobs != 12 || end.FailedJobs != 12 {
			t.Errorf("got %+v", end)
		}
		// Lane 0 has seven jobs of a minute.
		if r := f.folded(id); r.State != events.StateFailed || r.StartedAt.IsZero() || r.EndedAt.Sub(r.StartedAt) < 7*time.Minute {
			t.Errorf("it is %s, started %s, ended %s", r.State, r.StartedAt, r.EndedAt)
		}
	})
}
