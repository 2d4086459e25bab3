package projector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	defs "github.com/tachobench/tacho/rules/suite"
)

// definitions are those of the suite of the stories: six benchmarks in each set.
func definitions() []byte {
	d := defs.Definitions{
		Version: defs.FormVersion, Name: suite, Targets: []defs.Target{{Name: lanes[0].Target, Sets: 2}},
		Kinds:    []defs.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true}},
		Profiles: []defs.Profile{{Name: "opt"}, {Name: "debug"}}, Backends: []defs.Backend{{Name: "gc"}},
		Scenarios:  []defs.Scenario{{Name: "full", Cache: defs.CacheNone}},
		Categories: map[events.RequestKind][]defs.Category{events.Master: {"primary"}},
		Defaults:   defs.Defaults{Timeout: "1m", Iterations: defs.Iterations{Number: 1}},
	}
	for i := range 12 {
		d.Benchmarks = append(d.Benchmarks, defs.BenchmarkDef{
			Name: events.Benchmark(fmt.Sprintf("b%d", i)), Kind: "compile", Category: "primary",
			Sets: map[events.Target]events.Set{lanes[0].Target: events.Set(i % 2)},
		})
	}
	return d.Canonical()
}

// queueOf returns the queue after the story so far.
func (s *story) queueOf() []readmodel.QueueEntry {
	s.t.Helper()
	q, err := open(s.t, project(s.t, s.stored, 1000)).Queue(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return q
}

// takes returns the expected duration of the request at a place.
func takes(q readmodel.QueueEntry) time.Duration {
	if q.EstimatedEnd == nil || q.EstimatedStart == nil {
		return -1
	}
	return q.EstimatedEnd.Sub(*q.EstimatedStart)
}

// begin creates and starts a request with jobs.
func (s *story) begin(f events.RequestCreated, jobs ...events.JobSpec) {
	s.tell(f)
	s.tell(events.RequestStarted{RequestID: f.RequestID, Definitions: "d1", Jobs: len(jobs)})
	s.tell(events.JobsCreated{RequestID: f.RequestID, Jobs: jobs})
}

// run executes a job that takes the time took.
func (s *story) run(j events.JobSpec, took time.Duration) {
	f := finished(j, s.tell(dequeued(j, 1, 0)), events.Success)
	f.DurationMS = took.Milliseconds()
	s.tell(f)
}

func withProfiles(tag events.Tag, profiles ...events.Profile) events.RequestCreated {
	f := created(tag, "", 0)
	f.Parameters.Profiles = profiles
	return f
}

func TestNoRequestWaitsForItsOptionalJobs(t *testing.T) {
	s := newStory(t)
	s.man(lanes[:]...)
	required, optional := job("sha1", lanes[0], "opt"), job("sha1", lanes[1], "opt")
	optional.Optional = true
	s.begin(created("sha1", "", 1), required, optional)
	s.run(required, 8*time.Second)
	s.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 1})
	s.run(optional, 29*time.Second)

	s.tell(created("sha2", "", 2))
	if q := s.queueOf(); takes(q[0]) != 8*time.Second {
		t.Errorf("it is expected to take %v, want the 8 s of its required job", takes(q[0]))
	}
	required, optional = job("sha2", lanes[0], "opt"), job("sha2", lanes[0], "debug")
	optional.Optional = true
	s.begin(created("sha2", "", 2), required, optional)
	s.run(required, 8*time.Second)
	s.tell(events.RequestCompleted{RequestID: requestID("sha2"), Jobs: 1})
	s.tell(dequeued(optional, 1, 0))
	s.tell(created("sha3", "", 3))
	if q := s.queueOf(); takes(q[0]) < 10*time.Second {
		t.Errorf("it is expected to take %v, and an optional job of a request that has ended is ahead of it", takes(q[0]))
	}
}

