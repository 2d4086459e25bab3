package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
)

// sharedFarm plays a scheduler, its log and its collectors in virtual time. Every job of a request takes as long as the
// request says.
type sharedFarm struct {
	t     testing.TB
	state *state
	now   time.Time
	lanes []events.Lane
	// lengths holds how long the jobs of each request take, ends when the current job of each lane ends.
	lengths map[events.RequestID]time.Duration
	ends    []time.Time
	// dispatched are the dispatches in their order, spent is the machine time of each account.
	dispatched []events.JobDispatched
	spent      map[events.AccountName]time.Duration
	requests   int
	// all makes each dispatch a decision on everything, as in the scheduler.
	all bool
}

func newSharedFarm(t testing.TB, lanes int) *sharedFarm {
	f := &sharedFarm{
		t: t, state: newState(), now: noon, lengths: map[events.RequestID]time.Duration{}, ends: make([]time.Time, lanes),
		spent: map[events.AccountName]time.Duration{},
	}
	for i := range lanes {
		lane := events.Lane{Target: "here", Set: events.Set(i)}
		name := events.CollectorName(fmt.Sprintf("c%d", i))
		f.lanes = append(f.lanes, lane)
		f.fold(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set}, events.LaneAssigned{Lane: lane, Name: name},
			events.CollectorActivated{Name: name}, events.CollectorOnline{Name: name, Instance: "i"})
	}
	return f
}

func (f *sharedFarm) fold(facts ...events.Fact) {
	for _, fact := range facts {
		f.state.Fold(events.Recorded{Event: events.Event{Time: f.now, Fact: fact}, Seq: f.state.Seq + 1})
	}
}

// ask starts a request with jobs on a lane, each of which takes length.
func (f *sharedFarm) ask(lane int, jobs int, length time.Duration, r events.RequestCreated) events.RequestID {
	f.requests++
	tag := events.Tag(fmt.Sprintf("t%06d", f.requests))
	r.RequestID, r.Kind, r.Suite, r.Tag, r.Key = events.RequestID("r"+tag), events.Master, "s", tag, string(tag)
	r.State = events.StateArtifactsReady
	f.lengths[r.RequestID] = length
	f.fold(r, events.RequestStarted{RequestID: r.RequestID, Jobs: jobs})
	for left := jobs; left > 0; {
		made := events.JobsCreated{RequestID: r.RequestID}
		for ; left > 0 && len(made.Jobs) < 200; left-- {
			made.Jobs = append(made.Jobs, events.JobSpec{
				ID: events.JobID(fmt.Sprintf("j%s-%d", tag, left)), RequestID: r.RequestID, Kind: "compile",
				Target: f.lanes[lane].Target, Set: f.lanes[lane].Set, Artifact: events.Artifact{Suite: "s", Tag: tag, Kind: events.Master},
			})
		}
		f.fold(made)
	}
	return r.RequestID
}

// dispatch decides for each lane on which nothing is open, and lets it begin its next job.
func (f *sharedFarm) dispatch() {
	if f.all {
		for _, d := range decideAll(f.state, Policy{MaxInProgress: 1, ArtifactDeadline: time.Hour}, f.now) {
			f.fold(d.facts...)
		}
	}
	for i, lane := range f.lanes {
		for _, d := range decideLane(f.state, lane) {
			f.fold(d.facts...)
			for _, fact := range d.facts {
				if got, ok := fact.(events.JobDispatched); ok {
					f.dispatched = append(f.dispatched, got)
				}
			}
		}
		work := f.state.Lanes[lane]
		if work == nil || work.Work.Phase == job.Current {
			continue
		}
		if id, ok := work.Work.Dispatched[work.Work.Place+1]; ok {
			spec := f.state.Jobs[id].Spec()
			f.fold(events.JobDequeued{
				Lane: lane, Place: work.Work.Place + 1, Job: spec, Collector: events.CollectorName(fmt.Sprintf("c%d", i)), Instance: "i", Attempt: 1,
			})
			f.ends[i] = f.now.Add(f.lengths[spec.RequestID])
		}
	}
}

