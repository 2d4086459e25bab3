package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

const (
	noop      events.SuiteName = "noop"
	beatTTL                    = time.Minute
	offlineIn                  = time.Minute
)

// by is on whose behalf the benchmarks give commands.
var by = control.By{Actor: "bench", Source: "bench", Root: "bench"}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// FarmConfig says which farm to start.
type FarmConfig struct {
	Collectors int
	// Profiles is how many jobs a request has for each collector.
	Profiles int
	// InProgress is how many requests run at once.
	InProgress int
	Unsynced   bool
	// Gated begins with closed gates: jobs end only while Open.
	Gated bool
}

// Farm is a core with a scheduler and a door, and collectors that reach it over TCP as those of other machines do. Their
// jobs take no time and have one result. There is no projector: it follows the log beside the farm.
type Farm struct {
	FarmConfig
	Times
	log     *jetstream.Log
	control *control.Control
	server  *natsserver.Server
	guard   *door.Guard
	asked   int
	// ended counts the requests that have ended, made the jobs that were created, done the jobs that were executed.
	ended, made, done counter

	gating sync.Mutex
	// gate lets jobs end while it is closed as a channel.
	gate chan struct{}
}

// setsOfTarget is how many lanes each target has but the last one.
const setsOfTarget = 200

// laneOf returns a lane of the suite, counted from 0.
func laneOf(i int) events.Lane {
	return events.Lane{Target: events.Target(fmt.Sprintf("here-%d", i/setsOfTarget)), Set: events.Set(i % setsOfTarget)}
}

// jobsOf returns definitions with this many jobs for each of some lanes.
func jobsOf(lanes, profiles int) suite.Definitions {
	d := suite.Definitions{
		Version: 1, Name: noop, PrimaryTarget: laneOf(0).Target, Sources: suite.Sources{Root: "file"},
		Kinds:      []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true}},
		Backends:   []suite.Backend{{Name: "any"}},
		Categories: map[events.RequestKind][]suite.Category{events.Master: {suite.Primary}},
	}
	for i := 0; i < lanes; i += setsOfTarget {
		d.Targets = append(d.Targets, suite.Target{Name: laneOf(i).Target, Sets: min(lanes-i, setsOfTarget)})
	}
	for i := range profiles {
		d.Profiles = append(d.Profiles, suite.Profile{Name: events.Profile(fmt.Sprintf("p%d", i))})
	}
	return d
}

