package farm

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

func version(v string) func(*collector.Config) {
	return func(c *collector.Config) { c.Version, c.Supervised = v, &collector.Supervised{} }
}

func (f *Farm) want(version string) {
	f.T.Helper()
	if _, err := f.Control.WantVersion(f.ctx, By, events.VersionWanted{Version: version}); err != nil {
		f.T.Fatal(err)
	}
}

func (f *Farm) awaitUpdating(name events.CollectorName) events.Recorded {
	f.T.Helper()
	return f.Await("the update of "+string(name), func(f events.Fact) bool {
		u, ok := f.(events.CollectorUpdating)
		return ok && u.Name == name
	})
}

func TestACollectorIsUpdatedBetweenTwoRequests(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: time.Second}
		first := f.Start("eider-0", lane0, "a", bench, version("v1"))
		f.Start("eider-1", lane1, "b", bench)
		a, b := f.master("c1", ""), f.master("c2", "c1")
		f.Await("the second job of the first request", func(f events.Fact) bool {
			e, ok := f.(events.JobDequeued)
			return ok && e.Job.RequestID == a && e.Lane == lane0 && e.Place == 2
		})
		f.want("v2")
		updating := f.awaitUpdating("eider-0")
		<-first.Ended
		if !errors.Is(first.Err, collector.ErrUpdate) {
			t.Errorf("it ended with %v", first.Err)
		}
		if diff := cmp.Diff(events.CollectorUpdating{Name: "eider-0", Instance: "a", Version: "v1", Wanted: "v2"}, updating.Fact); diff != "" {
			t.Error(diff)
		}
		f.Start("eider-0", lane0, "c", bench, version("v2"))
		f.awaitEnd(b)
		f.checkVersions(map[events.RequestID]string{a: "v1", b: "v2"}, updating)
	})
}

// checkVersions makes sure that each request was measured by one version on lane0, that the last job before the update
// ended right before it, and that the update spent no attempt and gave back no job.
func (f *Farm) checkVersions(want map[events.RequestID]string, updating events.Recorded) {
	f.T.Helper()
	var lastEnd events.Recorded
	for _, e := range f.Events() {
		// The rest has no part in it.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.JobDequeued:
			if v := want[fact.Job.RequestID]; fact.Lane == lane0 && fact.Version != v {
				f.T.Errorf("event %d: a job of %s is executed by version %s, want %s", e.Seq, fact.Job.RequestID, fact.Version, v)
			}
		case events.JobFinished:
			if fact.Lane == lane0 && e.Seq < updating.Seq {
				lastEnd = e
			}
		case events.AttemptLost, events.AttemptReleased:
			f.T.Errorf("event %d: %#v", e.Seq, fact)
		}
	}
	if waited := updating.Time.Sub(lastEnd.Time); waited != 0 {
		f.T.Errorf("it left %s after the last job", waited)
	}
}

func TestAnIdleCollectorIsUpdatedAtItsNextHeartbeat(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		bench := &Bench{Each: time.Millisecond}
		p := f.Start("eider-0", lane0, "a", bench, version("v1"))
		f.Start("eider-1", lane1, "b", bench)
		f.awaitEnd(f.master("c1", ""))
		f.Pass(7 * time.Minute)
		asked := time.Now()
		f.want("v2")
		<-p.Ended
		if took := time.Since(asked); took > 5*time.Second || !errors.Is(p.Err, collector.ErrUpdate) {
			t.Errorf("it left after %s: %v", took, p.Err)
		}
	})
}

func TestWithoutASupervisorOrWhenToldToHoldNobodyLeaves(t *testing.T) {
	inFarm(t, func(t *testing.T, f *Farm) {
		f.want("v2")
		alone := f.Start("eider-0", lane0, "a", &Bench{})
		began := time.Now()
		held := f.Start("eider-1", lane1, "b", &Bench{}, version("v1"), func(c *collector.Config) {
			c.Supervised = &collector.Supervised{Hold: "v2", Until: began.Add(time.Hour), Failed: "it cannot be built"}
		})
		online := f.Await("eider-1 is online", func(f events.Fact) bool {
			e, ok := f.(events.CollectorOnline)
			return ok && e.Name == "eider-1"
		}).Fact.(events.CollectorOnline)
		if online.UpdateFailed != "it cannot be built" {
			t.Errorf("why it has the old version is not told: %+v", online)
		}
		<-held.Ended
		if took := time.Since(began); took < time.Hour || took > time.Hour+5*time.Second {
			t.Errorf("it held for %s", took)
		}
		f.Pass(time.Hour)
		select {
		case <-alone.Ended:
			t.Errorf("it left: %v", alone.Err)
		default:
		}
	})
}

