package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/blob"
	blobjs "github.com/tachobench/tacho/blob/jetstream"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/shell"
)

// Farm is a core with its log and one door on a server, and two collectors: Eider, whose key the attacker has,
// and Teal, whose lane must continue to work.
type Farm struct {
	t *testing.T
	// eider and teal are the names that the two have on this server.
	eider, teal events.CollectorName
	log         *jetstream.Log
	outputs     *blobjs.Store
	client      *door.Client // Teal's
	place       uint64

	mu sync.Mutex
	// own are the ids of the events that the farm and Teal appended.
	own map[string]bool
	// alerts are the messages of the door's alerts, by collector.
	alerts map[events.CollectorName]string
}

// The two collectors.
const (
	Eider events.CollectorName = "eider"
	Teal  events.CollectorName = "teal"
)

// The lanes of the two.
var eiderLane, tealLane = events.Lane{Target: "linux", Set: 1}, events.Lane{Target: "linux", Set: 2}

// Server is where a farm is made.
type Server struct {
	// Core is a connection with the rights of the core.
	Core     *nats.Conn
	Replicas int
	Guard    *door.Guard
	Wall     door.Wall
	// Keys are the public keys of the two collectors, if the server asks the guard for them.
	Keys map[events.CollectorName]string
	// Names are other names of the two, if the server's configuration has such; else nil.
	Names map[events.CollectorName]events.CollectorName
	// Dial connects as one of the two, by its name on the server.
	Dial func(name events.CollectorName, opts ...nats.Option) (*nats.Conn, error)
}

// Unhurried returns bounds that do not cut an attack off: Flooded tests the cuts.
func Unhurried() door.Bounds {
	b := door.DefaultBounds()
	b.Requests, b.Burst, b.Excess, b.AtOnce, b.Messages, b.Bytes = 1e6, 1e6, 1e9, 64, 1e9, 1<<40
	b.EventBytes, b.OutputBytes, b.CarriedAtOnce = 64<<20, 64<<20, 64
	return b
}

