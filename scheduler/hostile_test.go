package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

func newState() *state { return &state{ledger.New()} }

// stored returns a fact in its stored form.
func stored(t *testing.T, seq events.Seq, f events.Fact) events.Stored {
	t.Helper()
	s, err := events.Encode(events.Event{ID: fmt.Sprint(seq), Time: noon, Source: "test", Actor: "test", Fact: f})
	if err != nil {
		t.Fatal(err)
	}
	s.Seq, s.StoredAt = seq, noon
	return s
}

// A collector may write to its lane and about itself, and what it writes there may be anything.
func TestWhatACollectorHasNoSayInChangesNothing(t *testing.T) {
	created := events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "c1", State: events.StateArtifactsReady}
	other := events.JobSpec{ID: "j2", RequestID: "r1", Target: "there"}
	cancelled := stored(t, 3, events.RequestCancelled{RequestID: "r1"})
	cancelled.Subject = events.WorkSubject(shareLane)
	garbage := stored(t, 4, events.AttemptLost{Lane: shareLane})
	garbage.Data = []byte("{")
	foreign := stored(t, 5, events.JobFinished{Lane: shareLane, Place: 1, JobID: other.ID, RequestID: "r1", Outcome: events.Success})

	s := newState()
	for _, m := range []events.Stored{
		stored(t, 1, created), stored(t, 2, events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{other}}), cancelled, garbage, foreign,
	} {
		if _, err := s.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Requests["r1"].State; got != events.StateArtifactsReady {
		t.Errorf("the request is %s by the word of a collector", got)
	}
	if got := s.StateOf(other.ID); got != events.JobQueued {
		t.Errorf("the job of another lane is %s", got)
	}
	if got := s.Versions[events.WorkSubject(shareLane)]; got != 5 || s.Seq != 5 {
		t.Errorf("read until %d, and of the lane until %d: whoever decides on it is refused for ever", s.Seq, got)
	}
}

// No event of a collector stops a part. Only an unknown type from the core stops a scheduler.
func TestAMalformedEventDoesNotStopTheScheduler(t *testing.T) {
	unknown := func(on events.Subject) events.Stored {
		m := stored(t, 1, events.CollectorOffline{Name: "a"})
		m.Subject, m.Header[events.HeaderType] = on, events.TypePrefix+"request.dreamt.v7"
		return m
	}
	garbage := stored(t, 1, events.CollectorOffline{Name: "a"})
	garbage.Data = []byte("nonsense")
	litter := []events.Stored{
		garbage,
		{Seq: 1, Subject: events.WorkSubject(shareLane)},
		unknown(events.CollectorSubject("a")), unknown(events.WorkSubject(shareLane)),
		unknown(events.ResultSubject(shareLane, "j1")),
	}
	for _, m := range litter {
		s := newState()
		if fact, err := s.Take(m); err != nil || fact != nil || s.Seq != 1 {
			t.Errorf("%s: %v, %v, read until %d", m.Subject, fact, err, s.Seq)
		}
		if read := m.Subject.Family() != "result"; read && (s.Littered != 1 || s.Litter[m.Subject].Why == "" || s.Versions[m.Subject] != 1) {
			t.Errorf("%s: %+v", m.Subject, s.Litter)
		}
	}
	for _, on := range []events.Subject{
		events.RequestSubject("r1"), events.RegistrySubject("a"), events.RegistryOpenedSubject(), events.AssignmentSubject(shareLane), events.LaneSubject(shareLane),
	} {
		if _, err := newState().Take(unknown(on)); !errors.Is(err, events.ErrUnknownType) {
			t.Errorf("%s: got %v, want that the type is unknown", on, err)
		}
	}
}

