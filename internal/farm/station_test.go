package farm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// station is a core on a real server, with collectors that come through its door over TCP. It is for benchmarks: their jobs take
// no time.
type station struct {
	b       *testing.B
	server  *natsserver.Server
	log     *jetstream.Log
	control *control.Control
	suite   suite.Definitions
	// ended has each request that completed.
	ended chan events.RequestID
	// received gets the time at which a collector had a job, and ran those at which its bench began and ended, while there is room.
	received chan time.Time
	ran      chan [2]time.Time
}

// newStation returns a station with a scheduler and so many lanes, each with a collector. A request has perLane jobs on each.
func newStation(b *testing.B, unsynced bool, lanes, perLane int) *station {
	b.Helper()
	bounds := door.DefaultBounds() // a collector whose jobs take no time asks more often than one that works
	bounds.Requests, bounds.Burst, bounds.EventBytes, bounds.Messages = 1e6, 1e6, 1<<30, 1e9
	guard := door.NewGuard(bounds, time.Now)
	config := natsserver.Config{Dir: b.TempDir(), Listen: "127.0.0.1:0", Auth: guard, Unsynced: unsynced}
	config.Services, config.Limits = natsserver.Door()
	s := &station{b: b, suite: manyJobs(perLane), ended: make(chan events.RequestID, 1), received: make(chan time.Time, 1<<10), ran: make(chan [2]time.Time, 1<<10)}
	s.suite.Targets[0].Sets = lanes
	var err error
	if s.server, err = natsserver.Start(config); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.server.Shutdown)
	nc, err := s.server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	if s.log, err = jetstream.Open(b.Context(), nc, jetstream.Config{}); err != nil {
		b.Fatal(err)
	}
	s.control = &control.Control{Log: s.log, Clock: time.Now}
	if _, err := s.control.Publish(b.Context(), By, s.suite); err != nil {
		b.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	around := shell.New(shell.Config{Log: s.log, Clock: time.Now, Logger: quiet})
	around.Tell(guard.Told)
	around.Tell(func(f events.Fact) {
		if f, ok := f.(events.RequestCompleted); ok {
			s.ended <- f.RequestID
		}
	})
	guard.Learn(around)
	around.Seat(scheduler.New(scheduler.Config{Log: s.log, Policy: policy, OfflineAfter: time.Minute, Logger: quiet}))
	s.run(around.Run)
	s.run(door.New(door.Config{
		NC: nc, Log: s.log, Jobs: s.log, Presence: s.log, JobLogs: s.log, Guard: guard, BeatTTL: time.Minute, Wall: s.server,
		Alert: func(_ context.Context, about events.CollectorName, message, _ string) error {
			b.Error(about, message)
			return nil
		},
		AllClear: func(context.Context, events.CollectorName, string) error { return nil },
		Metrics:  door.NewMetrics(nil), Logger: quiet,
	}).Run)
	for n := range lanes {
		s.collect(events.Set(n))
	}
	return s
}

// run runs a part until the benchmark ends.
func (s *station) run(part func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	s.b.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			s.b.Error(err)
		}
	})
}

// collect runs a collector for one set.
func (s *station) collect(set events.Set) {
	s.b.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		s.b.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		s.b.Fatal(err)
	}
	name, lane := events.CollectorName(fmt.Sprintf("c%d", set)), events.Lane{Target: "here", Set: set}
	if _, err := s.control.AddCollector(s.b.Context(), By, control.NewCollector{Name: name, Target: lane.Target, Set: set, NKey: public}); err != nil {
		s.b.Fatal(err)
	}
	dial := func(ctx context.Context) (nc *nats.Conn, err error) {
		for { // the server learns keys from the log
			nc, err = nats.Connect(s.server.URL(), natsserver.KeyOption(key))
			if !errors.Is(err, nats.ErrAuthorization) || ctx.Err() != nil {
				return nc, err
			}
		}
	}
	client, err := door.Open(s.b.Context(), dial, name, lane)
	if err != nil {
		s.b.Fatal(err)
	}
	s.b.Cleanup(client.Close)
	s.run(collector.New(collector.Config{
		Name: name, Lane: lane, Instance: string(name), Log: client, Jobs: watched{client, s}, Presence: client, JobLogs: client, Bench: noBench{s},
		// Seldom beats do not hide what a job itself reads.
		SpoolDir: s.b.TempDir(), BeatEvery: 30 * time.Second, ProgressEvery: 20 * time.Second, FlushEvery: time.Second, MaxAttempts: 3,
		TransientDeadline: time.Hour, Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
	}).Run)
}

// create asks for the next request.
func (s *station) create(n int) {
	s.b.Helper()
	wish := control.NewRequest{Suite: s.suite.Name, Kind: events.Master, Tag: events.Tag(fmt.Sprintf("t%d", n))}
	if _, _, err := s.control.CreateRequest(s.b.Context(), By, wish); err != nil {
		s.b.Fatal(err)
	}
}

// watched tells when a job is received.
type watched struct {
	eventlog.Jobs
	s *station
}

// NextJob implements eventlog.Jobs.
func (w watched) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	d, err := w.Jobs.NextJob(ctx, lane)
	if err == nil {
		select {
		case w.s.received <- time.Now():
		default:
		}
	}
	return d, err
}

// noBench does nothing, and tells when.
type noBench struct{ s *station }

// RunPair implements collector.Bench.
func (n noBench) RunPair(ctx context.Context, _, own collector.Half, d suite.Definitions, sink collector.PairSink) error {
	return n.Run(ctx, own.Spec, d, own.Done, sink)
}

// Run implements collector.Bench.
func (n noBench) Run(context.Context, events.JobSpec, suite.Definitions, func(events.TestCase) bool, collector.Sink) error {
	began := time.Now()
	select {
	case n.s.ran <- [2]time.Time{began, time.Now()}:
	default:
	}
	return nil
}

// remote returns a connection of the core over TCP.
func (s *station) remote() *nats.Conn {
	s.b.Helper()
	nc, err := nats.Connect(s.server.URL(), s.server.Options()...)
	if err != nil {
		s.b.Fatal(err)
	}
	s.b.Cleanup(nc.Close)
	return nc
}

// head returns the last sequence of the log.
func (s *station) head() events.Seq {
	s.b.Helper()
	head, err := s.log.Head(s.b.Context())
	if err != nil {
		s.b.Fatal(err)
	}
	return head.Last
}
