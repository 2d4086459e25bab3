package farm

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// notThere is the error of a collector while an artifact is not there yet.
func notThere() error {
	return &collector.PermanentError{Kind: events.ErrorArtifact, Err: errors.New("the server has no such artifact")}
}

// repair asks for the jobs of a request again. It returns the new jobs, or why the scheduler refused.
func (f *Farm) repair(id events.RequestID, key string, jobs ...events.JobID) ([]events.JobID, string) {
	f.T.Helper()
	if _, _, err := f.Control.RepairRequest(f.ctx, By, id, control.Repair{Key: key, Jobs: jobs}); err != nil {
		f.T.Fatal(err)
	}
	f.Await("an answer to "+key, func(events.Fact) bool {
		answer, err := f.Control.WishAnswer(f.ctx, id, key)
		return answer.Answered && err == nil
	})
	answer, err := f.Control.WishAnswer(f.ctx, id, key)
	if err != nil {
		f.T.Fatal(err)
	}
	var made []events.JobID
	for _, spec := range answer.Jobs {
		made = append(made, spec.ID)
	}
	return made, answer.Refused
}

// askAgain asks for the artifact t1 with another key.
func (f *Farm) askAgain(key string) events.RequestID {
	f.T.Helper()
	r, _, err := f.Control.CreateRequest(f.ctx, By, control.NewRequest{Suite: f.Suite.Name, Kind: events.Try, Key: key, Tag: "t1"})
	if err != nil {
		f.T.Fatal(err)
	}
	return r.ID
}

// An artifact was not there yet when it was asked for. Once it is, a person repairs the request. The request stays as it
// ended, every job has another round, and a repair that is asked for twice is done once.
func TestWhatFailedIsRepaired(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		there := false
		f.Start("first", here, "a1", &Bench{Err: func(events.JobSpec) error {
			if !there {
				return notThere()
			}
			return nil
		}})
		id := f.ask("t1")
		failed, ok := f.awaitEnd(id).(events.RequestFailed)
		if !ok {
			t.Fatalf("the request ended with %#v", failed)
		}
		there = true
		made, refused := f.repair(id, "k1")
		if len(made) != failed.FailedJobs || refused != "" {
			t.Fatalf("made %v, refused %q; %d jobs had failed", made, refused, failed.FailedJobs)
		}
		for _, job := range made {
			f.Await("the end of "+string(job), func(e events.Fact) bool {
				end, ok := e.(events.JobFinished)
				return ok && end.JobID == job && end.Outcome == events.Success
			})
		}
		if again, _ := f.repair(id, "k1"); len(again) != len(made) {
			t.Errorf("asked twice with one key, %d jobs were made", len(again))
		}
		if _, refused := f.repair(id, "k2"); refused == "" {
			t.Error("a request whose jobs all succeeded is repaired")
		}
		if _, refused := f.repair(id, "k3", "j0123"); refused == "" {
			t.Error("a job of nobody is repaired")
		}
		ends := 0
		for _, e := range f.Events() {
			switch e.Fact.(type) {
			case events.RequestFailed, events.RequestCompleted:
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("the request ended %d times", ends)
		}
	})
}

// A job that failed because its artifact was not there is run again for a request that comes an hour later. A request that
// comes sooner shares the failed job.
func TestWhatFailedByAFaultIsMeasuredForALaterRequest(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		there := false
		f.Start("first", here, "a1", &Bench{Err: func(events.JobSpec) error {
			if !there {
				return notThere()
			}
			return nil
		}})
		again := func(key string) (events.RequestStarted, events.Fact) {
			r := f.askAgain(key)
			return f.awaitStart(r), f.awaitEnd(r)
		}
		if _, failed := f.awaitEnd(f.ask("t1")).(events.RequestFailed); !failed {
			t.Fatal("the artifact was there")
		}
		there = true
		if started, end := again("soon"); started.Jobs != 0 {
			t.Errorf("at once: %d jobs are made, %#v", started.Jobs, end)
		}
		<-time.After(time.Hour)
		started, end := again("later")
		if _, completed := end.(events.RequestCompleted); started.Jobs == 0 || !completed {
			t.Errorf("an hour later: %d jobs, %#v", started.Jobs, end)
		}
	})
}

// However often it is asked for, a job that fails by a fault gets at most four rounds without a repair.
func TestAFaultIsNotTriedForEver(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		f.Start("first", here, "a1", &Bench{Err: func(events.JobSpec) error { return notThere() }})
		f.awaitEnd(f.ask("t1"))
		rounds := 1
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			<-time.After(2 * time.Hour)
			r := f.askAgain(key)
			if f.awaitStart(r).Jobs > 0 {
				rounds++
			}
			f.awaitEnd(r)
		}
		if rounds != 4 {
			t.Errorf("%d rounds, want 4", rounds)
		}
	})
}