// A collector of the lane can write anything about its work: only facts that fit the lane count.
func TestWhatIsForgedOnALaneIsLitter(t *testing.T) {
	j2 := events.JobSpec{ID: "j2", RequestID: "r1", Target: "here"}
	base := []events.Fact{
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec, j2}},
		events.JobDispatched{Place: 1, Job: spec},
		events.JobDispatched{Place: 2, Job: j2},
		events.JobDequeued{Lane: shareLane, Place: 1, Job: spec, Collector: "a", Instance: "a1", Attempt: 1},
	}
	const token = 6 + 4
	for name, forged := range map[string]events.Fact{
		"another place":         events.JobFinished{Lane: shareLane, Place: 2, JobID: "j1", Collector: "a", Token: token, Outcome: events.Success},
		"another job":           events.JobFinished{Lane: shareLane, Place: 1, JobID: "j2", Collector: "a", Token: token, Outcome: events.Success},
		"another token":         events.JobFinished{Lane: shareLane, Place: 1, JobID: "j1", Collector: "a", Token: 3, Outcome: events.Success},
		"another collector":     events.JobFinished{Lane: shareLane, Place: 1, JobID: "j1", Collector: "s", Token: token, Outcome: events.Success},
		"a job without attempt": events.JobFinished{Lane: shareLane, Place: 2, JobID: "j2", Outcome: events.Success},
		"a loss of another":     events.AttemptLost{Lane: shareLane, Place: 1, JobID: "j1", Collector: "s", Token: token},
		"a release of another":  events.AttemptReleased{Lane: shareLane, Place: 2, JobID: "j2", Collector: "a", Token: token},
		"a second beginning":    events.JobDequeued{Lane: shareLane, Place: 2, Job: j2, Collector: "s", Attempt: 1},
		"the same again":        events.JobDequeued{Lane: shareLane, Place: 1, Job: spec, Collector: "s", Attempt: 2},
		"a place far away":      events.JobDequeued{Lane: shareLane, Place: 1 << 60, Job: spec, Collector: "s", Attempt: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, want := shared(base...), shared(base...)
			s.say(forged)
			if l := s.Litter[events.WorkSubject(shareLane)]; s.Littered != 1 || l.Collector == "" && name != "a job without attempt" || l.Seq != token+1 {
				t.Errorf("litter %+v", s.Litter)
			}
			if diff := cmp.Diff(want.Lanes[shareLane].Work, s.Lanes[shareLane].Work); diff != "" {
				t.Errorf("the lane (-want +got):\n%s", diff)
			}
			for id, j := range want.Jobs {
				if s.StateOf(id) != j.State {
					t.Errorf("job %s is %s, want %s", id, s.StateOf(id), j.State)
				}
			}
		})
	}
}

// The job in JobDequeued is only the collector's word. The scheduler decides on the job that was dispatched.
func TestACollectorCannotGiveAJobToAnotherRequest(t *testing.T) {
	forged := spec
	forged.RequestID, forged.Optional = "r9", true
	s := shared(
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec}}, events.JobDispatched{Place: 1, Job: spec},
		events.JobDequeued{Lane: shareLane, Place: 1, Job: forged, Collector: "a", Instance: "a1", Attempt: 1},
	)
	if got := s.Lanes[shareLane].Work.Job; got.RequestID != "r1" || got.Optional {
		t.Errorf("the lane holds %+v", got)
	}
}