// step lets time pass until the next job ends, and ends it.
func (f *sharedFarm) step() {
	f.dispatch()
	next := -1
	for i, lane := range f.lanes {
		if l := f.state.Lanes[lane]; l != nil && l.Work.Phase == job.Current && (next < 0 || f.ends[i].Before(f.ends[next])) {
			next = i
		}
	}
	if next < 0 {
		f.t.Fatal("no job runs")
	}
	f.now = f.ends[next]
	work := f.state.Lanes[f.lanes[next]].Work
	spec := f.state.Jobs[work.JobID].Spec()
	f.spent[f.state.Requests[spec.RequestID].Account] += f.lengths[spec.RequestID]
	f.fold(events.JobFinished{
		Lane: f.lanes[next], Place: work.Place, JobID: work.JobID, RequestID: spec.RequestID, Collector: work.Collector, Token: work.Token,
		Outcome: events.Success, Measured: 1, DurationMS: f.lengths[spec.RequestID].Milliseconds(),
	})
	f.dispatch()
}

// until steps until n jobs were dispatched in all.
func (f *sharedFarm) until(n int) {
	for f.dispatch(); len(f.dispatched) < n; {
		f.step()
	}
}

func (f *sharedFarm) queue(name events.QueueName, weight int) {
	f.fold(events.QueueConfigured{Queue: name, Weight: weight, Order: events.OrderFIFO})
}

func own(account events.AccountName) events.RequestCreated {
	return events.RequestCreated{Account: account, Queue: events.QueueName(account)}
}

// One who submits a single job to a busy farm gets the next dispatch, whatever others have waiting.
func TestANewcomerIsNext(t *testing.T) {
	for _, beside := range []int{0, 4} {
		for _, k := range []int{0, 1, 7, 63, 500} {
			t.Run(fmt.Sprintf("%d queues, after %d", beside, k), func(t *testing.T) {
				f := newSharedFarm(t, 1)
				for i := range beside {
					name := events.QueueName(fmt.Sprintf("other%d", i))
					f.queue(name, 10+30*i)
					f.ask(0, 2000, time.Minute, events.RequestCreated{Account: "u3", Queue: name})
				}
				f.ask(0, 10_000, time.Minute, own("u1"))
				if k > 0 {
					f.until(k)
				}
				before := len(f.dispatched)
				id := f.ask(0, 1, time.Minute, own("u2"))
				// Others that had no turn yet came earlier, and are as new.
				new := max(beside+1-k, 0)
				f.until(before + 1 + new)
				at := 0
				for i, d := range f.dispatched[before:] {
					if d.Job.RequestID == id {
						at = i + 1
					}
				}
				if at == 0 || at > 1+new {
					t.Errorf("dispatched as number %d of those after the submit, want at most %d", at, 1+new)
				}
			})
		}
	}
}

// Of m newcomers each is among the next m.
func TestNewcomersAreNextTogether(t *testing.T) {
	f := newSharedFarm(t, 1)
	f.ask(0, 10_000, time.Minute, own("u1"))
	f.until(20)
	const m = 9
	for i := range m {
		f.ask(0, 3, time.Minute, own(events.AccountName(fmt.Sprintf("n%d", i))))
	}
	f.until(20 + m)
	seen := map[events.AccountName]bool{}
	for _, d := range f.dispatched[20:] {
		seen[d.Share.Account] = true
	}
	if len(seen) != m || seen["u1"] {
		t.Errorf("the next %d dispatches were for %v", m, seen)
	}
}

func TestQueuesShareByWeight(t *testing.T) {
	f := newSharedFarm(t, 1)
	weights := []int{50, 30, 20, 10, 10}
	for i, w := range weights {
		name := events.QueueName(fmt.Sprintf("q%d", i))
		f.queue(name, w)
		f.ask(0, 1300, time.Minute, events.RequestCreated{Account: events.AccountName(fmt.Sprintf("a%d", i)), Queue: name})
	}
	f.until(1200)
	got := map[events.QueueName]int{}
	for n, d := range f.dispatched[:1200] {
		got[d.Share.Queue]++
		for i, w := range weights {
			due := float64(n+1) * float64(w) / 120
			if have := float64(got[events.QueueName(fmt.Sprintf("q%d", i))]); have < due-2 || have > due+2 {
				t.Fatalf("after %d dispatches q%d has %v, due are %.1f", n+1, i, have, due)
			}
		}
	}
	for i, want := range []int{500, 300, 200, 100, 100} {
		if have := got[events.QueueName(fmt.Sprintf("q%d", i))]; have < want-2 || have > want+2 {
			t.Errorf("q%d has %d, want %d", i, have, want)
		}
	}
}

