package reporttest

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/reporter"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

const (
	collectorName = events.CollectorName("amd-0")
	environment   = events.Digest("e1")
)

func sha(letter string) events.Tag { return events.Tag(strings.Repeat(letter, 40)) }

// stage is a log with a running projector, and the reports from its tables.
type stage struct {
	t       *testing.T
	log     *memory.Log
	control *control.Control
	suite   suite.Definitions
	tables  reporter.Tables
	lane    events.Lane
	place   uint64
}

func open(t *testing.T) *stage {
	t.Helper()
	d, err := definitions.Shipped("go")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, log: memory.New(memory.Config{}), suite: d, lane: events.Lane{Target: "linux-amd64", Set: 0}}
	s.control = &control.Control{Log: s.log, Clock: now, Suites: func(context.Context) ([]events.SuiteName, error) {
		return []events.SuiteName{d.Name}, nil
	}}
	url := pgtest.New(t, "migrated", readmodel.Migrate)
	reader, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	s.tables = reporter.Tables{
		Reader: reader, Site: "https://perf.example/", Labels: reporter.Labels{Waiting: "S-waiting-on-perf", Regression: "perf-regression"},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- projector.New(projector.Config{Log: s.log, URL: url}).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		reader.Close()
	})
	if _, err := s.control.Publish(t.Context(), teller(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := s.control.AddCollector(t.Context(), teller(), control.NewCollector{Name: collectorName, Target: s.lane.Target, Set: s.lane.Set}); err != nil {
		t.Fatal(err)
	}
	return s
}

func now() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) }

func teller() control.By { return control.By{Actor: "cli:alice", Source: "test", Root: "test"} }

// tell appends facts in one batch, those of one aggregate one after another. It returns the sequence of the first.
func (s *stage) tell(facts ...events.Fact) events.Seq {
	s.t.Helper()
	var parts []eventlog.Append
	for _, f := range facts {
		e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test", Root: "test"}, now())
		if n := len(parts); n > 0 && parts[n-1].Subject == f.Subject() {
			parts[n-1].Events = append(parts[n-1].Events, e)
			continue
		}
		last, _, err := s.log.Last(s.t.Context(), f.Subject())
		if err != nil {
			s.t.Fatal(err)
		}
		parts = append(parts, eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}})
	}
	last, err := s.log.Append(s.t.Context(), parts...)
	if err != nil {
		s.t.Fatal(err)
	}
	return last - events.Seq(len(facts)) + 1
}

func (s *stage) request(n control.NewRequest) request.Request {
	s.t.Helper()
	n.Suite = s.suite.Name
	r, _, err := s.control.CreateRequest(s.t.Context(), teller(), n)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// start puts a request in progress with one job of one profile.
func (s *stage) start(r request.Request, profile events.Profile) events.JobSpec {
	s.t.Helper()
	j := s.job(r, profile)
	s.tell(events.RequestAdmitted{RequestID: r.ID, Tag: r.Artifact.Tag, Reason: "first in the queue"},
		events.RequestStarted{RequestID: r.ID, Definitions: s.suite.Digest(), Jobs: 1},
		events.JobsCreated{RequestID: r.ID, Jobs: []events.JobSpec{j}})
	return j
}

func (s *stage) job(r request.Request, profile events.Profile) events.JobSpec {
	j := events.JobSpec{
		Artifact: r.Artifact, Kind: "compile", Target: s.lane.Target, Set: s.lane.Set, Backend: "gc", Profile: profile,
		Definitions: s.suite.Digest(), RequestID: r.ID,
	}
	j.ID = events.NewJobID(r.Artifact, j.Kind, j.Lane(), j.Backend, j.Profile, nil, nil)
	return j
}

// run measures some benchmarks of a job. Each factor gives the instructions in terms of the usual number. A factor of
// 0 is a failure, a negative one a failure that a later result corrected.
func (s *stage) run(j events.JobSpec, factors map[events.Benchmark]float64) {
	s.t.Helper()
	s.place++
	s.tell(events.JobDispatched{Place: s.place, Job: j})
	token := s.tell(events.JobDequeued{Lane: j.Lane(), Place: s.place, Job: j, Collector: collectorName, Instance: "i", Attempt: 1, Version: "v1", Environment: environment},
		events.AttemptBegan{Lane: j.Lane(), JobID: j.ID, Collector: collectorName, Attempt: 1})
	m := events.TestCasesMeasured{
		Lane: j.Lane(), JobID: j.ID, Artifact: j.Artifact, Collector: collectorName, Token: token, Attempt: 1, Definitions: j.Definitions, Environment: environment,
	}
	end := events.JobFinished{
		Lane: j.Lane(), Place: s.place, JobID: j.ID, RequestID: j.RequestID, Collector: collectorName, Token: token, Attempt: 1, Outcome: events.Success, DurationMS: 1000,
	}
	for benchmark, factor := range factors {
		c := events.TestCase{Benchmark: benchmark, Profile: j.Profile, Scenario: "full", Backend: j.Backend, Target: j.Target}
		if factor <= 0 {
			s.tell(events.ErrorRecorded{
				Lane: j.Lane(), JobID: j.ID, Artifact: j.Artifact, Collector: collectorName, Token: token, Attempt: 1, Kind: events.ErrorBenchmark,
				Context: string(benchmark), Case: &c, Message: "bench ended with exit code 2:\nstarting\npanic: @you broke it\n\ngoroutine 1 [running]:",
			})
		}
		if factor == 0 {
			end.Failed, end.Outcome, end.Reason = end.Failed+1, events.Failure, "a test case failed"
			continue
		}
		measured := events.MeasuredCase{TestCase: c}
		for n := range 6 {
			measured.Iterations = append(measured.Iterations, events.Iteration{Metrics: map[events.Metric]float64{
				"instructions:u": 1e9 * math.Abs(factor) * (1 + float64(n)/1e6), "max-rss": 1e8,
			}})
		}
		m.Cases = append(m.Cases, measured)
		end.Measured++
	}
	if len(m.Cases) > 0 {
		s.tell(m)
	}
	s.tell(end)
}

// report returns the report on a request, after everything that was told.
func (s *stage) report(r request.Request) reporter.Report {
	s.t.Helper()
	head, err := s.log.Head(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	made, err := s.tables.Report(s.t.Context(), r, head.Last)
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}
