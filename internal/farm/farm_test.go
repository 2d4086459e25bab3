package farm

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
)

const x86 = events.Target("x86_64-unknown-linux-gnu")

var (
	lane0  = events.Lane{Target: x86, Set: 0}
	lane1  = events.Lane{Target: x86, Set: 1}
	policy = scheduler.Policy{MaxInProgress: 1, ArtifactDeadline: 7 * 24 * time.Hour, ExpansionRetry: 30 * time.Second}
)

func rustc(t testing.TB) suite.Definitions {
	t.Helper()
	d, err := definitions.Shipped("rustc")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// inFarm runs a test in a bubble with a farm of the rustc definitions and two registered collectors.
func inFarm(t *testing.T, f func(t *testing.T, f *Farm)) {
	synctest.Test(t, func(t *testing.T) {
		farm := New(t, rustc(t), policy)
		defer farm.Stop()
		farm.Register("eider-0", lane0)
		farm.Register("eider-1", lane1)
		f(t, farm)
		check(t, farm)
	})
}

func (f *Farm) request(n control.NewRequest) events.RequestID {
	f.T.Helper()
	n.Suite = "rustc"
	r, _, err := f.Control.CreateRequest(f.ctx, By, n)
	if err != nil {
		f.T.Fatal(err)
	}
	return r.ID
}

func (f *Farm) master(tag, parent events.Tag) events.RequestID {
	f.T.Helper()
	return f.request(control.NewRequest{Kind: events.Master, Tag: tag, Parent: parent})
}

func (f *Farm) awaitStart(id events.RequestID) events.RequestStarted {
	f.T.Helper()
	return f.Await("the start of "+string(id), func(f events.Fact) bool {
		s, ok := f.(events.RequestStarted)
		return ok && s.RequestID == id
	}).Fact.(events.RequestStarted)
}

func (f *Farm) awaitEnd(id events.RequestID) events.Fact {
	f.T.Helper()
	return f.Await("the end of "+string(id), func(f events.Fact) bool {
		switch f := f.(type) {
		case events.RequestCompleted:
			return f.RequestID == id
		case events.RequestFailed:
			return f.RequestID == id
		}
		return false
	}).Fact
}

// check looks in the whole log for what must never happen: see domain 18.
func check(t *testing.T, f *Farm) {
	t.Helper()
	c := newChecker(t, policy.MaxInProgress)
	for _, e := range f.Events() {
		c.look(e)
	}
}

func newChecker(t *testing.T, maxInProgress int) *checker {
	return &checker{
		t: t, maxInProgress: maxInProgress, jobs: map[events.JobID]bool{}, current: map[events.Lane]events.JobID{}, ended: map[events.JobID]bool{},
		attempt: map[events.JobID]int{}, running: map[events.RequestID]bool{}, terminal: map[events.RequestID]bool{},
		measured: map[measuredKey]bool{},
	}
}

type checker struct {
	t *testing.T
	// maxInProgress is how many requests may be in progress at once.
	maxInProgress int

	jobs     map[events.JobID]bool
	current  map[events.Lane]events.JobID
	ended    map[events.JobID]bool
	attempt  map[events.JobID]int
	running  map[events.RequestID]bool
	terminal map[events.RequestID]bool
	measured map[measuredKey]bool
}

// measuredKey is what is measured once: a job that went to another machine, or that measures two artifacts, measures a
// test case for each.
type measuredKey struct {
	job  events.JobID
	lane events.Lane
	of   events.Tag
	test events.TestCase
}

func (c *checker) look(e events.Recorded) {
	// The other facts can break none of these rules.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.JobsCreated:
		for _, j := range f.Jobs {
			c.never(c.jobs[j.ID], e, "job %s is made twice", j.ID)
			c.jobs[j.ID] = true
		}
	case events.JobDequeued:
		_, busy := c.current[f.Lane]
		c.never(busy, e, "job %s is dequeued while another is current", f.Job.ID)
		c.never(c.ended[f.Job.ID], e, "job %s is dequeued and has ended", f.Job.ID)
		c.current[f.Lane], c.attempt[f.Job.ID] = f.Job.ID, f.Attempt
	case events.JobFinished:
		delete(c.current, f.Lane)
		c.never(c.ended[f.JobID], e, "job %s ends twice", f.JobID)
		c.ended[f.JobID] = true
	case events.AttemptLost:
		delete(c.current, f.Lane)
	case events.AttemptReleased:
		delete(c.current, f.Lane)
	case events.TestCasesMeasured:
		c.never(f.Attempt != c.attempt[f.JobID], e, "results of attempt %d during attempt %d", f.Attempt, c.attempt[f.JobID])
		for _, side := range f.Sides() {
			for _, m := range side.Cases {
				key := measuredKey{f.JobID, f.Lane, side.Artifact.Tag, m.TestCase}
				c.never(c.measured[key], e, "%s is measured again", m.TestCase)
				c.measured[key] = true
			}
		}
	case events.RequestStarted:
		c.running[f.RequestID] = true
		c.never(len(c.running) > c.maxInProgress, e, "%d requests are in progress", len(c.running))
		c.never(c.terminal[f.RequestID], e, "request %s starts and has ended", f.RequestID)
	case events.RequestCompleted:
		c.end(e, f.RequestID)
	case events.RequestFailed:
		c.end(e, f.RequestID)
	case events.RequestCancelled:
		c.end(e, f.RequestID)
	}
}