// The charge is what a job took: who has jobs of an hour gets no more than one who has jobs of a minute.
func TestMachineTimeIsSharedNotJobs(t *testing.T) {
	for _, lanes := range []int{1, 10} {
		f := newSharedFarm(t, lanes)
		hours := 100 / lanes * 2 // of each lane
		for i := range lanes {
			f.ask(i, hours, time.Hour, own("long"))
			f.ask(i, 60*hours, time.Minute, own("short"))
		}
		for f.spent["long"]+f.spent["short"] < time.Duration(lanes*hours)*time.Hour {
			f.step()
		}
		part := float64(f.spent["long"]) / float64(f.spent["long"]+f.spent["short"])
		if part < 0.48 || part > 0.52 {
			t.Errorf("%d lanes: long jobs had %.1f %% of the machine time", lanes, 100*part)
		}
	}
}

func TestTiersInOrder(t *testing.T) {
	f := newSharedFarm(t, 1)
	f.fold(events.SharePolicySet{LagMS: 3600_000}) // strict: no floors
	for _, p := range []struct {
		n        int
		priority events.Priority
	}{{100, ""}, {5, events.PriorityIdle}, {3, events.PriorityVIP}} {
		r := own("u")
		r.Priority = p.priority
		f.ask(0, p.n, time.Minute, r)
	}
	f.until(108)
	for i, d := range f.dispatched {
		want := events.TierDefault
		if i < 3 {
			want = events.TierVIP
		} else if i >= 103 {
			want = events.TierIdle
		}
		if d.Share.Tier != want {
			t.Errorf("dispatch %d is of tier %s", i, d.Share.Tier)
		}
	}
}

func TestFloorsOfTiers(t *testing.T) {
	f := newSharedFarm(t, 1)
	for _, p := range []events.Priority{"", events.PriorityIdle, events.PriorityVIP} {
		r := own("u")
		r.Priority = p
		f.ask(0, 5000, time.Minute, r)
	}
	f.until(4000)
	got := map[events.Tier]int{}
	for _, d := range f.dispatched {
		got[d.Share.Tier]++
	}
	if d, i := got[events.TierDefault], got[events.TierIdle]; d < 360 || d > 440 || i < 16 || i > 24 {
		t.Errorf("of 4000 dispatches the default tier had %d, idle %d", d, i)
	}
}

// An urgent job comes before the others of its account, and delays no other account.
func TestAnUrgentJobOfOnesOwn(t *testing.T) {
	f := newSharedFarm(t, 1)
	f.ask(0, 1000, time.Minute, own("u1"))
	f.until(10)
	urgent := own("u1")
	urgent.Priority = events.PriorityHigh
	id := f.ask(0, 1, time.Minute, urgent)
	f.until(11)
	if got := f.dispatched[10]; got.Job.RequestID != id {
		t.Errorf("the next dispatch was %s", got.Share.Why)
	}
}

// A vip job waits for the running job alone: nothing is dispatched ahead of it.
func TestAVIPWaitsForTheRunningJobAlone(t *testing.T) {
	f := newSharedFarm(t, 1)
	f.ask(0, 1000, time.Minute, own("u1"))
	f.until(10)
	urgent := own("u2")
	urgent.Priority = events.PriorityVIP
	id := f.ask(0, 1, time.Minute, urgent)
	f.dispatch()
	if len(f.dispatched) != 10 {
		t.Fatal("a job was dispatched behind the running one")
	}
	f.step()
	if got := f.dispatched[10]; got.Job.RequestID != id {
		t.Errorf("the next dispatch was %s", got.Share.Why)
	}
}

func restored(t *testing.T, snapshot []byte) *state {
	t.Helper()
	l, err := ledger.Restore(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return &state{l}
}
