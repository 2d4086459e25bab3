package door_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	blobjs "github.com/tachobench/tacho/blob/jetstream"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/shell"
)

const beatTTL = 3 * time.Second

// core is an embedded server with its log and one door.
type core struct {
	t      testing.TB
	server *natsserver.Server
	nc     *nats.Conn
	log    *jetstream.Log
	jobs   door.Jobs // the log, or what a test has instead
	guard  *door.Guard
	// ahead is how far the clock of the core is ahead of the log's.
	ahead atomic.Int64
	// outputs is the store of outputs of the core.
	outputs *blobjs.Store

	mu sync.Mutex
	// alerts are the alerts by collector; an empty text is an all-clear.
	alerts map[events.CollectorName]string
}

func newCore(t testing.TB, bounds door.Bounds) *core {
	t.Helper()
	return startCore(t, bounds, natsserver.Config{Unsynced: true})
}

// newSyncedCore is newCore with a server that syncs, as in production.
func newSyncedCore(t testing.TB, bounds door.Bounds) *core {
	t.Helper()
	return startCore(t, bounds, natsserver.Config{})
}

func startCore(t testing.TB, bounds door.Bounds, cfg natsserver.Config) *core {
	t.Helper()
	c := &core{t: t, alerts: map[events.CollectorName]string{}}
	c.guard = door.NewGuard(bounds, func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) })
	cfg.Dir, cfg.Listen, cfg.Auth = t.TempDir(), "127.0.0.1:0", c.guard
	cfg.Services, cfg.Limits = natsserver.Door()
	var err error
	if c.server, err = natsserver.Start(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.server.Shutdown)
	if c.nc, err = c.server.Connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.nc.Close)
	if c.log, err = jetstream.Open(t.Context(), c.nc, jetstream.Config{AckWait: 2 * time.Second, BeatTTL: beatTTL}); err != nil {
		t.Fatal(err)
	}
	c.jobs = c.log
	if c.outputs, err = blobjs.Open(t.Context(), c.nc, blobjs.Config{MaxBytes: 4 << 30}); err != nil {
		t.Fatal(err)
	}
	follow := shell.New(shell.Config{Log: c.log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	follow.Tell(c.guard.Told)
	c.guard.Learn(follow)
	c.run(follow.Run)
	return c
}

// run runs f until the test ends.
func (c *core) run(f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	once := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			c.t.Errorf("ended with %v", err)
		}
	})
	c.t.Cleanup(once)
	return once
}

func (c *core) door() *door.Door {
	return door.New(door.Config{
		NC: c.nc, Log: c.log, Jobs: c.jobs, Presence: c.log, JobLogs: c.log, Outputs: c.outputs, Guard: c.guard, BeatTTL: beatTTL, Wall: c.server,
		Alert: func(_ context.Context, about events.CollectorName, message, _ string) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.alerts[about] = message
			return nil
		},
		AllClear: func(_ context.Context, about events.CollectorName, _ string) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.alerts[about] = ""
			return nil
		},
		Version: "v9", Metrics: door.NewMetrics(nil), Logger: slog.New(slog.DiscardHandler),
	})
}

// open runs a door.
func (c *core) open() (stop func()) { return c.run(c.door().Run) }

// append records a fact as the core, at the end of its aggregate.
func (c *core) append(f events.Fact) events.Seq {
	c.t.Helper()
	last, _, err := c.log.Last(context.Background(), f.Subject())
	if err != nil {
		c.t.Fatal(err)
	}
	e := eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
	seq, err := c.log.Append(context.Background(), eventlog.Append{Subject: f.Subject(), Expected: last.Seq, Events: []events.Event{e}})
	if err != nil {
		c.t.Fatal(err)
	}
	return seq
}

// reach waits until the guard has read the log up to a sequence.
func (c *core) reach(seq events.Seq) {
	c.t.Helper()
	await(c.t, "the reading of the log", func() bool { return c.guard.At() >= seq })
}

// collector is a registered collector.
type collector struct {
	name events.CollectorName
	lane events.Lane
	key  nkeys.KeyPair
}

func newKey(t testing.TB) (nkeys.KeyPair, string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

// register registers a collector for a set of the target "linux", and lets it serve the lane.
func (c *core) register(name events.CollectorName, set events.Set) collector {
	c.t.Helper()
	key, public := newKey(c.t)
	lane := events.Lane{Target: "linux", Set: set}
	c.append(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, NKey: public})
	// The server knows the key once the guard has read it.
	c.reach(c.append(events.LaneAssigned{Lane: lane, Name: name}))
	return collector{name: name, lane: lane, key: key}
}

// dial connects with a key. It may take a moment until the server knows the key.
func (c *core) dial(key nkeys.KeyPair, opts ...nats.Option) door.Dial {
	return func(ctx context.Context) (*nats.Conn, error) {
		for {
			nc, err := nats.Connect(c.server.URL(), append(opts, natsserver.KeyOption(key), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))...)
			if !errors.Is(err, nats.ErrAuthorization) || ctx.Err() != nil {
				return nc, err
			}
		}
	}
}

func (c *core) client(who collector, opts ...nats.Option) *door.Client {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	client, err := door.Open(ctx, c.dial(who.key, opts...), who.name, who.lane)
	if err != nil {
		c.t.Fatalf("open as %s: %v", who.name, err)
	}
	c.t.Cleanup(client.Close)
	return client
}

// dispatch puts a job on the lane.
func (c *core) dispatch(lane events.Lane, place uint64, id events.JobID) events.JobSpec {
	c.t.Helper()
	spec := events.JobSpec{
		ID: id, Artifact: events.Artifact{Suite: "go", Tag: "x", Kind: events.Master}, Kind: "compile", Target: lane.Target, Set: lane.Set,
		Backend: "gc", Profile: "opt", Definitions: "d1", RequestID: "r1",
	}
	// A collector that got the job from the door knows its event. A collector in a test only guesses it, so wait here.
	c.reach(c.append(events.JobDispatched{Place: place, Job: spec}))
	return spec
}

// stamp makes an event as a collector does.
func stamp(f events.Fact) events.Event {
	return eventlog.NewEvent(f, eventlog.Meta{Source: "collector", Actor: "collector:eider"}, time.Now())
}

func appendOf(expected events.Seq, facts ...events.Fact) eventlog.Append {
	a := eventlog.Append{Subject: facts[0].Subject(), Expected: expected}
	for _, f := range facts {
		a.Events = append(a.Events, stamp(f))
	}
	return a
}

// await waits until done returns true.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not in time", what)
		}
	}
}