func (c *checker) end(e events.Recorded, id events.RequestID) {
	c.never(c.terminal[id], e, "request %s ends twice", id)
	c.terminal[id] = true
	delete(c.running, id)
}

func (c *checker) never(happened bool, e events.Recorded, format string, args ...any) {
	c.t.Helper()
	if happened {
		c.t.Errorf("event %d: "+format, append([]any{e.Seq}, args...)...)
	}
}

func TestTwoCollectorsBenchmarkAParentAndThenItsChild(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: time.Second}
		f.Start("eider-0", lane0, "a", bench)
		f.Start("eider-1", lane1, "b", bench)
		child := f.master("c2", "c1")
		parent := f.master("c1", "")
		started := f.awaitStart(child)
		if _, ok := f.awaitEnd(child).(events.RequestCompleted); !ok {
			t.Error("the child did not complete")
		}
		if _, ok := f.awaitEnd(parent).(events.RequestCompleted); !ok {
			t.Error("the parent did not complete")
		}
		if started.Jobs != 12 {
			t.Errorf("%d own jobs, want 12", started.Jobs)
		}
		for a, cases := range bench.Measured {
			for c, n := range cases {
				if n != 1 {
					t.Errorf("%s of %s was measured %d times", c, a.Tag, n)
				}
			}
		}
	})
}

func TestJobCountsOfTheRustcDefinitions(t *testing.T) {
	for name, tc := range map[string]struct {
		request        control.NewRequest
		own, backfills int
	}{
		"master with a parent that has no jobs": {control.NewRequest{Kind: events.Master, Tag: "c2", Parent: "known"}, 12, 10},
		"master with an unknown parent":         {control.NewRequest{Kind: events.Master, Tag: "c2", Parent: "unknown"}, 12, 0},
		"release":                               {control.NewRequest{Kind: events.Release, Tag: "1.95.0"}, 11, 0},
		"try with both backends": {control.NewRequest{
			Kind: events.Try, Key: "k", Tag: "t1", Parent: "unknown", Parameters: events.Parameters{Backends: []events.Backend{"llvm", "cranelift"}},
		}, 22, 0},
		"one profile asked for twice": {control.NewRequest{
			Kind: events.Try, Key: "k", Tag: "t1", Parameters: events.Parameters{Profiles: []events.Profile{"check", "check", "Check"}},
		}, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inFarm(t, func(t *testing.T, f *Farm) {
				// Another request is in progress, so this one cannot start and make jobs before it is cancelled.
				busy := f.master("busy", "")
				f.awaitStart(busy)
				known := f.request(control.NewRequest{Kind: events.Try, Key: "known", Tag: "known"})
				for _, id := range []events.RequestID{known, busy} {
					if _, _, err := f.Control.CancelRequest(f.ctx, By, id, "only its tag is needed"); err != nil {
						t.Fatal(err)
					}
				}
				started := f.awaitStart(f.request(tc.request))
				if started.Jobs != tc.own || started.Backfill != tc.backfills {
					t.Errorf("%d own and %d backfill jobs, want %d and %d", started.Jobs, started.Backfill, tc.own, tc.backfills)
				}
			})
		})
	}
}

func TestAKilledCollectorContinuesWhereItStopped(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: time.Second}
		f.Start("eider-1", lane1, "b", bench)
		p := f.Start("eider-0", lane0, "a1", bench)
		id := f.master("c1", "")
		f.Await("results of lane 0", func(f events.Fact) bool {
			m, ok := f.(events.TestCasesMeasured)
			return ok && m.Lane == lane0
		})
		f.Pass(1500 * time.Millisecond)
		p.Kill()
		f.Start("eider-0", lane0, "a2", bench) // its predecessor's heartbeat is still fresh
		f.Pass(2 * time.Minute)
		f.Start("eider-0", lane0, "a3", bench)
		if _, ok := f.awaitEnd(id).(events.RequestCompleted); !ok {
			t.Error("the request did not complete")
		}
		stored := map[events.TestCase]int{}
		for _, e := range f.Events() {
			if m, ok := e.Fact.(events.TestCasesMeasured); ok {
				for _, c := range m.Cases {
					stored[c.TestCase]++
				}
			}
		}
		again := 0
		for c, n := range bench.Measured[events.Artifact{Suite: "rustc", Tag: "c1", Kind: events.Master}] {
			if stored[c] != 1 {
				t.Errorf("%s is recorded %d times", c, stored[c])
			}
			again += n - 1
		}
		if again > 2 {
			t.Errorf("%d test cases were measured again; only those not recorded yet may be", again)
		}
	})
}