func TestARequestIsExpectedToBeGivenWhatOneLikeItWas(t *testing.T) {
	s := newStory(t)
	s.man(lanes[:]...)
	whole := []events.JobSpec{job("sha1", lanes[0], "debug"), job("sha1", lanes[0], "opt")}
	s.begin(created("sha1", "", 1), whole...)
	for _, j := range whole {
		s.run(j, time.Minute)
	}
	s.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 2})
	fancy := []events.JobSpec{job("sha2", lanes[0], "fancy"), job("sha2", lanes[0], "plain"), job("sha2", lanes[0], "doc")}
	s.begin(withProfiles("sha2", "fancy", "plain", "doc"), fancy...)
	for _, j := range fancy {
		s.run(j, time.Minute)
	}
	s.tell(events.RequestCompleted{RequestID: requestID("sha2"), Jobs: 3})
	for i, want := range []struct {
		asked events.RequestCreated
		takes time.Duration
	}{
		{created("next1", "", 1), 2 * time.Minute},
		{withProfiles("next2", "plain", "doc", "fancy"), 3 * time.Minute},
		{withProfiles("next3", "opt"), time.Minute},
	} {
		want.asked.PR = i + 1
		s.tell(want.asked)
		if got := takes(s.queueOf()[i]); got != want.takes {
			t.Errorf("a request for profiles %q is expected to take %v, want %v", want.asked.Parameters.Profiles, got, want.takes)
		}
	}
	// A request that shares nearly all its jobs with another one is no model for the next.
	id := requestID("next1")
	s.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Jobs: 0, Shared: []events.JobID{"j1", "j2"}})
	s.tell(events.RequestCompleted{RequestID: id, Jobs: 2})
	s.tell(created("next0", "", 0))
	if got := takes(s.queueOf()[0]); got != 2*time.Minute {
		t.Errorf("after one that shared its jobs a request is expected to take %v", got)
	}
}

func TestWithoutACollectorThereIsNoEnd(t *testing.T) {
	name := collectorOf(lanes[1])
	gone := map[string]struct{ goes, comes events.Fact }{
		"offline":     {events.CollectorOffline{Name: name, Reason: "it left"}, events.CollectorOnline{Name: name, Instance: "i2"}},
		"silent":      {events.CollectorSilent{Name: name, Reason: "silence"}, events.CollectorOnline{Name: name, Instance: "i2"}},
		"inactive":    {events.CollectorDeactivated{Name: name}, events.CollectorActivated{Name: name}},
		"quarantined": {events.CollectorQuarantined{Name: name, Reason: "jobs failed"}, events.CollectorActivated{Name: name}},
		"draining":    {events.CollectorDraining{Name: name}, events.CollectorOnline{Name: name, Instance: "i2"}},
		"unassigned":  {events.LaneUnassigned{Lane: lanes[1], Name: name}, events.LaneAssigned{Lane: lanes[1], Name: name}},
		"replaced":    {events.CollectorOffline{Name: name}, events.LaneAssigned{Lane: lanes[1], Name: collectorOf(lanes[0]), Standby: true}},
	}
	for how, g := range gone {
		t.Run(how, func(t *testing.T) {
			s := newStory(t)
			s.man(lanes[:]...)
			j := job("sha1", lanes[0], "opt")
			s.begin(created("sha1", "", 1), j)
			s.run(j, time.Minute)
			s.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 1})
			s.begin(created("sha2", "", 2), job("sha2", lanes[0], "opt"), job("sha2", lanes[1], "opt"))
			s.tell(created("sha3", "", 3))
			for _, q := range s.queueOf() {
				if q.EstimatedEnd == nil || q.NoEnd != "" {
					t.Errorf("with a collector on each lane: %+v", q)
				}
			}
			s.tell(g.goes)
			q := s.queueOf()
			if q[0].EstimatedEnd != nil || q[0].NoEnd != "no collector serves linux-amd64/1" {
				t.Errorf("the request in progress ends %v (%s)", q[0].EstimatedEnd, q[0].NoEnd)
			}
			if q[1].EstimatedStart != nil || q[1].EstimatedEnd != nil || !strings.HasSuffix(q[1].NoEnd, "`sha2` ahead of it has no end: no collector serves linux-amd64/1") {
				t.Errorf("the next one starts %v and ends %v (%s)", q[1].EstimatedStart, q[1].EstimatedEnd, q[1].NoEnd)
			}
			s.tell(g.comes)
			for _, q := range s.queueOf() {
				if q.EstimatedEnd == nil || q.NoEnd != "" {
					t.Errorf("with a collector again: %+v", q)
				}
			}
		})
	}
}