// Earlier versions kept the standing of a collector on its own subject. The scheduler appends to the registry with the
// version of the registry.
func TestAnEarlierVersionsWordCountsUntilThen(t *testing.T) {
	earlier := func(seq events.Seq, f events.Fact) events.Stored {
		m, err := eventlogtest.Earlier(events.Event{ID: fmt.Sprint(seq), Time: noon, Source: "test", Actor: "test", Fact: f})
		if err != nil {
			t.Fatal(err)
		}
		m.Seq, m.StoredAt = seq, noon
		return m
	}
	s := newState()
	for _, m := range []events.Stored{
		earlier(1, events.CollectorRegistered{Name: "a", Target: "here"}),
		earlier(2, events.CollectorQuarantined{Name: "a"}),
	} {
		if _, err := s.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Collectors["a"].Standing; got.Registered == nil || got.Takes() || s.Versions[events.RegistrySubject("a")] != 0 || s.LastAbout("a") != 2 {
		t.Fatalf("%+v, versions %v", got, s.Versions)
	}
	copied := s.Collectors["a"].Standing.Copy()
	for _, m := range []events.Stored{
		stored(t, 3, copied), stored(t, 4, events.RegistryOpened{Collectors: 1}), earlier(5, events.CollectorActivated{Name: "a"}),
	} {
		if _, err := s.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Collectors["a"].Standing; got.Takes() || s.Versions[events.RegistrySubject("a")] != 3 || s.Littered != 1 {
		t.Errorf("%+v, versions %v, %d litter", got, s.Versions, s.Littered)
	}
}

// The clock of the scheduler was set back by days.
func TestAClockThatWasSetBackDoesNotPutARequestOff(t *testing.T) {
	s := told(
		events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "c1", State: events.StateArtifactsReady},
		events.RequestExpansionFailed{RequestID: "r1", Reason: "no definitions", Failures: 1},
	)
	if _, ok := decideAdmission(s, Policy{MaxInProgress: 1, ExpansionRetry: time.Minute}, noon.Add(-72*time.Hour)); !ok {
		t.Error("it is tried again in three days")
	}
}

// picky is a log that never takes some appends.
type picky struct {
	*memory.Log
	takes func(events.Event) error
}

func (p *picky) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	for _, part := range parts {
		for _, e := range part.Events {
			if err := p.takes(e); err != nil {
				return 0, err
			}
		}
	}
	return p.Log.Append(ctx, parts...)
}

func TestARequestOfTooLargeJobsDoesNotStopTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &picky{Log: memory.New(memory.Config{})}
		var large events.RequestID
		log.takes = func(e events.Event) error {
			if f, ok := e.Fact.(events.JobsCreated); ok && f.RequestID == large {
				return fmt.Errorf("append: %w", eventlog.ErrBatchTooLarge)
			}
			return nil
		}
		large = ask(t, log.Log, control.NewRequest{Kind: events.Master, Tag: "c1"})
		pass(time.Second)
		next := ask(t, log.Log, control.NewRequest{Kind: events.Master, Tag: "c2"})
		ended, stop := runOn(t, log)
		pass(10 * time.Minute)
		if f := last(t, log.Log, large); events.TypeOf(f) != "request.expansion_failed.v1" {
			t.Errorf("the last word on the large request is %#v, want that its expansion failed", f)
		}
		if f := last(t, log.Log, next); events.TypeOf(f) != "jobs.created.v1" {
			t.Errorf("the last word on the next request is %#v, want its jobs", f)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestALaneThatFailsKeepsNoOtherLaneWaiting(t *testing.T) {
	for name, account := range map[string]events.AccountName{"alone": "", "shared": "u1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { aLaneFails(t, account) })
		})
	}
}

func aLaneFails(t *testing.T, account events.AccountName) {
	bad, good := events.Lane{Target: "here", Set: 0}, events.Lane{Target: "here", Set: 1}
	log := &picky{Log: memory.New(memory.Config{}), takes: func(e events.Event) error {
		if f, ok := e.Fact.(events.JobDispatched); ok && f.Job.Lane() == bad {
			return errors.New("there is no room for this subject")
		}
		return nil
	}}
	by := control.By{Actor: "test", Source: "test"}
	c := &control.Control{Log: log.Log, Clock: time.Now}
	d := small()
	d.Targets[0].Sets = 2
	if _, err := c.Publish(t.Context(), by, d); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[events.CollectorName]events.Lane{"c0": bad, "c1": good} {
		if _, err := c.AddCollector(t.Context(), by, control.NewCollector{Name: name, Target: l.Target, Set: l.Set}); err != nil {
			t.Fatal(err)
		}
	}
	if account != "" {
		if _, err := c.ConfigureAccount(t.Context(), by, account, control.AccountChange{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.CreateRequest(t.Context(), by, control.NewRequest{Suite: d.Name, Kind: events.Master, Tag: "c1", Account: account}); err != nil {
		t.Fatal(err)
	}
	ended, stop := runOn(t, log)
	pass(10 * time.Second)
	if _, dispatched, err := log.Last(t.Context(), events.LaneSubject(good)); err != nil || !dispatched {
		t.Errorf("nothing was dispatched to the lane that works: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