// A release measures only its own benchmarks. A master request for the same artifact has the others measured.
func TestARequestIsCompleteWithAllItsBenchmarksAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := rustc(t)
		f := New(t, d, policy)
		defer f.Stop()
		f.Register("eider-0", lane0)
		f.Register("eider-1", lane1)
		f.Start("eider-0", lane0, "a", &Bench{})
		f.Start("eider-1", lane1, "b", &Bench{})
		release := f.request(control.NewRequest{Kind: events.Release, Tag: "1.90.0", ReleasedOn: "2026-01-01"})
		f.awaitEnd(release)
		master := f.request(control.NewRequest{Kind: events.Master, Tag: "1.90.0"})
		if started := f.awaitStart(master); started.Jobs == 0 || len(started.Shared) != 0 {
			t.Errorf("the master has %d jobs and shares %d with the release", started.Jobs, len(started.Shared))
		}
		f.awaitEnd(master)
		want := map[events.TestCase]bool{}
		for _, e := range f.Events() {
			made, ok := e.Fact.(events.JobsCreated)
			if !ok || made.RequestID != master {
				continue
			}
			for _, spec := range made.Jobs {
				plans, err := d.Plan(spec)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range plans {
					for _, c := range p.Cases {
						want[c] = true
					}
				}
			}
		}
		for _, e := range f.Events() {
			if m, ok := e.Fact.(events.TestCasesMeasured); ok {
				for _, c := range m.Cases {
					delete(want, c.TestCase)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("%d test cases of the master have no result", len(want))
		}
	})
}

// A suite has a new benchmark since an artifact was measured. A new request for the artifact measures only that one.
func TestANewBenchmarkIsMeasuredForOldArtifacts(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		f.Start("first", here, "a1", &Bench{})
		f.awaitEnd(f.ask("t1"))
		before := len(f.Events())
		more := f.Suite
		one := more.Benchmarks[0]
		one.Name = "another"
		more.Benchmarks = append(slices.Clone(more.Benchmarks), one)
		if _, err := f.Control.Publish(f.ctx, By, more); err != nil {
			t.Fatal(err)
		}
		r := f.askAgain("more")
		if started := f.awaitStart(r); started.Jobs == 0 {
			t.Errorf("%+v", started)
		}
		if end, ok := f.awaitEnd(r).(events.RequestCompleted); !ok {
			t.Errorf("%#v", end)
		}
		measured := 0
		for _, e := range f.Events()[before:] {
			if m, ok := e.Fact.(events.TestCasesMeasured); ok {
				for _, c := range m.Cases {
					measured++
					if c.Benchmark != "another" {
						t.Errorf("%s is measured again", c.TestCase)
					}
				}
			}
		}
		if measured == 0 {
			t.Error("nothing was measured")
		}
		if again := f.awaitStart(f.askAgain("once more")); again.Jobs != 0 {
			t.Errorf("%+v", again)
		}
	})
}

// All jobs of an artifact spend one budget of transient errors: the first of them tries for two hours, the others find it spent.
func TestAnArtifactHasOneBudgetOfTransientErrors(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		f.Start("first", here, "a1", &Bench{Err: func(events.JobSpec) error { return errors.New("503") }})
		begun := time.Now()
		failed, ok := f.awaitEnd(f.ask("t1")).(events.RequestFailed)
		if !ok || failed.FailedJobs < 2 {
			t.Fatalf("the request ended with %#v", failed)
		}
		if took := time.Since(begun); took < 2*time.Hour || took > 3*time.Hour {
			t.Errorf("%d jobs of one artifact took %s from the lane, want about two hours", failed.FailedJobs, took)
		}
		for _, e := range f.Events() {
			if q, ok := e.Fact.(events.CollectorQuarantined); ok {
				t.Errorf("a collector is to blame for an artifact: %+v", q)
			}
		}
	})
}

// Unreadable definitions are not a request's fault: it waits, says so once, and starts when there are readable ones.
func TestARequestWaitsForDefinitions(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		f.Start("first", here, "a1", &Bench{Each: 5 * time.Minute})
		f.awaitStart(f.ask("t0"))
		id := f.ask("t1")
		f.publishUnreadable()
		<-time.After(4 * time.Hour)
		said := 0
		for _, e := range f.Events() {
			switch e := e.Fact.(type) {
			case events.RequestExpansionFailed:
				said++
				if !e.Waits || e.Reason == "" || e.Failures != 0 {
					t.Errorf("%+v", e)
				}
			case events.RequestFailed:
				t.Errorf("%#v", e)
			case events.RequestStarted:
				if e.RequestID == id {
					t.Errorf("%#v", e)
				}
			}
		}
		if said != 1 {
			t.Errorf("it is said %d times that the request waits", said)
		}
		f.publish()
		if end, ok := f.awaitEnd(id).(events.RequestCompleted); !ok {
			t.Errorf("%#v", end)
		}
	})
}

// publishUnreadable makes definitions current that this program cannot read.
func (f *Farm) publishUnreadable() {
	f.T.Helper()
	last, _, err := f.Log.Last(f.ctx, events.SuiteSubject(f.Suite.Name))
	if err != nil {
		f.T.Fatal(err)
	}
	broken := events.DefinitionsPublished{Suite: f.Suite.Name, Digest: "future", Content: []byte(`{"from":"the future"}`)}
	if _, err := f.Log.Append(f.ctx, eventlog.Append{Subject: broken.Subject(), Expected: last.Seq, Events: []events.Event{
		eventlog.NewEvent(broken, eventlog.Meta{Source: "test", Actor: "test"}, time.Now()),
	}}); err != nil {
		f.T.Fatal(err)
	}
}

// publish makes the definitions of the farm current again.
func (f *Farm) publish() {
	f.T.Helper()
	if _, err := f.Control.Publish(f.ctx, By, f.Suite); err != nil {
		f.T.Fatal(err)
	}
}
