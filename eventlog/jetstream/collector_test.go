package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

var lane = events.Lane{Target: "linux-x86", Set: 1}

// Both views implement all four ports.
type ports interface {
	eventlog.Log
	eventlog.Dispatch
	eventlog.Presence
	eventlog.JobLogs
}

var _, _ ports = (*jetstream.Log)(nil), (*jetstream.Collector)(nil)

// oneCollector admits one key as the collector "eider".
type oneCollector struct{ public string }

func (o oneCollector) Permissions(key string) (*natsserver.Permissions, bool) {
	p := natsserver.Permissions(jetstream.CollectorPermissions("eider", lane))
	return &p, key == o.public
}

// site is a core and the connection of one collector with its permissions.
type site struct {
	core   *jetstream.Log
	remote *nats.Conn
	denied chan error
}

func newSite(t *testing.T) site {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	srv := start(t, natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Auth: oneCollector{public}})
	s := site{denied: make(chan error, 100)}
	s.core = open(t, connect(t, srv), short)
	if err := s.core.EnsureLane(t.Context(), lane); err != nil {
		t.Fatal(err)
	}
	opts := append(jetstream.CollectorOptions("eider"), natsserver.KeyOption(key),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { s.denied <- err }))
	if s.remote, err = nats.Connect(srv.URL(), opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remote.Close)

	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.core.ServeCollectors(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

func dispatched(place uint64) events.Event {
	job := events.JobSpec{ID: "j1", Target: lane.Target, Set: lane.Set}
	return eventlog.NewEvent(events.JobDispatched{Place: place, Job: job}, eventlog.Meta{Actor: "test"}, time.Now())
}

// TestCollectorWorks walks through everything that a collector does, with its permissions.
func TestCollectorWorks(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := jetstream.OpenCollector(ctx, s.remote, "eider", lane)
	if err != nil {
		t.Fatal(err)
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = c.Read(ctx, events.CollectorSubject("eider"))
	must("read", err)
	if ttl := c.BeatTTL(); ttl != short.BeatTTL {
		t.Errorf("the core says that heartbeats live %s, want %s", ttl, short.BeatTTL)
	}
	_, err = c.Claim(ctx, eventlog.Beat{Name: "eider", Instance: "1"}, "")
	must("claim", err)
	must("beat", c.Beat(ctx, eventlog.Beat{Name: "eider", Instance: "1", Done: 1}))

	_, err = s.core.Append(ctx, eventlog.Append{Subject: events.LaneSubject(lane), Events: []events.Event{dispatched(1)}})
	must("dispatch", err)
	d, err := c.NextJob(ctx, lane)
	must("next job", err)
	must("in progress", d.InProgress(ctx))
	must("nak", d.Nak(ctx, 0))
	d, err = c.NextJob(ctx, lane)
	must("next job again", err)

	meta := eventlog.Meta{Source: "collector", Actor: "collector:eider"}
	dequeued := eventlog.NewEvent(events.JobDequeued{Lane: lane, Collector: "eider"}, meta, time.Now())
	token, err := c.Append(ctx, eventlog.Append{Subject: events.WorkSubject(lane), Events: []events.Event{dequeued}})
	must("append", err)
	_, err = c.Append(ctx, eventlog.Append{Subject: events.WorkSubject(lane), Events: []events.Event{eventlog.NewEvent(dequeued.Fact, meta, time.Now())}})
	if conflict := new(eventlog.ConflictError); !errors.As(err, &conflict) || conflict.Actual != token {
		t.Fatalf("a second writer: %v", err)
	}
	var measured []events.Event
	for range 3 {
		measured = append(measured, eventlog.NewEvent(events.TestCasesMeasured{Lane: lane, JobID: "j1", Token: token}, meta, time.Now()))
	}
	finished := eventlog.NewEvent(events.JobFinished{Lane: lane, Token: token, Outcome: events.Success}, meta, time.Now())
	last, err := c.Append(ctx, eventlog.Append{Subject: events.ResultSubject(lane, "j1"), Events: measured},
		eventlog.Append{Subject: events.WorkSubject(lane), Expected: token, Events: []events.Event{finished}})
	must("append a batch", err)

	got, err := c.Read(ctx, events.ResultSubject(lane, "j1"))
	must("read", err)
	if len(got) != 3 || got[2].Seq != last-1 || got[0].ID != measured[0].ID {
		t.Fatalf("read %+v", got)
	}
	end, ok, err := c.Last(ctx, events.WorkSubject(lane))
	must("last", err)
	if !ok || end.Seq != last || end.ID != finished.ID {
		t.Fatalf("last %+v", end)
	}
	definitions := eventlog.NewEvent(events.DefinitionsPublished{Suite: "go", Content: []byte(`{}`)}, meta, time.Now())
	_, err = s.core.Append(ctx, eventlog.Append{Subject: events.SuiteSubject("go"), Events: []events.Event{definitions}})
	must("publish definitions", err)
	if got, err := c.Read(ctx, events.SuiteSubject("go")); err != nil || len(got) != 1 {
		t.Fatalf("definitions: %v, %v", got, err)
	}
	newest, ok, err := c.Last(ctx, events.LaneSubject(lane))
	must("newest dispatch", err)
	if !ok || newest.Fact.(events.JobDispatched).Place != 1 {
		t.Fatalf("newest dispatch %+v", newest)
	}
	wanted := eventlog.NewEvent(events.VersionWanted{Version: "v2"}, meta, time.Now())
	_, err = s.core.Append(ctx, eventlog.Append{Subject: events.VersionSubject(), Events: []events.Event{wanted}})
	must("want a version", err)
	if got, ok, err := c.Last(ctx, events.VersionSubject()); err != nil || !ok || got.ID != wanted.ID {
		t.Fatalf("wanted version: %v, %v", got, err)
	}
	assigned := eventlog.NewEvent(events.LaneAssigned{Lane: lane, Name: "eider"}, meta, time.Now())
	_, err = s.core.Append(ctx, eventlog.Append{Subject: events.AssignmentSubject(lane), Events: []events.Event{assigned}})
	must("assign", err)
	if got, ok, err := c.Last(ctx, events.AssignmentSubject(lane)); err != nil || !ok || got.ID != assigned.ID {
		t.Fatalf("who serves the lane: %v, %v", got, err)
	}
	if got, err := c.Read(ctx, events.AssignmentSubject(lane)); err != nil || len(got) != 1 {
		t.Fatalf("the lane's assignment: %v, %v", got, err)
	}
	must("log", c.WriteLog(ctx, lane, eventlog.LogChunk{JobID: "j1", Text: "hello"}))
	must("ack", d.Ack(ctx))
	must("release", c.Release(ctx, eventlog.Beat{Name: "eider", Instance: "1"}))
	select {
	case err := <-s.denied:
		t.Fatalf("denied on the way: %v", err)
	default:
	}
}

// TestCollectorIsConfined tries what a collector must not be able to do: first through its view, which
// says so at once, then past it with bare messages, which the server denies.
func TestCollectorIsConfined(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	c, err := jetstream.OpenCollector(ctx, s.remote, "eider", lane)
	if err != nil {
		t.Fatal(err)
	}
	other := events.Lane{Target: lane.Target, Set: 2}
	_, appendErr := c.Append(ctx, eventlog.Append{Subject: events.LaneSubject(lane), Events: []events.Event{dispatched(1)}})
	_, readErr := c.Read(ctx, events.WorkSubject(other))
	_, _, lastErr := c.Last(ctx, events.AdmissionSubject())
	_, followErr := c.Follow(ctx, 0)
	_, headErr := c.Head(ctx)
	_, nextErr := c.NextJob(ctx, other)
	for what, err := range map[string]error{
		"append": appendErr, "read": readErr, "last": lastErr, "follow": followErr, "head": headErr, "next job": nextErr,
		"ensure lane": c.EnsureLane(ctx, lane), "watch": c.Watch(ctx, nil),
		"read log": c.ReadLog(ctx, lane, "j1", false, nil), "write log": c.WriteLog(ctx, other, eventlog.LogChunk{JobID: "j1"}),
	} {
		if !errors.Is(err, jetstream.ErrNotPermitted) {
			t.Errorf("%s: %v", what, err)
		}
	}

	for _, subject := range []string{
		"tacho.ev.lane.linux-x86.1", "tacho.ev.work.linux-x86.2", "tacho.ev.result.linux-x86.2.j1", "tacho.ev.request.r1",
		"tacho.ev.admission", "tacho.ev.collector.other", "tacho.ev.version", "tacho.ev.assign.linux-x86.1", "tacho.ev.suite.go", "tacho.ev.work.linux-x86.1.x",
		"tacho.log.linux-x86.2.j1", "tacho.read.work.linux-x86.2", "tacho.read.request.r1", "tacho.read.lane.linux-x86.1", "tacho.read.result.linux-x86.2.j1", "tacho.read.assign.linux-x86.2",
		"$KV.tacho_beats.other",
		"$JS.API.INFO", "$JS.API.STREAM.INFO.EVENTS", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.EVENTS",
		"$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.PURGE.LOGS", "$JS.API.STREAM.MSG.GET.EVENTS", "$JS.API.STREAM.MSG.DELETE.EVENTS",
		"$JS.API.STREAM.SNAPSHOT.EVENTS", "$JS.API.DIRECT.GET.EVENTS", "$JS.API.DIRECT.GET.EVENTS.tacho.ev.work.linux-x86.2", "$JS.API.DIRECT.GET.EVENTS.tacho.ev.lane.linux-x86.2", "$JS.API.DIRECT.GET.EVENTS.tacho.ev.admission", "$JS.API.DIRECT.GET.KV_tacho_beats",
		"$JS.API.DIRECT.GET.KV_tacho_beats.$KV.tacho_beats.other", "$JS.API.CONSUMER.CREATE.EVENTS", "$JS.API.CONSUMER.CREATE.EVENTS.x", "$JS.API.CONSUMER.CREATE.EVENTS.x.tacho.ev.>",
		"$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.x", "$JS.API.CONSUMER.DELETE.EVENTS.lane-linux-x86-1", "$JS.API.CONSUMER.RESET.EVENTS.lane-linux-x86-1",
		"$JS.API.CONSUMER.PAUSE.EVENTS.lane-linux-x86-1", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.lane-linux-x86-2", "$JS.API.CONSUMER.INFO.EVENTS.lane-linux-x86-2",
		"$JS.ACK.EVENTS.lane-linux-x86-2.1.1.1.1.0", "$JS.ACK.d.a.EVENTS.lane-linux-x86-2.1.1.1.1.0", "_INBOX.other", "_INBOX_other.x", "_INBOX_eider.x", "$SYS.REQ.SERVER.PING",
	} {
		if err := s.remote.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		s.wantDenied(t, subject)
	}
	for _, subject := range []string{
		">", "tacho.>", "tacho.ev.lane.linux-x86.1", "tacho.ev.work.linux-x86.1", "tacho.read.>", "_INBOX.>", "_INBOX_other.>", "$KV.>", "$JS.>", "$SYS.>",
	} {
		sub, err := s.remote.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		s.wantDenied(t, subject)
		_ = sub.Unsubscribe() // the server never had it
	}
}

func (s site) wantDenied(t *testing.T, subject string) {
	t.Helper()
	if err := s.remote.Flush(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.denied:
		if !strings.Contains(err.Error(), subject) {
			t.Errorf("%s: denied something else: %v", subject, err)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("%s is permitted", subject)
	}
}

func TestPermissionsForConfigurationFile(t *testing.T) {
	conf := jetstream.CollectorPermissions("eider", lane).Conf("UABC")
	for _, want := range []string{"nkey: UABC", `"tacho.ev.work.linux-x86.1"`, `"_INBOX_eider.>"`, "publish: { allow:", "subscribe: { allow:"} {
		if !strings.Contains(conf, want) {
			t.Errorf("the entry lacks %s:\n%s", want, conf)
		}
	}
}