func TestAPausedCollectorThatWakesUpLateIsRefused(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		held := make(chan struct{})
		f.Start("eider-1", lane1, "b", &Bench{})
		zombie := f.Start("eider-0", lane0, "a1", &Bench{Err: func(events.JobSpec) error { <-held; return nil }})
		id := f.master("c1", "")
		dequeued := f.Await("a dequeued job", func(f events.Fact) bool {
			d, ok := f.(events.JobDequeued)
			return ok && d.Lane == lane0
		})
		// The process is silent from here on; the scheduler gives its attempt up.
		spec := dequeued.Fact.(events.JobDequeued).Job
		if err := f.Log.Release(f.ctx, eventlog.Beat{Name: "eider-0", Instance: "a1"}); err != nil {
			t.Fatal(err)
		}
		f.Start("eider-0", lane0, "a2", &Bench{Each: time.Second})
		if _, ok := f.awaitEnd(id).(events.RequestCompleted); !ok {
			t.Error("the request did not complete")
		}
		close(held)
		<-zombie.Ended
		if !errors.Is(zombie.Err, eventlog.ErrNameHeld) {
			t.Errorf("the zombie ended with %v, want that its name is held", zombie.Err)
		}
		for _, e := range f.Events() {
			if m, ok := e.Fact.(events.TestCasesMeasured); ok && m.JobID == spec.ID && m.Token == dequeued.Seq {
				t.Errorf("event %d: a result of the lost attempt", e.Seq)
			}
		}
	})
}

func TestAFailingBenchmarkFailsItsJobAndNothingElse(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: time.Millisecond, Fails: func(c events.TestCase) bool { return c.Benchmark == "helloworld" && c.Profile == "opt" }}
		f.Start("eider-0", lane0, "a", bench)
		f.Start("eider-1", lane1, "b", bench)
		failed, ok := f.awaitEnd(f.master("c1", "")).(events.RequestFailed)
		if !ok || failed.FailedJobs != 1 || failed.Jobs != 12 {
			t.Errorf("got %+v", failed)
		}
	})
}

func TestOnlyABrokenDownloadIsTriedAgain(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		tries := 0
		f.Start("eider-0", lane0, "a", &Bench{Err: func(events.JobSpec) error {
			if tries++; tries <= 4 {
				return errors.New("503")
			}
			return nil
		}})
		f.Start("eider-1", lane1, "b", &Bench{Err: func(events.JobSpec) error {
			return &collector.PermanentError{Kind: events.ErrorArtifact, Err: errors.New("c1 is not on the server")}
		}})
		failed, ok := f.awaitEnd(f.master("c1", "")).(events.RequestFailed)
		if !ok || failed.FailedJobs != 5 {
			t.Errorf("got %+v, want the 5 jobs of set 1 to fail", failed)
		}
		released, attempts := 0, 0
		for _, e := range f.Events() {
			switch f := e.Fact.(type) {
			case events.AttemptReleased:
				released++
			case events.JobDequeued:
				if f.Lane == lane1 {
					attempts++
				}
			}
		}
		if released != 4 || attempts != 5 {
			t.Errorf("%d attempts were released and lane 1 had %d, want 4 and 5", released, attempts)
		}
	})
}

func TestACancelStopsTheJobAndTheNextStarts(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		f.Start("eider-0", lane0, "a", &Bench{Each: time.Hour})
		f.Start("eider-1", lane1, "b", &Bench{Each: time.Hour})
		first, second := f.master("c1", ""), f.master("c2", "c1")
		f.Await("a running job", func(f events.Fact) bool { _, ok := f.(events.JobDequeued); return ok })
		if _, _, err := f.Control.CancelRequest(f.ctx, By, first, "wrong commit"); err != nil {
			t.Fatal(err)
		}
		f.awaitStart(second)
		cancelled := f.Await("the cancelled job", func(f events.Fact) bool {
			j, ok := f.(events.JobFinished)
			return ok && j.Outcome == events.Cancelled
		})
		f.Await("a job of the next request", func(f events.Fact) bool {
			d, ok := f.(events.JobDequeued)
			return ok && d.Job.RequestID == second
		})
		if cancelled.Fact.(events.JobFinished).RequestID != first {
			t.Error("another request's job was cancelled")
		}
	})
}