// NewFarm makes a farm and returns it as a site with Eider's key.
func NewFarm(t *testing.T, s Server) (*Farm, Site) {
	t.Helper()
	f := &Farm{t: t, eider: Eider, teal: Teal, own: map[string]bool{}, alerts: map[events.CollectorName]string{}}
	if s.Names != nil {
		f.eider, f.teal = s.Names[Eider], s.Names[Teal]
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	if f.log, err = jetstream.Open(ctx, s.Core, jetstream.Config{Replicas: s.Replicas, AckWait: 2 * time.Second, BeatTTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if f.outputs, err = blobjs.Open(ctx, s.Core, blobjs.Config{Replicas: s.Replicas, MaxBytes: 64 << 20, UploadBytes: 16 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := f.outputs.Put(ctx, tealLane, "j0", Stored, bytes.NewReader(Secret)); err != nil {
		t.Fatal(err)
	}
	follow := shell.New(shell.Config{Log: f.log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	follow.Tell(s.Guard.Told)
	s.Guard.Learn(follow)
	f.run(follow.Run)
	f.append(events.RegistryOpened{})
	for name, lane := range map[events.CollectorName]events.Lane{f.eider: eiderLane, f.teal: tealLane} {
		f.append(events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, NKey: s.Keys[name]})
		f.append(events.LaneAssigned{Lane: lane, Name: name})
	}
	// One job waits on the attacker's lane, so that an attack could take it away.
	f.append(events.JobDispatched{Place: 1, Job: job(eiderLane, "j1")})
	f.run(f.door(s).Run)
	dial := func(name events.CollectorName) door.Dial {
		return func(ctx context.Context) (nc *nats.Conn, err error) {
			for ctx.Err() == nil { // the server learns keys from the log
				if nc, err = s.Dial(name); err == nil {
					return nc, nil
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
			return nil, err
		}
	}
	if f.client, err = door.Open(ctx, dial(f.teal), f.teal, tealLane); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.client.Close)
	if _, err := f.client.Claim(ctx, eventlog.Beat{Name: f.teal, Instance: "1", Time: time.Now()}, ""); err != nil {
		t.Fatal(err)
	}
	site := Site{
		Name: f.eider, Lane: eiderLane, Victim: f.teal, VictimLane: tealLane, Whole: f.Whole,
		Dial: func(opts ...nats.Option) (*nats.Conn, error) { return s.Dial(f.eider, opts...) },
	}
	return f, site
}

func (f *Farm) door(s Server) *door.Door {
	return door.New(door.Config{
		NC: s.Core, Log: f.log, Jobs: f.log, Presence: f.log, JobLogs: f.log, Outputs: f.outputs, Guard: s.Guard, Wall: s.Wall, BeatTTL: time.Minute,
		Alert: func(_ context.Context, about events.CollectorName, message, _ string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.alerts[about] = message
			return nil
		},
		AllClear: func(context.Context, events.CollectorName, string) error { return nil },
		Metrics:  door.NewMetrics(nil), Logger: slog.New(slog.DiscardHandler),
	})
}

// run runs g until the test ends.
func (f *Farm) run(g func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			f.t.Errorf("a part of the farm ended with %v", err)
		}
	})
}

func job(lane events.Lane, id events.JobID) events.JobSpec {
	return events.JobSpec{
		ID: id, Artifact: events.Artifact{Suite: "go", Tag: "x", Kind: events.Master}, Kind: "compile", Target: lane.Target, Set: lane.Set, RequestID: "r1",
	}
}

// append records a fact as the core.
func (f *Farm) append(fact events.Fact) events.Seq {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return f.as(ctx, f.log, fact)
}

// as records a fact through a view of the log, after the last event of its subject.
func (f *Farm) as(ctx context.Context, log eventlog.Aggregates, fact events.Fact) events.Seq {
	f.t.Helper()
	last, _, err := log.Last(ctx, fact.Subject())
	if err != nil {
		f.t.Fatal(err)
	}
	e := eventlog.NewEvent(fact, eventlog.Meta{Source: "test", Actor: "test"}, time.Now())
	f.mu.Lock()
	f.own[e.ID] = true
	f.mu.Unlock()
	seq, err := log.Append(ctx, eventlog.Append{Subject: fact.Subject(), Expected: last.Seq, Events: []events.Event{e}})
	if err != nil {
		f.t.Fatal(err)
	}
	return seq
}

// Whole fails the test unless the farm is as it was.
func (f *Farm) Whole(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := f.log.Verify(ctx); err != nil {
		t.Errorf("the log: %v", err)
	}
	// The farm keeps no snapshots. An attacker that could write one would make the next start believe it.
	whole, damaged, err := f.log.ReadSnapshots(ctx, shell.Fold, ledger.Shape())
	if err != nil || len(whole)+len(damaged) > 0 {
		t.Errorf("%d snapshots, damaged %v, %v", len(whole), damaged, err)
	}
	f.read(ctx, t)
	f.work(ctx, t)
	f.stored(ctx, t)
	if _, err := f.client.Beat(ctx, eventlog.Beat{Name: f.teal, Instance: "1", Time: time.Now()}); err != nil {
		t.Errorf("the name of %s: %v", f.teal, err)
	}
}

// stored checks the store of outputs: it has what Teal has stored, and nothing else. Eider executes no job.
func (f *Farm) stored(ctx context.Context, t *testing.T) {
	t.Helper()
	if got, err := blob.Bytes(ctx, f.client, tealLane, Stored); err != nil || !bytes.Equal(got, Secret) {
		t.Errorf("the output of the other lane: %d bytes, %v", len(got), err)
	}
	found, err := f.outputs.List(ctx)
	if err != nil || len(found) != 1 {
		t.Errorf("the outputs are %+v, %v", found, err)
	}
	if u, err := f.outputs.Usage(ctx); err != nil || u.Bytes > 2*Stored.Bytes || u.Refused != nil {
		t.Errorf("the store is %+v, %v", u, err)
	}
}

// read reads the whole log. It must have only events of the farm, of Teal, and what Eider may say about itself.
func (f *Farm) read(ctx context.Context, t *testing.T) {
	t.Helper()
	head, err := f.log.Head(ctx)
	if err != nil || head.First != 1 {
		t.Fatalf("the log begins at %d, %v", head.First, err)
	}
	cursor, err := f.log.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	var reader events.Reader
	for at := events.Seq(0); at < head.Last; {
		stored, err := cursor.Next(ctx, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stored {
			at = s.Seq
			f.mu.Lock()
			ours := f.own[s.Header[events.HeaderID]]
			f.mu.Unlock()
			e, litter, err := reader.Understand(s)
			switch {
			case err != nil || litter != "":
				t.Errorf("event %d on %s: litter %q, %v", s.Seq, s.Subject, litter, err)
			case ours:
			case s.Subject != events.CollectorSubject(f.eider) || e.Actor != events.Actor("collector:"+string(f.eider)) || e.Source != "collector":
				t.Errorf("event %d on %s by %s of %s: %+v", s.Seq, s.Subject, e.Actor, e.Source, e.Fact)
			case e.Time.Sub(s.StoredAt).Abs() > 25*time.Hour:
				t.Errorf("event %d of %s is stored at %s", s.Seq, e.Time, s.StoredAt)
			}
		}
	}
}

// work lets Teal do an ordinary job, and measures how long its lane takes.
func (f *Farm) work(ctx context.Context, t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	f.place++
	lane := tealLane
	spec := job(lane, events.JobID(fmt.Sprintf("j%d", f.place)))
	f.append(events.JobDispatched{Place: f.place, Job: spec})
	d, err := f.client.NextJob(ctx, lane)
	if err != nil {
		t.Fatalf("the other lane has no job any more: %v", err)
	}
	token := f.as(ctx, f.client, events.JobDequeued{Lane: lane, Place: f.place, Job: spec, Collector: f.teal, Instance: "1", Attempt: 1})
	f.as(ctx, f.client, events.JobFinished{
		Lane: lane, Place: f.place, JobID: spec.ID, RequestID: "r1", Collector: f.teal, Token: token, Attempt: 1, Outcome: events.Success,
	})
	if err := d.Ack(ctx); err != nil {
		t.Errorf("take a job of the other lane off it: %v", err)
	}
	took := time.Since(began)
	if took > laneTakes {
		t.Errorf("the other lane took %s for a job", took)
	}
	return took
}

// Flooded floods the core with the key until it is cut off, on each subject in turn. It returns the longest time that
// the other lane took for a job meanwhile. Without a wall there are no cuts, and each flood ends after lasting.
func (f *Farm) Flooded(t *testing.T, s Site, lasting time.Duration) (worst time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, subject := range []string{door.Prefix + "." + string(s.Name) + ".append", door.ReadPrefix + "." + string(s.Name) + ".read", door.Prefix + "." + string(s.Name) + ".chunk", string(events.WorkSubject(s.Lane))} {
		nc, err := s.Dial(nats.NoReconnect(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		for err != nil && ctx.Err() == nil { // still cut off
			nc, err = s.Dial(nats.NoReconnect())
		}
		if err != nil {
			t.Fatal(err)
		}
		flooding, stop := context.WithTimeout(ctx, lasting)
		over := make(chan struct{})
		garbage := []byte(strings.Repeat("x", 2000))
		go func() {
			defer close(over)
			for flooding.Err() == nil && !nc.IsClosed() {
				_ = nc.PublishRequest(subject, "$JS.API.STREAM.DELETE.EVENTS", garbage) // the flood ends when it is cut off
			}
		}()
		for flooding.Err() == nil && !nc.IsClosed() {
			worst = max(worst, f.work(ctx, t))
		}
		stop()
		<-over
		nc.Close()
	}
	return worst
}

// Told returns the message of the door's alert about a collector.
func (f *Farm) Told(name events.CollectorName) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.alerts[name]
}
