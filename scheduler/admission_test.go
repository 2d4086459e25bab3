package scheduler

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// office is a farm on which requests wait for their start.
type office struct {
	*sharedFarm
	policy Policy
}

func newOffice(t *testing.T) *office {
	o := &office{newSharedFarm(t, 1), Policy{MaxInProgress: 1, ExpansionRetry: time.Minute}}
	d := small()
	o.fold(events.DefinitionsPublished{Suite: "s", Digest: d.Digest(), Content: d.Canonical()})
	return o
}

// wants records a request that is ready.
func (o *office) wants(r events.RequestCreated) events.RequestID {
	o.requests++
	o.now = o.now.Add(time.Second)
	tag := events.Tag(fmt.Sprintf("t%06d", o.requests))
	r.RequestID, r.Kind, r.Suite, r.Tag, r.Key = events.RequestID("r"+tag), events.Master, "s", tag, string(tag)
	r.State = events.StateArtifactsReady
	o.fold(r)
	return r.RequestID
}

// admit takes one decision, folds it as the log stores it, and returns the requests that it starts.
func (o *office) admit() (started []events.RequestID) {
	o.t.Helper()
	d, ok := decideAdmission(o.state, o.policy, o.now)
	if !ok {
		return nil
	}
	parts := appends(o.state.Ledger, o.now, append([]decision{d}, d.beside...)...)
	for i, part := range parts {
		for k, e := range part.Events {
			if again, more := decideAdmission(o.state, o.policy, o.now); o.state.Owed > 0 && more && len(decideAll(o.state, o.policy, o.now)) > 0 {
				o.t.Fatalf("half a batch was decided on: %v", again.what)
			}
			o.fold(e.Fact)
			if f, ok := e.Fact.(events.RequestStarted); ok {
				started = append(started, f.RequestID)
			}
			if last := i == len(parts)-1 && k == len(part.Events)-1; last != (o.state.Owed == 0) {
				o.t.Fatalf("event %d of part %d leaves %d owed", k, i, o.state.Owed)
			}
		}
	}
	return started
}

// end ends requests with all their jobs.
func (o *office) end(ids ...events.RequestID) {
	for _, id := range ids {
		o.fold(events.RequestCancelled{RequestID: id})
		o.fold(events.JobsWithdrawn{RequestID: id, Jobs: o.state.Unwanted(id)})
	}
}

func TestAQueueWithoutLimitsStartsTogether(t *testing.T) {
	o := newOffice(t)
	for range 150 {
		o.wants(own("u1"))
	}
	if first, second := len(o.admit()), len(o.admit()); first != startsAtOnce || second != 50 {
		t.Errorf("%d and %d requests were started together, want 100 and 50", first, second)
	}
	if d, ok := decideAdmission(o.state, o.policy, o.now); ok {
		t.Errorf("then %s", d.what)
	}
}

// Requests of one append must not make the same job twice.
func TestStartsThatShareAJobAreApart(t *testing.T) {
	o := newOffice(t)
	o.fold(events.AccountConfigured{Account: "u1", Weight: 1, MaxVIP: 3}) // so that the order is by creation
	parent := o.wants(own("u1"))
	child := own("u1")
	child.Parent = o.state.Requests[parent].Artifact.Tag
	o.wants(child)
	o.wants(own("u1"))
	var all []events.RequestID
	for _, want := range []int{2, 1} {
		started := o.admit()
		if all = append(all, started...); len(started) != want {
			t.Fatalf("%v started together, want %d", started, want)
		}
	}
	if diff := cmp.Diff([]events.RequestID{"rt000001", "rt000003", "rt000002"}, all); diff != "" {
		t.Error(diff)
	}
	if jobs := len(o.state.Jobs); jobs != 3 {
		t.Errorf("%d jobs", jobs)
	}
}

func TestACrowdDoesNotDelayAnothersStart(t *testing.T) {
	o := newOffice(t)
	for range 300 {
		o.wants(own("u1"))
	}
	o.admit()
	id := o.wants(own("u2"))
	if got := o.admit(); !slices.Equal(got, []events.RequestID{id}) {
		t.Errorf("%d started, the first is %s", len(got), got[0])
	}
}

