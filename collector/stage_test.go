package collector

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

// stage is a log in memory on which the test plays the scheduler and real collectors do the rest. It is made for
// bubbles of synctest.
type stage struct {
	t     *testing.T
	log   *memory.Log
	suite suite.Definitions
	ctx   context.Context
}

var (
	pool0, pool1  = events.PoolLane("builders", 0), events.PoolLane("builders", 1)
	child, parent = events.Artifact{Suite: "pairs", Tag: "v2", Kind: events.Master}, events.Artifact{Suite: "pairs", Tag: "v1", Kind: events.Master}
)

// onStage runs a test with the collectors c0 and c1 of two lanes of a pool, and definitions of two benchmarks.
func onStage(t *testing.T, play func(s *stage)) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &stage{t: t, log: memory.New(memory.Config{}), ctx: ctx, suite: pairSuite()}
	defer cancel()
	s.tell(events.DefinitionsPublished{Suite: s.suite.Name, Digest: s.suite.Digest(), Content: s.suite.Canonical()})
	s.tell(events.MachineDescribed{Machine: "eider", Pool: "builders", MemoryMiB: 4096, CPUs: 4, Slots: 2})
	for name, lane := range map[events.CollectorName]events.Lane{"c0": pool0, "c1": pool1} {
		if err := s.log.EnsureLane(ctx, lane, 0); err != nil {
			t.Fatal(err)
		}
		s.tell(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, Machine: "eider"})
		s.tell(events.LaneAssigned{Lane: lane, Name: name})
	}
	play(s)
}

func pairSuite() suite.Definitions {
	all := []suite.Category{suite.Primary}
	return suite.Definitions{
		Version: 1, Name: "pairs", Categories: map[events.RequestKind][]suite.Category{events.Master: all},
		Targets: []suite.Target{{Name: "here", Sets: 1}}, Kinds: []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true}},
		Profiles: []suite.Profile{{Name: "p"}}, Backends: []suite.Backend{{Name: "b"}}, Scenarios: []suite.Scenario{{Name: "full", Cache: "none"}},
		Defaults: suite.Defaults{Iterations: suite.Iterations{Number: 1}, Timeout: "1m"},
		Benchmarks: []suite.BenchmarkDef{
			{Name: "x", Kind: "compile", Category: suite.Primary, Sets: map[events.Target]events.Set{"here": 0}},
			{Name: "y", Kind: "compile", Category: suite.Primary, Sets: map[events.Target]events.Set{"here": 0}},
		},
	}
}

// matched returns a matched job of the suite. Its target and set name no lane.
func (s *stage) matched(id events.JobID) events.JobSpec {
	return events.JobSpec{
		ID: id, Artifact: child, Kind: "compile", Target: "here", Backend: "b", Profile: "p", Definitions: s.suite.Digest(), RequestID: "r1", Matched: true,
	}
}

// pair returns a matched job that also measures the parent.
func (s *stage) pair(id events.JobID) events.JobSpec {
	spec := s.matched(id)
	spec.Against = &parent
	return spec
}

// tell records facts of one aggregate, as the core.
func (s *stage) tell(facts ...events.Fact) events.Seq {
	s.t.Helper()
	last, _, err := s.log.Last(s.ctx, facts[0].Subject())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.append(eventlog.Append{Subject: facts[0].Subject(), Expected: last.Seq, Events: stored(facts...)})
}

func stored(facts ...events.Fact) (out []events.Event) {
	for _, f := range facts {
		out = append(out, eventlog.NewEvent(f, eventlog.Meta{Source: "scheduler", Actor: "scheduler"}, time.Now()))
	}
	return out
}

func (s *stage) append(parts ...eventlog.Append) events.Seq {
	s.t.Helper()
	seq, err := s.log.Append(s.ctx, parts...)
	if err != nil {
		s.t.Fatal(err)
	}
	return seq
}

// dispatch binds a job to a lane. attempt and lost are those of the lanes that it was on before.
func (s *stage) dispatch(lane events.Lane, place uint64, spec events.JobSpec, attempt, lost int) {
	s.t.Helper()
	s.tell(events.JobDispatched{Place: place, Job: spec.Bound(lane), Closes: true, Attempt: attempt, Lost: lost})
}

// move takes the job at a place away, and returns the JobMoved.
func (s *stage) move(lane events.Lane, m job.Move) (moved events.JobMoved) {
	s.t.Helper()
	for _, f := range s.decide(lane, m) {
		if f, ok := f.(events.JobMoved); ok {
			moved = f
		}
	}
	return moved
}

