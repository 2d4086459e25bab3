package farm

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// here is the only lane of these tests; "spare" is the standby of "first" on it.
var here = events.Lane{Target: "here", Set: 0}

// inLane runs a test in a bubble with a farm of one lane, a collector and a standby.
func inLane(t *testing.T, f func(t *testing.T, f *Farm)) {
	synctest.Test(t, func(t *testing.T) {
		d := smallSuite()
		d.Targets[0].Sets = 1
		for i := range d.Benchmarks {
			d.Benchmarks[i].Sets = map[events.Target]events.Set{"here": 0}
		}
		p := policy
		p.QuarantineAfter = 3
		farm := New(t, d, p)
		defer farm.Stop()
		farm.Register("first", here)
		farm.RegisterStandby("spare", here)
		f(t, farm)
		check(t, farm)
		farm.checkTurns()
	})
}

func (f *Farm) ask(tag events.Tag) events.RequestID {
	f.T.Helper()
	r, _, err := f.Control.CreateRequest(f.ctx, By, control.NewRequest{Suite: f.Suite.Name, Kind: events.Master, Tag: tag})
	if err != nil {
		f.T.Fatal(err)
	}
	return r.ID
}

// checkTurns makes sure that only the collector that serves a lane begins jobs there. Its predecessor may begin
// one more job at the same moment.
func (f *Farm) checkTurns() {
	f.T.Helper()
	serving := map[events.Lane]events.CollectorName{}
	for _, e := range f.Events() {
		// The rest has no part in it.
		//exhaustive:ignore
		switch e := e.Fact.(type) {
		case events.LaneAssigned:
			if !e.Standby && serving[e.Lane] == "" {
				serving[e.Lane] = e.Name
			}
		case events.LaneTakenOver:
			serving[e.Lane] = e.Name
		case events.JobDequeued:
			if e.Collector != serving[e.Lane] {
				f.T.Errorf("%s begins job %s and %s serves the lane", e.Collector, e.Job.ID, serving[e.Lane])
			}
		}
	}
}

func (f *Farm) awaitDequeued(name events.CollectorName) events.Recorded {
	f.T.Helper()
	return f.Await("a job of "+string(name), func(e events.Fact) bool {
		d, ok := e.(events.JobDequeued)
		return ok && d.Collector == name
	})
}

func (f *Farm) awaitTakeover(name events.CollectorName) (events.Recorded, events.LaneTakenOver) {
	f.T.Helper()
	e := f.Await("a takeover by "+string(name), func(e events.Fact) bool {
		t, ok := e.(events.LaneTakenOver)
		return ok && t.Name == name
	})
	return e, e.Fact.(events.LaneTakenOver)
}

func (f *Farm) do(_ control.Answer, err error) {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
}

// takenOver counts the takeovers so far.
func (f *Farm) takenOver() int {
	n := 0
	for _, e := range f.Events() {
		if _, ok := e.Fact.(events.LaneTakenOver); ok {
			n++
		}
	}
	return n
}

func TestAStandbyTakesOverWithinAMinute(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: 20 * time.Second}
		first := f.Start("first", here, "a1", bench)
		f.Start("spare", here, "s1", bench)
		id := f.ask("t1")
		f.Await("a result", func(e events.Fact) bool { _, ok := e.(events.TestCasesMeasured); return ok })
		killed := time.Now()
		first.Kill()
		_, taken := f.awaitTakeover("spare")
		if taken.From != "first" || !strings.Contains(taken.Reason, "not heard for 30s") {
			t.Errorf("got %+v", taken)
		}
		next := f.awaitDequeued("spare")
		if within := next.Time.Sub(killed); within > time.Minute {
			t.Errorf("the job was continued after %s, want within a minute", within)
		}
		if d := next.Fact.(events.JobDequeued); d.Attempt != 2 || d.Lost != 1 {
			t.Errorf("attempt %d after %d lost ones, want the second after one", d.Attempt, d.Lost)
		}
		// The first one returns and does not interfere: checkTurns looks at every job from here on.
		f.Start("first", here, "a2", bench)
		if _, ok := f.awaitEnd(id).(events.RequestCompleted); !ok {
			t.Error("the request did not complete")
		}
		f.awaitEnd(f.ask("t2"))
		for tag, cases := range bench.Measured {
			for c, n := range cases {
				if n != 1 {
					t.Errorf("%s of %s was measured %d times", c, tag.Tag, n)
				}
			}
		}
	})
}

func TestARestartOfTheCollectorIsNoReasonToTakeOver(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: 20 * time.Second}
		first := f.Start("first", here, "a1", bench)
		f.Start("spare", here, "s1", bench)
		id := f.ask("t1")
		f.awaitDequeued("first")
		first.Stop()
		<-first.Ended
		f.Pass(20 * time.Second)
		f.Start("first", here, "a2", bench)
		f.awaitEnd(id)
		if n := f.takenOver(); n > 0 {
			t.Errorf("the lane changed hands %d times", n)
		}
	})
}