// The jobs of an artifact are made once. When one of two requests that share them is cancelled, both the running and
// the waiting jobs continue for the other request.
func TestACancelSparesJobsThatOthersWant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := policy
		two.MaxInProgress = 2
		f := New(t, rustc(t), two)
		defer f.Stop()
		f.Register("eider-0", lane0)
		f.Register("eider-1", lane1)
		f.Start("eider-0", lane0, "a", &Bench{Each: time.Minute})
		f.Start("eider-1", lane1, "b", &Bench{Each: time.Minute})
		first := f.master("c1", "")
		f.awaitStart(first)
		second := f.request(control.NewRequest{Kind: events.Try, Key: "again", Tag: "c1"})
		if started := f.awaitStart(second); len(started.Shared) != 12 {
			t.Errorf("%d jobs are shared, want all 12", len(started.Shared))
		}
		if _, _, err := f.Control.CancelRequest(f.ctx, By, first, "wrong commit"); err != nil {
			t.Fatal(err)
		}
		if end, ok := f.awaitEnd(second).(events.RequestCompleted); !ok || end.Jobs != 12 {
			t.Errorf("got %+v, want that all 12 jobs succeed", end)
		}
		for _, e := range f.Events() {
			//exhaustive:ignore
			switch e.Fact.(type) {
			case events.JobsWithdrawn, events.AttemptLost, events.ResultsClosed:
				t.Errorf("event %d: %#v, and the second request wants all of them", e.Seq, e.Fact)
			}
		}
	})
}

func TestAPoisonousRequestDoesNotStopTheQueue(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{}
		f.Start("eider-0", lane0, "a", bench)
		f.Start("eider-1", lane1, "b", bench)
		poison := f.request(control.NewRequest{
			Kind: events.Try, Key: "k", Tag: "t1", Parameters: events.Parameters{Targets: []events.Target{"aarch64-unknown-linux-gnu"}},
		})
		// The targets that the request names vanish before it starts.
		d := rustc(t)
		d.Targets = d.Targets[:1]
		if _, err := f.Control.Publish(f.ctx, By, d); err != nil {
			t.Fatal(err)
		}
		good := f.master("c1", "")
		if _, ok := f.awaitEnd(good).(events.RequestCompleted); !ok {
			t.Error("the good request did not complete")
		}
		if end, ok := f.awaitEnd(poison).(events.RequestFailed); ok {
			t.Logf("quarantined: %s", end.Reason)
		}
	})
}

func TestManySchedulersMakeEachJobOnce(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		for range 4 {
			f.Schedule(policy)
		}
		bench := &Bench{Each: time.Second}
		f.Start("eider-0", lane0, "a", bench)
		f.Start("eider-1", lane1, "b", bench)
		var last events.RequestID
		parent := events.Tag("")
		for _, tag := range []events.Tag{"c1", "c2", "c3", "c4"} {
			last, parent = f.master(tag, parent), tag
		}
		f.awaitEnd(last)
	})
}

func TestALateParentIsBackfilledBeforeTheChildCompletes(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: time.Second}
		f.Start("eider-0", lane0, "a", bench)
		child := f.master("c2", "c1")
		if s := f.awaitStart(child); s.Backfill != 0 {
			t.Fatalf("%d backfill jobs for an unknown parent", s.Backfill)
		}
		f.master("c1", "")
		late := f.Await("the backfill", func(f events.Fact) bool { _, ok := f.(events.BackfillAdmitted); return ok })
		if got := late.Fact.(events.BackfillAdmitted); got.Jobs != 10 || got.RequestID != child {
			t.Errorf("got %+v", got)
		}
		f.Start("eider-1", lane1, "b", bench)
		f.awaitEnd(child)
	})
}

// A job that is made again after a cancel continues where the cancelled one stopped.
func TestWhatWasMeasuredBeforeACancelIsNotMeasuredAgain(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: time.Minute}
		f.Start("eider-0", lane0, "p0", bench)
		f.Start("eider-1", lane1, "p1", bench)
		n := control.NewRequest{Kind: events.Try, Key: "k1", Tag: "t1", Parameters: events.Parameters{Profiles: []events.Profile{"check"}}}
		first := f.request(n)
		f.Pass(10 * time.Minute)
		if _, _, err := f.Control.CancelRequest(f.ctx, By, first, "changed my mind"); err != nil {
			t.Fatal(err)
		}
		f.Pass(time.Minute)
		n.Key = "k2"
		f.awaitAnyEnd(f.request(n))
		skipped := 0
		for _, e := range f.Events() {
			if done, ok := e.Fact.(events.JobFinished); ok && done.Outcome == events.Success {
				skipped += done.Skipped
			}
		}
		// On each of the two lanes the stopped process loses the test case that it was measuring.
		if skipped < 16 || skipped > 22 {
			t.Errorf("%d test cases were not measured again, want about 20", skipped)
		}
	})
}