// decide carries out a command to a lane, as the scheduler does.
func (s *stage) decide(lane events.Lane, c job.Command) []events.Fact {
	s.t.Helper()
	last, _, err := s.log.Last(s.ctx, events.WorkSubject(lane))
	if err != nil {
		s.t.Fatal(err)
	}
	facts, err := job.Decide(job.Evolve(job.Lane{}, last.Fact, last.Seq, last.Time), lane, c)
	if err != nil {
		s.t.Fatal(err)
	}
	var parts []eventlog.Append
	for _, f := range facts {
		if n := len(parts); n == 0 || parts[n-1].Subject != f.Subject() {
			newest, _, err := s.log.Last(s.ctx, f.Subject())
			if err != nil {
				s.t.Fatal(err)
			}
			parts = append(parts, eventlog.Append{Subject: f.Subject(), Expected: newest.Seq})
		}
		at := &parts[len(parts)-1]
		at.Events = append(at.Events, stored(f)...)
	}
	s.append(parts...)
	return facts
}

// cable is the connection of one process to the log. While it is cut, nothing gets through.
type cable struct {
	*memory.Log
	cut atomic.Bool
}

func (c *cable) broken() error {
	if c.cut.Load() {
		return fmt.Errorf("%w: the cable is cut", eventlog.ErrUnavailable)
	}
	return nil
}

// Append implements eventlog.Log.
func (c *cable) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if err := c.broken(); err != nil {
		return 0, err
	}
	return c.Log.Append(ctx, parts...)
}

// Read implements eventlog.Log.
func (c *cable) Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error) {
	if err := c.broken(); err != nil {
		return nil, err
	}
	return c.Log.Read(ctx, subject)
}

// Last implements eventlog.Log.
func (c *cable) Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error) {
	if err := c.broken(); err != nil {
		return events.Recorded{}, false, err
	}
	return c.Log.Last(ctx, subject)
}

// process is a running collector.
type process struct {
	collector *Collector
	stop      context.CancelFunc
	// ended yields what Run returned.
	ended chan error
}

// start starts a process of a collector, with a configuration that may be changed.
func (s *stage) start(name events.CollectorName, lane events.Lane, instance string, bench Bench, change ...func(*Config)) *process {
	ctx, stop := context.WithCancel(s.ctx)
	config := Config{
		Name: name, Lane: lane, Instance: instance, Host: "host", PID: 1, Version: "v1", OS: "linux", Arch: "amd64",
		Environment: events.Environment{Fingerprint: events.Digest("env of " + name), MemoryBytes: 8 << 30, CPUs: 8},
		Log:         s.log, Jobs: s.log, Presence: s.log, JobLogs: s.log, Bench: bench,
		BeatEvery: 5 * time.Second, ProgressEvery: 20 * time.Second, FlushEvery: time.Second, MaxAttempts: 3, TransientDeadline: 10 * time.Minute,
		Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&config)
	}
	c := New(config)
	p := &process{collector: c, stop: stop, ended: make(chan error, 1)}
	go func() { p.ended <- c.Run(ctx) }()
	return p
}

// end stops a process and waits for its end.
func (p *process) end() error {
	p.stop()
	return <-p.ended
}

// await waits until the log has an event that found accepts, and returns it.
func await[F events.Fact](s *stage, subject events.Subject, found func(F) bool) F {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, 24*time.Hour)
	defer cancel()
	cursor, err := s.log.Follow(ctx, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer cursor.Close()
	for {
		batch, err := cursor.Next(ctx, 1000)
		if err != nil {
			s.t.Fatalf("waiting for %T on %s: %v", *new(F), subject, err)
		}
		for _, message := range batch {
			e, err := events.Decode(message)
			if err != nil {
				s.t.Fatal(err)
			}
			if f, ok := e.Fact.(F); ok && f.Subject() == subject && found(f) {
				return f
			}
		}
	}
}

// finished waits for the end of a job on a lane.
func (s *stage) finished(lane events.Lane, id events.JobID) events.JobFinished {
	s.t.Helper()
	return await(s, events.WorkSubject(lane), func(f events.JobFinished) bool { return f.JobID == id })
}

// told returns the facts of one aggregate.
func told[F events.Fact](s *stage, subject events.Subject) (out []F) {
	s.t.Helper()
	history, err := s.log.Read(s.ctx, subject)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range history {
		if f, ok := e.Fact.(F); ok {
			out = append(out, f)
		}
	}
	return out
}