func TestASilentCollectorKeepsItsLaneWhileThereIsNoWork(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		first := f.Start("first", here, "a1", &Bench{})
		f.Start("spare", here, "s1", &Bench{})
		f.Pass(time.Minute)
		first.Kill()
		f.Pass(time.Hour)
		if n := f.takenOver(); n > 0 {
			t.Errorf("the lane changed hands %d times without work", n)
		}
		asked := time.Now()
		f.awaitEnd(f.ask("t1"))
		if e, _ := f.awaitTakeover("spare"); e.Time.Sub(asked) > 2*time.Second {
			t.Errorf("taken over %s after the work came, want at once: the silence was long enough", e.Time.Sub(asked))
		}
	})
}

func TestALaneIsGivenBackByAPersonBetweenJobs(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: 20 * time.Second}
		first := f.Start("first", here, "a1", bench)
		f.Start("spare", here, "s1", bench)
		id := f.ask("t1")
		f.awaitDequeued("first")
		first.Kill()
		f.awaitDequeued("spare")
		f.Pass(time.Minute)
		f.Start("first", here, "a2", bench)
		f.Pass(10 * time.Second)
		f.do(f.Control.TakeLaneOver(f.ctx, By, "first", ""))
		f.awaitEnd(id)
		// The standby finished its running job, and the rest went back.
		last := events.CollectorName("")
		for _, e := range f.Events() {
			switch e := e.Fact.(type) {
			case events.JobFinished:
				last = e.Collector
			case events.AttemptReleased:
				t.Errorf("%s gave a job back", e.Collector)
			}
		}
		if last != "first" {
			t.Errorf("the last job was done by %s", last)
		}
		_, err := f.Control.TakeLaneOver(f.ctx, By, "nobody", "")
		if _, refused := errors.AsType[*control.RefusedError](err); !refused {
			t.Errorf("got %v", err)
		}
	})
}

func TestACollectorThatIsTakenOutHandsItsLaneOverAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		how control.Deactivation
		// finishes says whether the collector that goes finishes its running job.
		finishes bool
	}{
		"after its job": {control.Deactivation{Reason: "new disk"}, true},
		"at once":       {control.Deactivation{Reason: "fire", Now: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inLane(t, func(t *testing.T, f *Farm) {
				bench := &Bench{Each: 20 * time.Second}
				first := f.Start("first", here, "a1", bench)
				f.Start("spare", here, "s1", bench)
				id := f.ask("t1")
				f.awaitDequeued("first")
				f.Pass(25 * time.Second)
				gone := time.Now()
				f.do(f.Control.DeactivateCollector(f.ctx, By, "first", tc.how))
				if e, taken := f.awaitTakeover("spare"); e.Time.Sub(gone) > time.Second || taken.From != "first" {
					t.Errorf("got %+v after %s", taken, e.Time.Sub(gone))
				}
				<-first.Ended
				if !errors.Is(first.Err, collector.ErrLeave) {
					t.Errorf("the process ended with %v", first.Err)
				}
				next := f.awaitDequeued("spare")
				if d := next.Fact.(events.JobDequeued); (d.Attempt == 1) != tc.finishes || d.Lost != 0 {
					t.Errorf("the standby began attempt %d, %d lost", d.Attempt, d.Lost)
				}
				if within := next.Time.Sub(gone); !tc.finishes && within > 15*time.Second {
					t.Errorf("the job was continued after %s", within)
				}
				f.awaitEnd(id)
				// Activated again it stands by: the lane changes its machine only once.
				f.do(f.Control.ActivateCollector(f.ctx, By, "first"))
				f.Start("first", here, "a2", bench)
				f.awaitEnd(f.ask("t2"))
				if n := f.takenOver(); n != 1 {
					t.Errorf("the lane changed hands %d times, want once", n)
				}
			})
		})
	}
}

func TestADrainedCollectorHandsItsLaneOverWhenItHasLeft(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: 20 * time.Second}
		first := f.Start("first", here, "a1", bench)
		f.Start("spare", here, "s1", bench)
		id := f.ask("t1")
		f.awaitDequeued("first")
		f.do(f.Control.DrainCollector(f.ctx, By, "first", "kernel update"))
		<-first.Ended
		left := time.Now()
		if e, _ := f.awaitTakeover("spare"); e.Time.Sub(left) > time.Second {
			t.Errorf("taken over %s after it had left", e.Time.Sub(left))
		}
		f.awaitEnd(id)
	})
}

