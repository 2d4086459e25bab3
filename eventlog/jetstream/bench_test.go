package jetstream_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/ratio"
)

func event(n events.CollectorName) events.Event {
	return eventlog.NewEvent(events.CollectorActivated{Name: n}, eventlog.Meta{Source: "bench", Actor: "bench"}, time.Now())
}

func appendOf(n events.CollectorName, expected events.Seq, count int) eventlog.Append {
	a := eventlog.Append{Subject: events.RegistrySubject(n), Expected: expected}
	for range count {
		a.Events = append(a.Events, event(n))
	}
	return a
}

// rawStream makes a second stream like the log, for comparison, and returns its client.
func rawStream(b *testing.B, nc *nats.Conn) natsjs.JetStream {
	b.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}, AllowDirect: true}); err != nil {
		b.Fatal(err)
	}
	return js
}

// BenchmarkAppend compares appends with the plain publish of the same bytes, both synced, in turns.
func BenchmarkAppend(b *testing.B) {
	nc := connect(b, start(b, natsserver.Config{Dir: b.TempDir()}))
	l, js := open(b, nc, jetstream.Config{}), rawStream(b, nc)
	version := events.Seq(0)
	payload := make([]byte, 300)
	var raw, ours time.Duration
	for b.Loop() {
		begun := time.Now()
		if _, err := js.Publish(b.Context(), "raw.a", payload); err != nil {
			b.Fatal(err)
		}
		raw += time.Since(begun)
		begun = time.Now()
		at, err := l.Append(b.Context(), appendOf("a", version, 1))
		if err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begun)
		version = at
	}
	b.ReportMetric(float64(ours)/float64(raw), "times-raw")
	b.ReportMetric(float64(b.N)/ours.Seconds(), "appends/s")
	b.ReportMetric(float64(b.N)/raw.Seconds(), "raw/s")
}

// BenchmarkAppendBatch appends batches of 20 events to two aggregates.
func BenchmarkAppendBatch(b *testing.B) {
	l := open(b, connect(b, start(b, natsserver.Config{Dir: b.TempDir()})), jetstream.Config{})
	var first, second events.Seq
	for b.Loop() {
		at, err := l.Append(b.Context(), appendOf("a", first, 10), appendOf("b", second, 10))
		if err != nil {
			b.Fatal(err)
		}
		first, second = at-10, at
	}
	b.ReportMetric(float64(20*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkFollow compares a cursor with a raw ordered consumer on the same events.
func BenchmarkFollow(b *testing.B) {
	const count = 100_000
	srv := start(b, natsserver.Config{Dir: b.TempDir(), Unsynced: true, Listen: "127.0.0.1:0"})
	inside := connect(b, srv)
	tcp, err := nats.Connect(srv.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(tcp.Close)
	fill(b, open(b, inside, jetstream.Config{}), count)
	for name, nc := range map[string]*nats.Conn{"in-process": inside, "tcp": tcp} {
		l := open(b, nc, jetstream.Config{})
		js, err := natsjs.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var raw, ours time.Duration
			for b.Loop() {
				begun := time.Now()
				rawReplay(b, js, count)
				raw += time.Since(begun)
				begun = time.Now()
				replay(b, l, count)
				ours += time.Since(begun)
			}
			b.ReportMetric(float64(count*b.N)/ours.Seconds(), "events/s")
			b.ReportMetric(float64(count*b.N)/raw.Seconds(), "raw/s")
		})
	}
}

func fill(b *testing.B, l *jetstream.Log, count int) {
	b.Helper()
	for i := range count / eventlog.MaxBatch {
		if _, err := l.Append(b.Context(), appendOf(events.CollectorName(fmt.Sprint("fill", i)), 0, eventlog.MaxBatch)); err != nil {
			b.Fatal(err)
		}
	}
}

func replay(b *testing.B, l *jetstream.Log, count int) {
	b.Helper()
	cursor, err := l.Follow(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer cursor.Close()
	for n := 0; n < count; {
		got, err := cursor.Next(b.Context(), 1000)
		if err != nil {
			b.Fatal(err)
		}
		n += len(got)
	}
}

func rawReplay(b *testing.B, js natsjs.JetStream, count int) {
	b.Helper()
	consumer, err := js.OrderedConsumer(b.Context(), "EVENTS", natsjs.OrderedConsumerConfig{})
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	done := make(chan struct{})
	consuming, err := consumer.Consume(func(natsjs.Msg) {
		if n.Add(1) == int64(count) {
			close(done)
		}
	}, natsjs.PullMaxMessages(5000))
	if err != nil {
		b.Fatal(err)
	}
	<-done
	consuming.Stop()
}

// BenchmarkFollowLive measures from an unsynced append to its event out of a waiting cursor.
func BenchmarkFollowLive(b *testing.B) {
	l := open(b, connect(b, start(b, natsserver.Config{Dir: b.TempDir(), Unsynced: true})), jetstream.Config{})
	cursor, err := l.Follow(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer cursor.Close()
	version := events.Seq(0)
	var took []time.Duration
	for b.Loop() {
		begun := time.Now()
		got := make(chan error)
		go func() {
			_, err := cursor.Next(b.Context(), 10)
			took = append(took, time.Since(begun))
			got <- err
		}()
		if version, err = l.Append(b.Context(), appendOf("a", version, 1)); err != nil {
			b.Fatal(err)
		}
		if err := <-got; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(p50(took), "p50-µs")
}

func p50(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / 1e3
}

// BenchmarkPage reads pages from the middle of a log with many subjects, beside a bare request for the same messages, in turns.
func BenchmarkPage(b *testing.B) {
	nc := connect(b, start(b, natsserver.Config{Dir: b.TempDir(), Unsynced: true}))
	l := open(b, nc, jetstream.Config{})
	const half = 100_000
	strew(b, streams(b, nc), 2*half, 2*half)
	bare := func() (n int) {
		sub, err := nc.SubscribeSync(nc.NewInbox())
		if err != nil {
			b.Fatal(err)
		}
		if err := nc.PublishRequest("$JS.API.DIRECT.GET.EVENTS", sub.Subject, fmt.Appendf(nil, `{"seq":%d,"batch":256}`, half+1)); err != nil {
			b.Fatal(err)
		}
		for ; ; n++ {
			m, err := sub.NextMsg(10 * time.Second)
			if err != nil {
				b.Fatal(err)
			}
			if m.Header.Get("Status") == "204" {
				return n
			}
		}
	}
	var raw, ours time.Duration
	for b.Loop() {
		began := time.Now()
		if n := bare(); n != 256 {
			b.Fatalf("%d messages", n)
		}
		raw += time.Since(began)
		began = time.Now()
		if page, err := l.Page(b.Context(), half); err != nil || len(page) != 256 {
			b.Fatalf("%d events, %v", len(page), err)
		}
		ours += time.Since(began)
	}
	ratio.AtMost(b, "times-raw", float64(ours)/float64(raw), 3)
}