// fed is a farm without a scheduler: the test writes the dispatches. Every job takes ten seconds.
type fed struct {
	*Farm
	bench *Bench
	lane  events.Lane
}

func inFedFarm(t *testing.T, f func(t *testing.T, f *fed)) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New(memory.Config{AckWait: 15 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		farm := &Farm{T: t, Log: log, Suite: manyJobs(1), ctx: ctx, cancel: cancel, Control: &control.Control{Log: log, Clock: time.Now}}
		defer farm.Stop()
		if _, err := farm.Control.Publish(ctx, By, farm.Suite); err != nil {
			t.Fatal(err)
		}
		lane := events.Lane{Target: "here", Set: 0}
		farm.Register("c", lane)
		f(t, &fed{farm, &Bench{Err: func(events.JobSpec) error { <-time.After(10 * time.Second); return nil }}, lane})
	})
}

func (f *fed) append(facts ...events.Fact) {
	f.T.Helper()
	for _, fact := range facts {
		last, _, err := f.Log.Last(f.ctx, fact.Subject())
		if err != nil {
			f.T.Fatal(err)
		}
		event := eventlog.NewEvent(fact, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
		if _, err := f.Log.Append(f.ctx, eventlog.Append{Subject: fact.Subject(), Expected: last.Seq, Events: []events.Event{event}}); err != nil {
			f.T.Fatal(err)
		}
	}
}

func (f *fed) dispatch(place uint64, request events.RequestID, closes bool) events.JobDispatched {
	return events.JobDispatched{Place: place, Closes: closes, Job: events.JobSpec{
		ID: events.JobID("j" + string(rune('0'+place))), RequestID: request, Artifact: events.Artifact{Suite: f.Suite.Name, Tag: "t", Kind: events.Master},
		Target: f.lane.Target, Set: f.lane.Set, Profile: "p0", Backend: "any", Kind: "compile", Definitions: f.Suite.Digest(),
	}}
}

func TestWhereOneRequestEndsAndTheNextBegins(t *testing.T) {
	cancelled := func(f *fed, place uint64, request events.RequestID) events.Fact {
		d := f.dispatch(place, request, false)
		return events.JobFinished{Lane: f.lane, Place: place, JobID: d.Job.ID, RequestID: request, Outcome: events.Cancelled}
	}
	for name, c := range map[string]struct {
		lane func(f *fed) []events.Fact
		// after is when it leaves; 0 means never.
		after time.Duration
	}{
		"nothing was ever dispatched": {func(*fed) []events.Fact { return nil }, 5 * time.Second},
		"the last job of the request": {func(f *fed) []events.Fact {
			return []events.Fact{f.dispatch(1, "a", true)}
		}, 10 * time.Second},
		"more jobs to come that nobody dispatches": {func(f *fed) []events.Fact {
			return []events.Fact{f.dispatch(1, "a", false)}
		}, 0},
		"several jobs": {func(f *fed) []events.Fact {
			return []events.Fact{f.dispatch(1, "a", false), f.dispatch(2, "a", false), f.dispatch(3, "a", true)}
		}, 30 * time.Second},
		"a job of the next request lies behind the last": {func(f *fed) []events.Fact {
			return []events.Fact{f.dispatch(1, "a", true), f.dispatch(2, "b", false)}
		}, 10 * time.Second},
		"a backfill comes late": {func(f *fed) []events.Fact {
			return []events.Fact{f.dispatch(1, "a", true), f.dispatch(2, "a", true)}
		}, 20 * time.Second},
		"another request comes between": {func(f *fed) []events.Fact {
			return []events.Fact{f.dispatch(1, "a", false), f.dispatch(2, "b", false), f.dispatch(3, "a", true)}
		}, 30 * time.Second},
		"the request was cancelled": {func(f *fed) []events.Fact {
			return []events.Fact{f.dispatch(1, "a", false), f.dispatch(2, "a", false), cancelled(f, 1, "a"), cancelled(f, 2, "a")}
		}, 5 * time.Second},
		"another collector worked here": {func(f *fed) []events.Fact {
			d := f.dispatch(1, "a", false)
			return []events.Fact{d, events.JobDequeued{Lane: f.lane, Place: 1, Job: d.Job, Collector: "other", Instance: "x", Attempt: 1}}
		}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inFedFarm(t, func(t *testing.T, f *fed) {
				f.want("v2")
				f.append(c.lane(f)...)
				began := time.Now()
				p := f.Start("c", f.lane, "i", f.bench, version("v1"))
				select {
				case <-p.Ended:
				case <-time.After(time.Hour):
				}
				left := time.Duration(0)
				if errors.Is(p.Err, collector.ErrUpdate) {
					left = time.Since(began)
				}
				if left != c.after {
					t.Errorf("it left after %s, want %s", left, c.after)
				}
			})
		})
	}
}

