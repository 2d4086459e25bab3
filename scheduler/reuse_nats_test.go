package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/shell"
)

// thousandDone returns a farm on which 1,000 jobs were done, and a request for 1,000 that are the same. The last
// event of the log is the end of its build.
func thousandDone(t *testing.T) (f *graphFarm, id events.RequestID) {
	d := building()
	m := d.Kinds[1]
	d.Kinds, d.Benchmarks = d.Kinds[:1], nil
	for i := range 1000 {
		k := m
		k.Name = events.JobKind(fmt.Sprintf("k%d", i))
		d.Kinds = append(d.Kinds, k)
		d.Benchmarks = append(d.Benchmarks, suite.BenchmarkDef{Name: events.Benchmark(k.Name), Kind: k.Name, Category: suite.Primary, Source: "x", Command: []string{"x"}})
	}
	f = newReuseFarm(t, d)
	f.judge = nil
	f.ask("a1", "", events.Master)
	f.settle()
	id = f.ask("a2", "", events.Master)
	for len(f.state.Alike[id]) < 1000 { // its build ends
		f.step()
	}
	return f, id
}

// 1,000 jobs that were done before end within two seconds, on a server of NATS that syncs its files: from the end of their
// build to that of their request, with the shell and the scheduler that farms have.
func TestAThousandFreshJobsOverNATS(t *testing.T) {
	f, id := thousandDone(t)
	dir := t.TempDir()
	open := func(unsynced bool) (*jetstream.Log, *nats.Conn, func()) {
		server, err := natsserver.Start(natsserver.Config{Dir: dir, Unsynced: unsynced})
		if err != nil {
			t.Fatal(err)
		}
		nc, err := server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		log, err := jetstream.Open(t.Context(), nc, jetstream.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return log, nc, func() { nc.Close(); server.Shutdown() }
	}
	before, end := f.log[:len(f.log)-1], f.log[len(f.log)-1]
	stored := func(e events.Recorded) events.Event {
		return eventlog.NewEvent(e.Fact, eventlog.Meta{Source: "test", Actor: "test"}, e.Time)
	}
	_, nc, shut := open(true)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range before { // not by Append, one after the other, which would take some seconds
		s, err := events.Encode(stored(e))
		if err != nil {
			t.Fatal(err)
		}
		m := nats.NewMsg(string(s.Subject))
		m.Data = s.Data
		for name, value := range s.Header {
			m.Header[name] = []string{value}
		}
		if _, err := js.PublishMsgAsync(m); err != nil {
			t.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	shut()

	log, _, shut := open(false)
	t.Cleanup(shut)
	started := time.Now()
	clock := func() time.Time { return f.now.Add(time.Since(started)) }
	quiet := slog.New(slog.DiscardHandler)
	s := shell.New(shell.Config{Log: log, Clock: clock, Logger: quiet})
	s.Seat(New(Config{Log: log, Policy: f.policy, Logger: quiet}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	if err := s.Wait(t.Context(), before[len(before)-1].Seq); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	last, _, err := log.Last(t.Context(), end.Fact.Subject())
	if err != nil {
		t.Fatal(err)
	}
	at, err := log.Append(t.Context(), eventlog.Append{Subject: end.Fact.Subject(), Expected: last.Seq, Events: []events.Event{stored(end)}})
	if err != nil || at != end.Seq {
		t.Fatalf("event %d is stored as %d: %v", end.Seq, at, err)
	}
	cursor, err := log.Follow(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	reused := 0
	for over := false; !over; {
		list, err := cursor.Next(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range list {
			e, err := events.Decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			// The others are about graphs.
			//exhaustive:ignore
			switch fact := e.Fact.(type) {
			case events.JobDispatched:
				t.Fatalf("job %s was dispatched", fact.Job.ID)
			case events.JobReused:
				reused++
			case events.RequestCompleted:
				over = fact.RequestID == id
			}
		}
	}
	took := time.Since(began)
	t.Logf("%d jobs ended within %s", reused, took)
	if reused != 1000 || took > freshWithin {
		t.Errorf("%d jobs took over a run, within %s", reused, took)
	}
}
