package projector_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// earlier tells a fact about the standing of a collector as versions before the registry wrote it.
func (s *story) earlier(f events.Fact) events.Seq {
	s.t.Helper()
	m, err := eventlogtest.Earlier(events.Event{
		ID: fmt.Sprintf("e%06d", len(s.stored)+1), Time: s.at, Source: "test", Actor: "test:story", Root: "story", Fact: f,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.put(m)
}

func collectors(t *testing.T, url string) map[events.CollectorName]readmodel.Collector {
	t.Helper()
	list, err := open(t, url).Collectors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[events.CollectorName]readmodel.Collector{}
	for _, c := range list {
		out[c.Name] = c
	}
	return out
}

// The registry of an earlier log is opened. What a collector says of its own standing afterwards is archived and does not
// count. This also holds for a projector that starts anywhere behind the opening, or between the copies and the opening.
func TestTheRegistryOfAnEarlierLogIsReadFromAnyPlace(t *testing.T) {
	s := newStory(t)
	lane := lanes[0]
	began := s.at
	s.earlier(events.CollectorRegistered{Name: "a", Target: lane.Target, Set: lane.Set, NKey: "KEY"})
	s.tell(events.LaneAssigned{Lane: lane, Name: "a"})
	s.tell(events.CollectorOnline{Name: "a", Instance: "i1", Version: "v1"})
	s.earlier(events.CollectorRegistered{Name: "a", Target: "elsewhere", NKey: "STOLEN"}) // by itself
	s.earlier(events.CollectorQuarantined{Name: "a", Reason: "3 jobs failed"})
	s.tell(events.RegistryCopied{
		CollectorRegistered: events.CollectorRegistered{Name: "a", Target: lane.Target, Set: lane.Set, NKey: "KEY"},
		Active:              true, Quarantined: true, Reason: "3 jobs failed", KeySince: began.Format(time.RFC3339), RegisteredAt: began.Format(time.RFC3339),
	})
	s.earlier(events.CollectorActivated{Name: "a"}) // by itself, while the registry is being opened
	s.tell(events.RegistryOpened{Collectors: 1})
	s.earlier(events.CollectorActivated{Name: "a"}) // and afterwards
	s.tell(events.CollectorSilent{Name: "a", Instance: "i1", Reason: "no heartbeat for 1m0s"})

	want := contents(t, project(t, s.stored, 1000))
	url := database(t)
	r := open(t, url)
	for to := 1; to <= len(s.stored); to++ {
		p := start(t, projector.Config{Log: newFeed("log", s.stored[:to]...), URL: url})
		p.await(t, r, events.Seq(to))
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, contents(t, url)); diff != "" {
		t.Errorf("at once (-) and started at each event (+):\n%s", diff)
	}
	verify(t, newFeed("log", s.stored...), url)
	a := collectors(t, url)["a"]
	if a.State != readmodel.CollectorQuarantined || a.NKey != "KEY" || a.Target != lane.Target || a.Online || !a.KeySince.Equal(began) || !a.RegisteredAt.Equal(began) {
		t.Errorf("%+v", a)
	}
	if c, err := r.Cursor(t.Context()); err != nil || c.ParkedEvents != 3 {
		t.Errorf("%d events are litter, %v; want the second registration and two activations", c.ParkedEvents, err)
	}
}

func TestKeysHaveAnAgeAndRemovedIsForEver(t *testing.T) {
	f := newFarm(t)
	name := collectorOf(lanes[0])
	registered := collectors(t, project(t, f.stored, 1000))[name]
	f.at = f.at.Add(time.Hour)
	rotated := f.at
	f.tell(events.CollectorKeyRotated{Name: name, NKey: "NEW", Reason: "new disk"})
	now := collectors(t, project(t, f.stored, 1000))[name]
	if now.NKey != "NEW" || !now.KeySince.Equal(rotated) || !now.RegisteredAt.Equal(registered.RegisteredAt) || now.State != registered.State {
		t.Errorf("%+v", now)
	}
	removed := f.at
	f.tell(events.CollectorRemoved{Name: name, Reason: "sold"})
	f.tell(events.LaneUnassigned{Lane: lanes[0], Name: name})
	f.tell(events.AttemptReleased{Lane: lanes[0], JobID: f.child.ID, Token: f.token, Attempt: 1, Reason: "the collector was removed"})
	for _, late := range []events.Fact{
		events.CollectorOnline{Name: name, Instance: "i9"},
		events.CollectorActivated{Name: name},
		events.CollectorKeyRotated{Name: name, NKey: "AGAIN"},
		events.CollectorRegistered{Name: name, Target: "elsewhere"},
	} {
		f.tell(late)
	}
	url := project(t, f.stored, 1000)
	now = collectors(t, url)[name]
	if now.State != readmodel.CollectorRemoved || now.RemovedAt == nil || !now.RemovedAt.Equal(removed) || now.Active || now.Online || now.Reason != "sold" ||
		now.NKey != "NEW" || now.CurrentJob != nil || now.Serving {
		t.Errorf("%+v", now)
	}
	if j, err := open(t, url).Job(t.Context(), f.child.ID); err != nil || j.State != events.JobQueued {
		t.Errorf("its job is %s, %v", j.State, err)
	}
}

// TestWhatCollectorsWriteStopsNoProjector: events of collectors that this program does not understand are archived as
// litter, and the events after them are folded.
func TestWhatCollectorsWriteStopsNoProjector(t *testing.T) {
	f := newFarm(t)
	unknown := func(on events.Subject) events.Stored {
		m := f.stored[len(f.stored)-1]
		m.Subject, m.Header = on, maps.Clone(m.Header)
		m.Header[events.HeaderType] = events.TypePrefix + "collector.dreamt.v1"
		return m
	}
	litter := []events.Stored{
		{Subject: events.WorkSubject(lanes[0])},
		{Subject: events.CollectorSubject("eider-0")},
		{Subject: events.ResultSubject(lanes[0], f.child.ID)},
		unknown(events.WorkSubject(lanes[0])), unknown(events.CollectorSubject("eider-0")), unknown(events.ResultSubject(lanes[0], f.child.ID)),
	}
	var at []events.Seq
	for _, m := range litter {
		at = append(at, f.put(m))
	}
	f.tell(finished(f.child, f.token, events.Success))
	url := project(t, f.stored, 7)
	r := open(t, url)
	if j, err := r.Job(t.Context(), f.child.ID); err != nil || j.State != events.JobSuccess {
		t.Errorf("what follows is not folded: the job is %s, %v", j.State, err)
	}
	if c, err := r.Cursor(t.Context()); err != nil || c.ParkedEvents != int64(len(litter)) {
		t.Errorf("%d events are parked, %v", c.ParkedEvents, err)
	}
	for i, seq := range at {
		if e, err := r.Event(t.Context(), seq); err != nil || e.Parked == "" || e.Subject != litter[i].Subject {
			t.Errorf("event %d is archived as %+v, %v", seq, e, err)
		}
	}
	verify(t, newFeed("log", f.stored...), url)
}
