package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
)

// Story tells the events of a farm with two lanes as a scheduler and collectors would append them.
type Story struct {
	// Tell takes one fact and returns its sequence.
	Tell func(events.Fact) (events.Seq, error)
	// Reports is how many events with results each job has, Cases how many test cases each has.
	Reports, Cases int
	// Jobs is how many jobs a request has; 0 means 12.
	Jobs int
	// Light leaves all metrics but one out.
	Light bool

	asked  int
	places [2]uint64
	err    error
}

// storySuite is the suite of all requests of a story.
const storySuite events.SuiteName = "story"

func storyLane(i int) events.Lane { return events.Lane{Target: "linux-amd64", Set: events.Set(i)} }

func storyCollector(i int) events.CollectorName {
	return events.CollectorName(fmt.Sprintf("eider-%d", i))
}

// tell remembers the first error, so that a story is told without asking after each fact.
func (s *Story) tell(f events.Fact) (seq events.Seq) {
	if s.err == nil {
		seq, s.err = s.Tell(f)
	}
	return seq
}

// begin registers the collectors.
func (s *Story) begin() {
	s.tell(events.DefinitionsPublished{Suite: storySuite, Digest: "d1", Content: []byte(`{"suite":"story"}`)})
	for i := range s.places {
		lane := storyLane(i)
		s.tell(events.CollectorRegistered{Name: storyCollector(i), Target: lane.Target, Set: lane.Set})
		s.tell(events.LaneAssigned{Lane: lane, Name: storyCollector(i)})
	}
}

// ask tells of a new request, whose parent is the one before.
func (s *Story) ask() events.Artifact {
	s.asked++
	tag, parent := events.Tag(fmt.Sprintf("%040x", s.asked)), events.Tag("")
	if s.asked > 1 {
		parent = events.Tag(fmt.Sprintf("%040x", s.asked-1))
	}
	id := events.NewRequestID(storySuite, events.Master, string(tag))
	s.tell(events.RequestCreated{
		RequestID: id, Kind: events.Master, Suite: storySuite, Tag: tag, Parent: parent, PR: s.asked, Key: string(tag), State: events.StateArtifactsReady,
	})
	return events.Artifact{Suite: storySuite, Tag: tag, Kind: events.Master}
}

// start tells of a request that gets its jobs.
func (s *Story) start() (events.RequestID, []events.JobSpec) {
	a := s.ask()
	id := events.NewRequestID(storySuite, events.Master, string(a.Tag))
	var jobs []events.JobSpec
	for i := range cmp.Or(s.Jobs, 12) {
		lane, profile := storyLane(i%len(s.places)), events.Profile(fmt.Sprintf("profile-%d", i/len(s.places)))
		jobs = append(jobs, events.JobSpec{
			ID: events.NewJobID(a, "compile", lane, "gc", profile, nil, nil), Artifact: a, Kind: "compile", Target: lane.Target, Set: lane.Set,
			Backend: "gc", Profile: profile, Definitions: "d1", RequestID: id,
		})
	}
	s.tell(events.RequestAdmitted{RequestID: id, Tag: a.Tag, Reason: "level 0"})
	s.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Jobs: len(jobs)})
	s.tell(events.JobsCreated{RequestID: id, Jobs: jobs})
	return id, jobs
}

// finish tells of a request from its beginning to its end.
func (s *Story) finish() {
	id, jobs := s.start()
	for _, j := range jobs {
		s.job(j)
	}
	s.tell(events.RequestCompleted{RequestID: id, Jobs: len(jobs)})
}

func (s *Story) job(j events.JobSpec) {
	lane, name := j.Lane(), storyCollector(int(j.Set))
	s.places[j.Set]++
	place := s.places[j.Set]
	s.tell(events.JobDispatched{Place: place, Job: j})
	attempt := s.tell(events.JobDequeued{
		Lane: lane, Place: place, Job: j, Collector: name, Instance: "i1", Attempt: 1, Version: "v1", Environment: "env1",
	})
	for report := range s.Reports {
		f := events.TestCasesMeasured{
			Lane: lane, JobID: j.ID, Artifact: j.Artifact, Collector: name, Token: attempt, Attempt: 1, Definitions: "d1", Environment: "env1",
		}
		for n := range s.Cases {
			c := events.TestCase{
				// Each set has benchmarks of its own: a test case that was measured before is not stored again.
				Benchmark: events.Benchmark(fmt.Sprintf("benchmark-%d-%d", j.Set, report*s.Cases+n)), Profile: j.Profile, Scenario: "full", Backend: j.Backend, Target: j.Target,
			}
			f.Cases = append(f.Cases, events.MeasuredCase{TestCase: c, Iterations: s.iterations()})
		}
		s.tell(f)
	}
	s.tell(events.JobFinished{
		Lane: lane, Place: place, JobID: j.ID, RequestID: j.RequestID, Collector: name, Token: attempt, Attempt: 1, Outcome: events.Success,
		Measured: s.Reports * s.Cases, DurationMS: 90_000,
	})
}

// iterations returns three iterations with eight metrics each.
func (s *Story) iterations() (list []events.Iteration) {
	if s.Light {
		return []events.Iteration{{Metrics: map[events.Metric]float64{"wall-time": 1.5}}}
	}
	for n := range 3 {
		v := 1.0625 + float64(n)/64
		list = append(list, events.Iteration{Metrics: map[events.Metric]float64{
			"instructions:u": v * 1e9, "cycles:u": v * 2e9, "branch-misses": v * 1e6, "cache-misses": v * 1e5,
			"task-clock": v, "wall-time": v * 1.1, "max-rss": v * 1e8, "page-faults": v * 1e4,
		}})
	}
	return list
}

// onto appends the facts of a story to a log.
func onto(ctx context.Context, log eventlog.Log) func(events.Fact) (events.Seq, error) {
	versions := map[events.Subject]events.Seq{}
	return func(f events.Fact) (events.Seq, error) {
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "bench", Actor: "bench", Root: "bench"}, time.Now())
		seq, err := log.Append(ctx, eventlog.Append{Subject: f.Subject(), Expected: versions[f.Subject()], Events: []events.Event{e}})
		versions[f.Subject()] = seq
		return seq, err
	}
}

// told returns a log in memory with a story.
func told(ctx context.Context, reports, cases int, tell func(*Story)) (*memory.Log, error) {
	log := memory.New(memory.Config{})
	s := &Story{Tell: onto(ctx, log), Reports: reports, Cases: cases}
	s.begin()
	tell(s)
	return log, s.err
}