// A paused process is silent but not dead. Its lane continues without it. When it wakes up, the log takes
// nothing of its old job; it says that it is there, and stands by.
func TestAPausedCollectorWakesUpAndDisturbsNobody(t *testing.T) {
	for name, withSpare := range map[string]bool{"its standby did the job": true, "it continues after it was taken for dead": false} {
		t.Run(name, func(t *testing.T) {
			inLane(t, func(t *testing.T, f *Farm) {
				bench := &Bench{Each: 20 * time.Second}
				first := f.Start("first", here, "a1", bench)
				if withSpare {
					f.Start("spare", here, "s1", bench)
				}
				id := f.ask("t1")
				began := f.awaitDequeued("first")
				f.Pass(25 * time.Second)
				first.Pause()
				lost := f.Await("the loss", func(e events.Fact) bool { _, ok := e.(events.AttemptLost); return ok })
				if after := lost.Time.Sub(began.Time); withSpare && after > time.Minute {
					t.Errorf("lost after %s", after)
				}
				f.Await("offline", func(e events.Fact) bool {
					o, ok := e.(events.CollectorSilent)
					return ok && o.Name == "first"
				})
				f.Pass(10 * time.Minute)
				first.Wake()
				back := f.Await("its return", func() func(events.Fact) bool {
					n := 0
					return func(e events.Fact) bool {
						if o, ok := e.(events.CollectorOnline); ok && o.Name == "first" && o.Instance == "a1" {
							n++
						}
						return n == 2
					}
				}())
				f.awaitEnd(id)
				f.awaitEnd(f.ask("t2"))
				for _, e := range f.Events() {
					//exhaustive:ignore
					switch f := e.Fact.(type) {
					case events.TestCasesMeasured:
						if withSpare && f.Token == began.Seq && e.Seq > lost.Seq {
							t.Errorf("event %d: a result of the attempt that was lost", e.Seq)
						}
					case events.JobFinished:
						if f.Token == began.Seq {
							t.Errorf("event %d: the lost attempt ended the job", e.Seq)
						}
					case events.JobDequeued:
						if withSpare && f.Collector == "first" && e.Seq > back.Seq {
							t.Errorf("event %d: the paused one takes jobs of the standby", e.Seq)
						}
					}
				}
			})
		})
	}
}

func TestOfSeveralStandbysOneTakesOver(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		f.RegisterStandby("alpha", here)
		f.RegisterStandby("omega", here)
		for range 2 {
			f.Schedule(policy)
		}
		bench := &Bench{Each: 20 * time.Second}
		first := f.Start("first", here, "a1", bench)
		running := map[events.CollectorName]*Process{}
		for _, name := range []events.CollectorName{"spare", "alpha", "omega"} {
			running[name] = f.Start(name, here, "i-"+string(name), bench)
		}
		id := f.ask("t1")
		f.awaitDequeued("first")
		first.Kill()
		f.awaitDequeued("alpha")
		running["alpha"].Kill()
		f.awaitDequeued("omega")
		f.awaitEnd(id)
		if n := f.takenOver(); n != 2 {
			t.Errorf("the lane changed hands %d times, want twice", n)
		}
	})
}

func TestThreeFailedArtifactsQuarantineACollector(t *testing.T) {
	inLane(t, func(t *testing.T, f *Farm) {
		broken := &Bench{Err: func(events.JobSpec) error {
			return &collector.PermanentError{Kind: events.ErrorInternal, Err: errors.New("no space left on device")}
		}}
		first := f.Start("first", here, "a1", broken)
		for _, tag := range []events.Tag{"t1", "t2", "t3"} {
			f.ask(tag) // two jobs
		}
		q := f.Await("the quarantine", func(e events.Fact) bool { _, ok := e.(events.CollectorQuarantined); return ok }).Fact.(events.CollectorQuarantined)
		if q.Name != "first" || len(q.Jobs) != 3 || !strings.Contains(q.Reason, "no space left on device") {
			t.Errorf("got %+v", q)
		}
		<-first.Ended
		if !errors.Is(first.Err, collector.ErrLeave) {
			t.Errorf("the process ended with %v", first.Err)
		}
		again := f.Start("first", here, "a2", broken)
		<-again.Ended
		if _, refused := errors.AsType[*collector.RegistrationError](again.Err); !refused || !strings.Contains(again.Err.Error(), "tacho collector activate first") {
			t.Errorf("a quarantined collector starts: %v", again.Err)
		}
		// A person has looked at it.
		f.do(f.Control.ActivateCollector(f.ctx, By, "first"))
		f.Start("first", here, "a3", &Bench{})
		if _, ok := f.awaitEnd(f.ask("t4")).(events.RequestCompleted); !ok {
			t.Error("the request did not complete")
		}
	})
}