// A collector that takes no more jobs still ends its running job. A collector that is gone does not.
func TestTheEndOfAJobNeedsItsCollector(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	s.tell(events.CollectorOnline{Name: collectorOf(lanes[0]), Instance: "i1"})
	j := job("sha1", lanes[0], "opt")
	s.begin(created("sha1", "", 1), j)
	s.tell(dequeued(j, 1, 0))
	s.tell(events.CollectorDraining{Name: collectorOf(lanes[0])})
	if q := s.queueOf(); q[0].EstimatedEnd == nil {
		t.Errorf("its collector has the last job in hand: %+v", q[0])
	}
	s.tell(events.CollectorOffline{Name: collectorOf(lanes[0]), Instance: "i1"})
	if q := s.queueOf(); q[0].EstimatedEnd != nil || q[0].NoEnd == "" {
		t.Errorf("its collector is gone: %+v", q[0])
	}
}

// For the first request of a suite only its own progress is known.
func TestTheFirstRequestIsEstimatedByWhatItHasDone(t *testing.T) {
	s := newStory(t)
	s.man(lanes[:]...)
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	j := job("sha1", lanes[0], "opt")
	s.begin(created("sha1", "", 1), j)
	s.tell(created("sha2", "", 2))
	token := s.tell(dequeued(j, 1, 0))
	if q := s.queueOf(); !q[0].Guessed || takes(q[0]) != time.Hour {
		t.Errorf("at first nothing is known: %+v", q[0])
	}
	began := s.at.Add(-time.Second)
	s.at = began.Add(10 * time.Minute)
	s.tell(measured(j, token, "b0", "b2", "b4", "b6", "b8"))
	q := s.queueOf()
	if q[0].Guessed || q[0].EstimatedEnd.Sub(began) != 12*time.Minute {
		t.Errorf("five sixths took 10 min, and it should take %v in all (guessed: %t)", q[0].EstimatedEnd.Sub(began), q[0].Guessed)
	}
	if q[1].Guessed || takes(q[1]) != 12*time.Minute {
		t.Errorf("the next one is expected to take %v (guessed: %t)", takes(q[1]), q[1].Guessed)
	}
	// Another job of the request, and one that failed: it measured less than it should, in its time.
	other := job("sha1", lanes[0], "debug")
	s.tell(events.JobsCreated{RequestID: requestID("sha1"), Jobs: []events.JobSpec{other}})
	f := finished(j, token, events.Failure)
	f.Measured, f.Failed, f.DurationMS = 5, 1, (18 * time.Minute).Milliseconds()
	s.tell(f)
	if q := s.queueOf(); q[0].Guessed || q[0].EstimatedEnd.Sub(s.at).Round(time.Minute) != 18*time.Minute {
		t.Errorf("after a job of 18 min, which failed, the other one ends %v from now", q[0].EstimatedEnd.Sub(s.at))
	}
}

// The estimates are the same in batches of any size, and after a restart at any event.
func TestEstimatesComeFromTheLogAlone(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	first, second := job("sha1", lanes[0], "opt"), job("sha1", lanes[0], "debug")
	s.begin(created("sha1", "", 1), first, second)
	token := s.tell(dequeued(first, 1, 0))
	s.at = s.at.Add(10 * time.Second)
	s.tell(created("sha2", "", 2))
	ends := map[string][]events.Stored{}
	s.tell(measured(first, token, "b0", "b2"))
	ends["test cases"] = s.stored
	f := finished(first, token, events.Failure)
	f.Measured, f.Failed, f.DurationMS = 2, 4, (18 * time.Minute).Milliseconds()
	s.tell(f)
	s.tell(created("sha3", "", 3))
	ends["a job that failed"] = s.stored
	s.tell(events.CollectorQuarantined{Name: collectorOf(lanes[0]), Reason: "jobs failed"})
	ends["a collector"] = s.stored
	for what, log := range ends {
		t.Run(what, func(t *testing.T) {
			want := contents(t, project(t, log, 1000))["queue"]
			if diff := cmp.Diff(want, contents(t, project(t, log, 1))["queue"]); diff != "" {
				t.Errorf("batch size 1000 (-) and 1 (+):\n%s", diff)
			}
			url := database(t)
			r := open(t, url)
			for to := range log {
				p := start(t, projector.Config{Log: newFeed("log", log[:to+1]...), URL: url})
				p.await(t, r, events.Seq(to+1))
				if err := p.stop(); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, contents(t, url)["queue"]); diff != "" {
				t.Errorf("without restarts (-) and with (+):\n%s", diff)
			}
		})
	}
}
