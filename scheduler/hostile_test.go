package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// stored is a fact as it lies in a log.
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
	created := events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "c1", State: events.ArtifactsReady}
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
		if _, err := s.take(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.requests["r1"].State; got != events.ArtifactsReady {
		t.Errorf("the request is %s by the word of a collector", got)
	}
	if got := s.jobs[other.ID].state; got != events.JobQueued {
		t.Errorf("the job of another lane is %s", got)
	}
	if got := s.versions[events.WorkSubject(shareLane)]; got != 5 || s.seq != 5 {
		t.Errorf("read until %d, and of the lane until %d: whoever decides on it is refused for ever", s.seq, got)
	}
}

// Only a type that is not known stops a scheduler.
func TestAMalformedEventDoesNotStopTheScheduler(t *testing.T) {
	s := newState()
	garbage := stored(t, 1, events.CollectorOffline{Name: "a"})
	garbage.Data = []byte("nonsense")
	if _, err := s.take(garbage); err != nil {
		t.Error(err)
	}
	garbage.Header[events.HeaderType] = events.TypePrefix + "request.dreamt.v7"
	if _, err := s.take(garbage); !errors.Is(err, events.ErrUnknownType) {
		t.Errorf("got %v, want that the type is unknown", err)
	}
}

// The clock of the scheduler was set back by days.
func TestAClockThatWasSetBackDoesNotPutARequestOff(t *testing.T) {
	s := told(
		events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "c1", State: events.ArtifactsReady},
		events.RequestExpansionFailed{RequestID: "r1", Reason: "no definitions", Failures: 1},
	)
	if _, ok := decideAdmission(s, Policy{MaxInProgress: 1, ExpansionRetry: time.Minute}, noon.Add(-72*time.Hour)); !ok {
		t.Error("it is tried again in three days")
	}
}

// picky is a log that never takes some appends, and whose consumers of some lanes cannot be made.
type picky struct {
	*memory.Log
	takes func(events.Event) error
	lane  events.Lane
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

func (p *picky) EnsureLane(ctx context.Context, l events.Lane) error {
	if l == p.lane {
		return errors.New("the consumer exists with another configuration")
	}
	return p.Log.EnsureLane(ctx, l)
}

func TestARequestWhoseJobsAreTooLargeIsNotStartedAndTheNextGoesOn(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
		bad, good := events.Lane{Target: "here", Set: 0}, events.Lane{Target: "here", Set: 1}
		log := &picky{Log: memory.New(memory.Config{}), lane: bad, takes: func(events.Event) error { return nil }}
		by := control.By{Actor: "test", Source: "test"}
		c := &control.Control{Log: log.Log, Dispatch: log.Log, Clock: time.Now}
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
		if _, _, err := c.CreateRequest(t.Context(), by, control.NewRequest{Suite: d.Name, Kind: events.Master, Tag: "c1"}); err != nil {
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
	})
}