// slow is a dispatch whose deliveries take a while. They arrive even if no caller waits for them any more.
type slow struct{ eventlog.Jobs }

// NextJob implements eventlog.Jobs.
func (s slow) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	d, err := s.Jobs.NextJob(ctx, lane)
	if err == nil {
		<-time.After(7 * time.Second)
	}
	return d, err
}

func TestADeliveryThatArrivesAsItLeavesIsGivenBack(t *testing.T) {
	inFedFarm(t, func(t *testing.T, f *fed) {
		f.want("v2")
		f.append(f.dispatch(1, "a", true))
		p := f.Start("c", f.lane, "old", f.bench, version("v1"), func(c *collector.Config) { c.Jobs = slow{c.Jobs} })
		<-p.Ended
		if !errors.Is(p.Err, collector.ErrUpdate) {
			t.Fatal(p.Err)
		}
		left := time.Now()
		f.Start("c", f.lane, "new", f.bench, version("v2"))
		dequeued := f.Await("the job is begun", func(f events.Fact) bool { _, ok := f.(events.JobDequeued); return ok })
		if got := dequeued.Fact.(events.JobDequeued); got.Instance != "new" || got.Attempt != 1 || got.Lost != 0 || dequeued.Time.Sub(left) > time.Second {
			t.Errorf("after %s: %+v", dequeued.Time.Sub(left), got)
		}
		for _, e := range f.Events() {
			if _, spent := e.Fact.(events.AttemptLost); spent {
				t.Errorf("event %d: %+v", e.Seq, e.Fact)
			}
		}
	})
}

// What the scheduler writes into a dispatch must be what a second fold of the log says.
func TestTheLastJobOfBegunRequestsClosesTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy
		p.MaxInProgress = 2
		f := New(t, rustc(t), p)
		defer f.Stop()
		f.Register("eider-0", lane0)
		f.Register("eider-1", lane1)
		bench := &Bench{Each: time.Second}
		f.Start("eider-0", lane0, "a", bench)
		f.Start("eider-1", lane1, "b", bench)
		f.master("c2", "c1")
		f.Pass(20 * time.Second)
		f.master("c1", "") // a late parent: the backfill of c2 comes before what c1 itself has left
		cancelled := f.master("c3", "c2")
		last := f.master("c4", "c2")
		f.awaitStart(cancelled)
		f.Pass(3 * time.Second)
		if _, _, err := f.Control.CancelRequest(f.ctx, By, cancelled, "enough"); err != nil {
			t.Fatal(err)
		}
		f.awaitEnd(last)
		closing := f.checkClosing()
		if len(closing) < 4 || !slices.Contains(closing, true) || !slices.Contains(closing, false) {
			t.Errorf("too little happened: %v", closing)
		}
	})
}

// checkClosing returns what each dispatch said.
func (f *Farm) checkClosing() (said []bool) {
	f.T.Helper()
	waiting := map[events.Lane]map[events.JobID]events.RequestID{}
	begun := map[events.Lane]map[events.RequestID]bool{}
	running := map[events.RequestID]bool{}
	for _, e := range f.Events() {
		// The rest has no part in it.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.RequestStarted:
			running[fact.RequestID] = true
		case events.RequestCancelled:
			delete(running, fact.RequestID)
		case events.JobsCreated:
			for _, j := range fact.Jobs {
				if waiting[j.Lane()] == nil {
					waiting[j.Lane()], begun[j.Lane()] = map[events.JobID]events.RequestID{}, map[events.RequestID]bool{}
				}
				waiting[j.Lane()][j.ID] = fact.RequestID
			}
		case events.JobDispatched:
			lane := fact.Job.Lane()
			delete(waiting[lane], fact.Job.ID)
			begun[lane][fact.Job.RequestID] = true
			closes := true
			for _, request := range waiting[lane] {
				closes = closes && !(begun[lane][request] && running[request])
			}
			if closes != fact.Closes {
				f.T.Errorf("event %d: the dispatch of %s says %v, and %v is true", e.Seq, fact.Job.ID, fact.Closes, closes)
			}
			said = append(said, fact.Closes)
		}
	}
	return said
}