// The main queue has one request in progress in each tier.
func TestTiersStartBesideEachOther(t *testing.T) {
	o := newOffice(t)
	idle := o.wants(events.RequestCreated{Priority: events.PriorityIdle})
	if got := o.admit(); !slices.Equal(got, []events.RequestID{idle}) {
		t.Fatal(got)
	}
	low, vip := o.wants(events.RequestCreated{Priority: events.PriorityLow}), o.wants(events.RequestCreated{Priority: events.PriorityVIP})
	o.wants(events.RequestCreated{})
	high := o.wants(events.RequestCreated{Priority: events.PriorityHigh})
	for _, want := range []events.RequestID{vip, high, ""} {
		if got := append(o.admit(), ""); got[0] != want {
			t.Errorf("%v was started, want %q", got, want)
		}
	}
	o.fold(events.PriorityChanged{RequestID: low, To: events.PriorityHigh})
	o.end(high)
	if got := append(o.admit(), ""); got[0] != low {
		t.Errorf("%v was started after its priority was raised, want %q", got, low)
	}
}

// In a queue with a limit the account that has had least starts next.
func TestAccountsOfOneQueueTakeTurns(t *testing.T) {
	o := newOffice(t)
	o.fold(events.QueueConfigured{Queue: "bisect", Weight: 10, Order: events.OrderFIFO, InProgress: 1})
	for _, account := range []events.AccountName{"a", "a", "a", "b", "b"} {
		o.wants(events.RequestCreated{Account: account, Queue: "bisect"})
	}
	var turns []events.AccountName
	for range 5 {
		id := o.admit()[0]
		o.lengths[id] = time.Minute
		if more := o.admit(); more != nil {
			t.Fatalf("%v started beside it", more)
		}
		turns = append(turns, o.state.Requests[id].Account)
		o.step()
		o.fold(events.RequestCompleted{RequestID: id})
	}
	if diff := cmp.Diff([]events.AccountName{"a", "b", "a", "b", "a"}, turns); diff != "" {
		t.Error(diff)
	}
}

func TestLimitsOfAccountsAndQueues(t *testing.T) {
	vip := own("u1")
	vip.Priority = events.PriorityVIP
	for _, tc := range []struct {
		name     string
		settings events.Fact
		request  events.RequestCreated
		starts   int
	}{
		{"jobs that wait, of an account", events.AccountConfigured{Account: "u1", MaxVIP: 3, Limits: events.Limits{MaxQueued: 2}}, own("u1"), 2},
		{"jobs that wait, in a queue", events.QueueConfigured{Queue: "q", Order: events.OrderFIFO, Limits: events.Limits{MaxQueued: 4}}, events.RequestCreated{Queue: "q"}, 4},
		{"vip requests", events.AccountConfigured{Account: "u1", MaxVIP: 2}, vip, 2},
		{"vip requests of an account of which nothing is set", events.SharePolicySet{}, vip, 3},
		{"a paused queue", events.QueueConfigured{Queue: "q", Order: events.OrderFIFO, Paused: true}, events.RequestCreated{Queue: "q"}, 0},
		{"requests in progress", events.QueueConfigured{Queue: "q", Order: events.OrderLevels, InProgress: 3}, events.RequestCreated{Queue: "q"}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newOffice(t)
			o.fold(tc.settings)
			for range 7 {
				o.wants(tc.request)
			}
			started := 0
			for range 8 {
				started += len(o.admit())
			}
			if started != tc.starts {
				t.Errorf("%d requests were started, want %d", started, tc.starts)
			}
		})
	}
}

// A job that two accounts want is dispatched at the turn of either, once, and charged to that one.
func TestASharedJobStandsInBothLeaves(t *testing.T) {
	o := newOffice(t)
	o.ask(0, 500, time.Minute, own("u1"))
	o.until(3)
	first := o.ask(0, 50, time.Minute, own("u1"))
	wanted := o.state.Requests[first].Jobs[49]
	second := o.wants(own("u2"))
	o.fold(events.RequestStarted{RequestID: second, Shared: []events.JobID{wanted}})
	before := len(o.dispatched)
	o.until(before + 1)
	if got := o.dispatched[before]; got.Job.ID != wanted || got.Share.Account != "u2" {
		t.Errorf("the next dispatch is %s for %s", got.Job.ID, got.Share.Account)
	}
	o.end(second)
	o.until(before + 300)
	for _, d := range o.dispatched[before+1:] {
		if d.Job.ID == wanted || d.Share.Account != "u1" {
			t.Fatalf("then %s was dispatched for %s", d.Job.ID, d.Share.Account)
		}
	}
}

// What a snapshot gives back decides the same.
func TestASnapshotKeepsTheShares(t *testing.T) {
	f := newSharedFarm(t, 1)
	for i, account := range []events.AccountName{"a", "b", "c"} {
		f.fold(events.AccountConfigured{Account: account, Weight: 10 * (i + 1), MaxVIP: 1})
		f.ask(0, 100, time.Duration(i+1)*time.Minute, own(account))
	}
	for range 40 {
		f.step()
		twin := *f
		twin.dispatched = nil
		data, err := f.state.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		twin.state = restored(t, data)
		if again, _ := twin.state.Snapshot(); string(again) != string(data) {
			t.Fatal("a snapshot of the snapshot differs")
		}
		one, _, ok := f.state.Next(f.state.Lanes[f.lanes[0]], match.Waits{})
		other, _, _ := twin.state.Next(twin.state.Lanes[f.lanes[0]], match.Waits{})
		if diff := cmp.Diff(one, other); diff != "" || !ok {
			t.Fatal(diff)
		}
	}
}

