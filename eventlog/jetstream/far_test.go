package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// streams administers the streams of a server.
func streams(t testing.TB, nc *nats.Conn) natsjs.JetStream {
	t.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// strew appends messages of nobody's on some subjects.
func strew(t testing.TB, js natsjs.JetStream, n, subjects int) {
	t.Helper()
	for i := range n {
		if _, err := js.PublishAsync(fmt.Sprintf("tacho.ev.far.%d", i%subjects), nil, natsjs.WithStallWait(5*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// Events of an aggregate are read, and found, wherever they lie: alone and in batches, near and far from one another. The server is
// never asked for an event that may be far from the one before.
func TestAnAggregateThatLiesFarApart(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (*nats.Conn, jetstream.Config){
		"one node": func(t *testing.T) (*nats.Conn, jetstream.Config) {
			return connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true})), jetstream.Config{}
		},
		"cluster": func(t *testing.T) (*nats.Conn, jetstream.Config) {
			_, nc := cluster(t, true)
			return nc, jetstream.Config{Replicas: 3}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, config := start(t)
			farApart(t, nc, open(t, nc, config))
		})
	}
}

func farApart(t *testing.T, nc *nats.Conn, l *jetstream.Log) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	js := streams(t, nc)
	var wants []string // the ids of the events of a
	var versions []events.Seq
	var sent [][]eventlog.Append
	at := func() events.Seq {
		if len(versions) == 0 {
			return 0
		}
		return versions[len(versions)-1]
	}
	put := func(parts ...eventlog.Append) {
		t.Helper()
		last, err := l.Append(ctx, parts...)
		if err != nil {
			t.Fatal(err)
		}
		n := events.Seq(0)
		for _, p := range parts {
			n += events.Seq(len(p.Events))
		}
		for _, p := range parts {
			for _, e := range p.Events {
				n--
				if p.Subject == events.RegistrySubject("a") {
					wants, versions = append(wants, e.ID), append(versions, last-n)
				}
			}
		}
		sent = append(sent, parts)
	}
	put(appendOf("a", at(), 1))
	put(appendOf("b", 0, 2), appendOf("a", at(), 3))
	strew(t, js, 1001, 500)
	put(appendOf("a", at(), 1))
	put(appendOf("a", at(), 2), appendOf("c", 0, 1))
	strew(t, js, 1001, 500)
	put(appendOf("a", at(), 1))

	questions := watched(t, nc)
	read := func() {
		t.Helper()
		got, err := l.Read(ctx, events.RegistrySubject("a"))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		var seqs []events.Seq
		for _, e := range got {
			ids, seqs = append(ids, e.ID), append(seqs, e.Seq)
		}
		if !slices.Equal(ids, wants) || !slices.Equal(seqs, versions) {
			t.Errorf("%v at %v, want %v at %v", ids, seqs, wants, versions)
		}
	}
	read()
	if got, err := l.Read(ctx, events.RegistrySubject("b")); err != nil || len(got) != 2 {
		t.Errorf("b has %d events, %v", len(got), err)
	}
	// An answer was lost: each append finds its events again, however much came behind them. The decision of another finds a conflict.
	for _, parts := range sent {
		of := slices.IndexFunc(parts, func(p eventlog.Append) bool { return p.Subject == events.RegistrySubject("a") })
		own := parts[of]
		last, err := l.Append(ctx, parts...)
		if want := versions[slices.Index(wants, own.Events[len(own.Events)-1].ID)]; err != nil || last < want {
			t.Errorf("the append of events behind %d is found at %d, %v, want %d", own.Expected, last, err, want)
		}
		conflict := new(eventlog.ConflictError)
		if _, err := l.Append(ctx, appendOf("a", own.Expected, 1)); !errors.As(err, &conflict) || conflict.Actual != at() {
			t.Errorf("another append behind %d: %v", own.Expected, err)
		}
	}
	if page, err := l.Page(ctx, versions[4]); err != nil || len(page) == 0 {
		t.Errorf("%d events, %v", len(page), err)
	}
	for _, q := range questions() {
		if strings.Contains(q, `"next_by_subj":"tacho.ev.registry.a"`) && !strings.Contains(q, `"seq":1,`) || strings.Contains(q, `tacho.ev.\u003e`) {
			t.Errorf("the server is asked %s", q)
		}
	}

	// A stranger's event says nothing of the one before it.
	stranger := appendOf("a", 0, 1).Events[0]
	versions = append(versions, foreign(t, js, stranger))
	wants = append(wants, stranger.ID)
	put(appendOf("a", at(), 1))
	read()
}

// An aggregate of hundreds of events among those of others takes a few questions, and not one for each event.
func TestAnAggregateOfManyEventsIsAskedForAtOnce(t *testing.T) {
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
	l := open(t, nc, jetstream.Config{})
	js := streams(t, nc)
	var version events.Seq
	for range 300 {
		var err error
		if version, err = l.Append(t.Context(), appendOf("a", version, 1)); err != nil {
			t.Fatal(err)
		}
		strew(t, js, 5, 5)
	}
	questions := watched(t, nc)
	if got, err := l.Read(t.Context(), events.RegistrySubject("a")); err != nil || len(got) != 300 {
		t.Errorf("%d events, %v", len(got), err)
	}
	if asked := questions(); len(asked) > 20 {
		t.Errorf("the server was asked %d times", len(asked))
	}
}