func (b *Bed) farm(c FarmConfig) (*Farm, error) {
	f := &Farm{FarmConfig: c, gate: make(chan struct{})}
	if !c.Gated {
		close(f.gate)
	}
	// A benchmark asks faster than a collector that measures something.
	bounds := door.DefaultBounds()
	bounds.Requests, bounds.Burst, bounds.EventBytes, bounds.Messages = 1e6, 1e6, 1<<30, 1e9
	f.guard = door.NewGuard(bounds, time.Now)
	config := natsserver.Config{Listen: "127.0.0.1:0", Auth: f.guard, Unsynced: c.Unsynced}
	config.Services, config.Limits = natsserver.Door()
	server, nc, err := b.nats(config)
	if err != nil {
		return nil, err
	}
	f.server = server
	if f.log, err = jetstream.Open(b.ctx, nc, jetstream.Config{BeatTTL: beatTTL}); err != nil {
		return nil, err
	}
	f.control = &control.Control{Log: f.log, Clock: time.Now}
	b.core(f, nc)
	if _, err := f.control.Publish(b.ctx, by, jobsOf(c.Collectors, c.Profiles)); err != nil {
		return nil, err
	}
	for i := range c.Collectors {
		if err := b.collector(f, i); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// core runs the parts of the core.
func (b *Bed) core(f *Farm, nc *nats.Conn) {
	s := shell.New(shell.Config{Log: f.log, Clock: time.Now, Logger: silent()})
	s.Tell(f.guard.Told)
	s.Tell(f.told)
	f.guard.Learn(s)
	hearing := presence.New(presence.Config{Heartbeats: f.log, Logger: silent()})
	s.Seat(scheduler.New(scheduler.Config{
		Log: f.log, Hearing: hearing, OfflineAfter: offlineIn, Logger: silent(),
		Policy: scheduler.Policy{MaxInProgress: f.InProgress, ArtifactDeadline: 7 * 24 * time.Hour, ExpansionRetry: 30 * time.Second, MaxWaiting: 1 << 30},
	}))
	gate := door.New(door.Config{
		NC: nc, Log: f.log, Jobs: f.log, Presence: f.log, JobLogs: f.log, Guard: f.guard, BeatTTL: beatTTL, Wall: f.server,
		Alert: func(_ context.Context, about events.CollectorName, message, _ string) error {
			b.say("alert about %s: %s", about, message)
			return nil
		},
		AllClear: func(context.Context, events.CollectorName, string) error { return nil },
		Version:  "bench", Metrics: door.NewMetrics(nil), Logger: silent(),
	})
	b.run("presence", hearing.Run)
	b.run("shell", s.Run)
	b.run("door", gate.Run)
}

// told hears each event that the core has folded.
func (f *Farm) told(fact events.Fact) {
	// What else happens needs no count.
	//exhaustive:ignore
	switch fact := fact.(type) {
	case events.RequestCompleted, events.RequestFailed, events.RequestExpansionFailed:
		f.ended.add(1)
	case events.JobsCreated:
		f.made.add(len(fact.Jobs))
	}
}

// collector registers and starts a collector.
func (b *Bed) collector(f *Farm, number int) error {
	key, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	public, err := key.PublicKey()
	if err != nil {
		return err
	}
	name, lane := events.CollectorName(fmt.Sprintf("c%d", number)), laneOf(number)
	registered, err := f.control.AddCollector(b.ctx, by, control.NewCollector{Name: name, Target: lane.Target, Set: lane.Set, NKey: public})
	if err != nil {
		return err
	}
	if err := f.awaitGuard(b.ctx, registered.Seq); err != nil {
		return err
	}
	client, err := door.Open(b.ctx, func(context.Context) (*nats.Conn, error) {
		return nats.Connect(f.server.URL(), natsserver.KeyOption(key), nats.MaxReconnects(-1))
	}, name, lane)
	if err != nil {
		return err
	}
	b.onEnd(func() error { client.Close(); return nil })
	b.run(string(name), collector.New(collector.Config{
		Name: name, Lane: lane, Instance: string(name), Host: "host", PID: number + 1, Version: "bench",
		Environment: events.Environment{Fingerprint: "env"},
		Log:         client, Jobs: stopwatch{client, f}, Presence: client, JobLogs: client, Bench: f,
		BeatEvery: 5 * time.Second, ProgressEvery: 20 * time.Second, FlushEvery: time.Second, MaxAttempts: 3, TransientDeadline: time.Hour,
		Clock: time.Now, Logger: silent(),
	}).Run)
	return nil
}

// awaitGuard waits until the server admits the collector that was registered by the event.
func (f *Farm) awaitGuard(ctx context.Context, seq events.Seq) error {
	for f.guard.At() < seq {
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// ask submits a request, which has Collectors × Profiles jobs.
func (f *Farm) ask(ctx context.Context) error {
	f.asked++
	n := control.NewRequest{Suite: noop, Kind: events.Master, Tag: events.Tag(fmt.Sprintf("%040d", f.asked))}
	_, _, err := f.control.CreateRequest(ctx, by, n)
	return err
}

// Open lets jobs end, Shut keeps each at its collector.
func (f *Farm) Open() {
	f.gating.Lock()
	defer f.gating.Unlock()
	close(f.gate)
}

// Shut undoes Open.
func (f *Farm) Shut() {
	f.gating.Lock()
	defer f.gating.Unlock()
	f.gate = make(chan struct{})
}

// Run implements collector.Bench.
func (f *Farm) Run(ctx context.Context, spec events.JobSpec, _ suite.Definitions, _ func(events.TestCase) bool, sink collector.Sink) error {
	f.note(&f.begun)
	f.gating.Lock()
	gate := f.gate
	f.gating.Unlock()
	select {
	case <-gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := sink.Measured(ctx, events.MeasuredCase{
		TestCase:   events.TestCase{Benchmark: "noop", Profile: spec.Profile, Scenario: "full", Backend: spec.Backend, Target: spec.Target},
		Iterations: []events.Iteration{{Metrics: map[events.Metric]float64{"wall-time": 1e-3}}},
	})
	f.note(&f.measured)
	f.done.add(1)
	return err
}

// RunPair implements collector.Bench. The farm has no matched jobs, so it has no parents beside them.
func (f *Farm) RunPair(ctx context.Context, _, own collector.Half, d suite.Definitions, sink collector.PairSink) error {
	return f.Run(ctx, own.Spec, d, own.Done, sink)
}

// stopwatch notes when jobs come.
type stopwatch struct {
	*door.Client
	farm *Farm
}

// NextJob implements eventlog.Jobs.
func (s stopwatch) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	d, err := s.Client.NextJob(ctx, lane)
	s.farm.note(&s.farm.received)
	return d, err
}

// finish submits a request and waits for its end.
func (f *Farm) finish(ctx context.Context) (time.Duration, error) {
	began, want := time.Now(), f.ended.now()+1
	if err := f.ask(ctx); err != nil {
		return 0, err
	}
	err := f.ended.await(ctx, want)
	return time.Since(began), err
}