// Ten lanes are free at once. The job of each is chosen by what those before it were charged, and a limit holds.
func TestManyFreeLanesAreServedInTurn(t *testing.T) {
	const lanes = 10
	f := newSharedFarm(t, lanes)
	f.fold(events.AccountConfigured{Account: "c", Weight: 10, MaxVIP: 1, Limits: events.Limits{MaxRunning: 1}})
	for i := range lanes {
		for _, account := range []events.AccountName{"a", "b", "c"} {
			f.ask(i, 5, time.Minute, own(account))
		}
	}
	log := memory.New(memory.Config{})
	s := New(Config{Log: log, Policy: Policy{MaxInProgress: 1}, Logger: slog.New(slog.DiscardHandler)})
	got := map[events.AccountName]int{}
	for {
		before := f.state.Seq
		for _, step := range s.Decide(f.state.Ledger, f.now) {
			if _, err := step.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, lane := range f.lanes {
			history, err := log.Read(t.Context(), events.LaneSubject(lane))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range history[f.state.Lanes[lane].Work.Places:] {
				f.fold(e.Fact)
				got[e.Fact.(events.JobDispatched).Share.Account]++
			}
		}
		if f.state.Seq > before+1 {
			t.Fatalf("%d jobs were dispatched at once", f.state.Seq-before)
		}
		matched, err := log.Read(t.Context(), events.MatchSubject())
		if err != nil {
			t.Fatal(err)
		}
		// The log has only the dispatches, and so other sequences.
		f.state.Versions[events.MatchSubject()] = matched[len(matched)-1].Seq
		if f.state.Seq == before {
			break
		}
	}
	if got["c"] != 1 || got["a"] < 4 || got["b"] < 4 {
		t.Errorf("%v of %d lanes", got, lanes)
	}
}

func TestSettingsOfTheMainQueueCount(t *testing.T) {
	o := newOffice(t)
	id := o.wants(events.RequestCreated{})
	o.fold(events.QueueConfigured{Queue: events.MainQueue, Weight: 10, Order: events.OrderLevels, Paused: true})
	if got := o.admit(); got != nil {
		t.Fatalf("%v was started in a paused queue", got)
	}
	o.fold(events.QueueConfigured{Queue: events.MainQueue, Weight: 10, Order: events.OrderLevels})
	if got := o.admit(); !slices.Equal(got, []events.RequestID{id}) {
		t.Errorf("%v was started", got)
	}
}

// A process may make its snapshot inside a batch, and die. The next one continues from there and knows the same.
func TestASnapshotInsideABatchLosesNothing(t *testing.T) {
	o := newOffice(t)
	for range 3 {
		o.wants(own("u1"))
	}
	d, _ := decideAdmission(o.state, o.policy, o.now)
	var twins []*state
	for _, part := range appends(o.state.Ledger, o.now, append([]decision{d}, d.beside...)...) {
		for _, e := range part.Events {
			data, err := o.state.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			twins = append(twins, restored(t, data))
			o.fold(e.Fact)
			for _, twin := range twins {
				twin.Fold(events.Recorded{Event: events.Event{Time: o.now, Fact: e.Fact}, Seq: o.state.Seq})
			}
		}
	}
	whole, _ := o.state.Snapshot()
	for i, twin := range twins {
		if data, err := twin.Snapshot(); err != nil || string(data) != string(whole) {
			t.Errorf("a process that continued at event %d of the batch knows something else (%v)", i, err)
		}
	}
	if len(twins) < 9 || len(o.state.Starting) > 0 {
		t.Errorf("%d events, and %v still start", len(twins), o.state.Starting)
	}
}

// No request starts while too many jobs wait; the next one starts when there is room again.
func TestNoRequestStartsWhileTooManyJobsWait(t *testing.T) {
	o := newOffice(t)
	o.policy.MaxWaiting = 3
	o.ask(0, 3, time.Minute, own("u1"))
	id := o.wants(own("u2"))
	if started := o.admit(); len(started) > 0 {
		t.Fatalf("%v started beside 3 waiting jobs", started)
	}
	o.dispatch()
	if started := o.admit(); len(started) != 1 || started[0] != id {
		t.Errorf("%v started beside 2 waiting jobs", started)
	}
}