// However an aggregate was written, alone, in batches or by strangers, near and far, it is read as it was written.
func TestAnyAggregateIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
	l := open(t, nc, jetstream.Config{})
	js := streams(t, nc)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		ours, other := events.CollectorName(fmt.Sprint("a", n)), events.CollectorName(fmt.Sprint("b", n))
		var wants []string
		var version, others events.Seq
		wrote := func(own eventlog.Append, last events.Seq) {
			for _, e := range own.Events {
				wants = append(wants, e.ID)
			}
			version = last
		}
		for range rapid.IntRange(1, 5).Draw(rt, "writes") {
			if rapid.IntRange(0, 2).Draw(rt, "far") == 0 {
				strew(t, js, 1001, 500)
			}
			own := appendOf(ours, version, rapid.IntRange(1, 2).Draw(rt, "events"))
			switch rapid.IntRange(0, 4).Draw(rt, "how") {
			case 0: // a stranger
				own = appendOf(ours, version, 1)
				wrote(own, foreign(t, js, own.Events[0]))
			case 4: // one who expects nothing of another subject, as if this were the first event of ours
				own = appendOf(ours, version, 1)
				wrote(own, foreign(t, js, own.Events[0], "Nats-Expected-Last-Subject-Sequence", "0", "Nats-Expected-Last-Subject-Sequence-Subject", "tacho.ev.nobody"))
			case 1: // in front of another aggregate
				last, err := l.Append(t.Context(), own, appendOf(other, others, 2))
				if err != nil {
					rt.Fatal(err)
				}
				others = last
				wrote(own, last-2)
			case 2: // behind it
				last, err := l.Append(t.Context(), appendOf(other, others, 2), own)
				if err != nil {
					rt.Fatal(err)
				}
				others = last - events.Seq(len(own.Events))
				wrote(own, last)
			default:
				last, err := l.Append(t.Context(), own)
				if err != nil {
					rt.Fatal(err)
				}
				wrote(own, last)
			}
		}
		got, err := l.Read(t.Context(), events.RegistrySubject(ours))
		if err != nil {
			rt.Fatal(err)
		}
		var ids []string
		for _, e := range got {
			ids = append(ids, e.ID)
		}
		if !slices.Equal(ids, wants) {
			rt.Fatalf("%v, want %v", ids, wants)
		}
		for i, e := range got {
			if newer, err := l.Newer(t.Context(), e.Fact.Subject(), e.Seq); err != nil || newer != (i < len(got)-1) {
				rt.Fatalf("newer than event %d of %d: %t, %v", i+1, len(got), newer, err)
			}
		}
	})
}

// foreign stores an event as a stranger does, who expects nothing of its subject.
func foreign(t testing.TB, js natsjs.JetStream, e events.Event, header ...string) events.Seq {
	t.Helper()
	s, err := events.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg(string(s.Subject))
	m.Data = s.Data
	for k, v := range s.Header {
		m.Header.Set(k, v)
	}
	for pair := range slices.Chunk(header, 2) {
		m.Header.Set(pair[0], pair[1])
	}
	ack, err := js.PublishMsg(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return events.Seq(ack.Sequence)
}

// A lane whose consumer would have to pass much of the log gets a new one, and no job is lost; one that is near keeps its own.
func TestALaneFarBehindGetsANewConsumer(t *testing.T) {
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir(), Unsynced: true}))
	l := open(t, nc, jetstream.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	js := streams(t, nc)
	var version events.Seq
	give := func() events.Seq {
		t.Helper()
		var err error
		if version, err = l.Append(ctx, eventlog.Append{Subject: events.LaneSubject(lane), Expected: version, Events: []events.Event{dispatched(uint64(version))}}); err != nil {
			t.Fatal(err)
		}
		return version
	}
	take := func(want events.Seq) {
		t.Helper()
		d, err := l.NextJob(ctx, lane)
		if err != nil || d.Stored().Seq != want || d.Ack(ctx) != nil {
			t.Fatalf("%+v, %v: want job event %d", d, err, want)
		}
	}
	begins := func(from events.Seq, want uint64) {
		t.Helper()
		if err := l.EnsureLane(ctx, lane, from); err != nil {
			t.Fatal(err)
		}
		there, err := js.Consumer(ctx, "EVENTS", jetstream.LaneConsumer(lane))
		if err != nil {
			t.Fatal(err)
		}
		if c := there.CachedInfo().Config; c.OptStartSeq != want || !c.MemoryStorage || c.MaxAckPending != 1 {
			t.Errorf("asked for %d: %+v, want the start %d", from, c, want)
		}
	}
	begins(1, 1)
	first := give()
	strew(t, js, eventlog.FarBehind-5, 500)
	begins(give(), 1)
	take(first)
	take(version)
	strew(t, js, eventlog.FarBehind-5, 500)
	begins(give(), 1) // it has delivered the one before
	strew(t, js, 10, 500)
	next := give()
	begins(next, uint64(next))
	take(next)
	begins(next+eventlog.FarBehind, uint64(next))
	begins(next+eventlog.FarBehind+1, uint64(next)+eventlog.FarBehind+1)
}

// watched returns what the server has been asked since.
func watched(t *testing.T, nc *nats.Conn) func() []string {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	sub, err := nc.Subscribe("$JS.API.>", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasSuffix(m.Subject, ".GET.EVENTS") {
			asked = append(asked, string(m.Data))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		if err := sub.Drain(); err != nil {
			t.Fatal(err)
		}
		for sub.IsValid() {
			<-time.After(time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(asked) == 0 {
			t.Error("nothing was heard")
		}
		return asked
	}
}
