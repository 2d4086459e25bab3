package door_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/ratio"
)

func p50(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / 1e3
}

// bare is a server that asks for no key, and a client of it over TCP.
func bare(b *testing.B) *nats.Conn {
	b.Helper()
	s, err := natsserver.Start(natsserver.Config{Dir: b.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Shutdown)
	nc, err := nats.Connect(s.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	return nc
}

// generous are bounds that a benchmark does not reach.
func generous() door.Bounds {
	b := door.DefaultBounds()
	b.Requests, b.Burst, b.EventBytes, b.Messages = 1e6, 1e6, 1<<30, 1e9
	return b
}

// BenchmarkAppend measures synced appends over TCP: through the door, and by clients with the right to write the
// stream themselves. Eight at once are a farm that works; one alone mostly measures how long this machine's idle
// processors take to wake up for each of the door's hops.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{8, 1} {
		b.Run(fmt.Sprintf("%d-at-once", n), func(b *testing.B) { benchmarkAppend(b, n) })
	}
}

func benchmarkAppend(b *testing.B, n int) {
	const each = 50
	k := newSyncedCore(b, generous())
	k.open()
	url := bare(b).ConnectedUrl()
	var ours, raw []eventlog.Aggregates
	names := make([]events.CollectorName, n)
	for i := range n {
		names[i] = events.CollectorName(fmt.Sprintf("c%d", i))
		ours = append(ours, k.client(k.register(names[i], events.Set(i))))
		nc, err := nats.Connect(url)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		direct, err := jetstream.Open(b.Context(), nc, jetstream.Config{})
		if err != nil {
			b.Fatal(err)
		}
		raw = append(raw, direct)
	}
	at := map[bool][]events.Seq{true: make([]events.Seq, n), false: make([]events.Seq, n)}
	// round lets every client append some times, and returns the average time of an append.
	round := func(logs []eventlog.Aggregates, door bool) time.Duration {
		began := time.Now()
		var wg sync.WaitGroup
		for i, log := range logs {
			wg.Go(func() {
				for pid := range each {
					seq, err := log.Append(b.Context(), appendOf(at[door][i], events.CollectorOnline{Name: names[i], Instance: "1", PID: pid}))
					if err != nil {
						b.Error(err)
						return
					}
					at[door][i] = seq
				}
			})
		}
		wg.Wait()
		return time.Since(began) / time.Duration(each*n)
	}
	var took, bareTook []time.Duration
	for b.Loop() { // in turns, so that a slow moment of the disk affects both
		took = append(took, round(ours, true))
		bareTook = append(bareTook, round(raw, false))
	}
	b.ReportMetric(p50(took), "µs/append")
	b.ReportMetric(p50(bareTook), "bare-µs/append")
	b.ReportMetric(p50(took)/p50(bareTook), "times-bare")
}

// BenchmarkDispatch measures from a synced append of a job to a collector that waits for it, and the same for a raw
// publish and a raw consumer with a waiting pull. The takers are on TCP.
func BenchmarkDispatch(b *testing.B) {
	k := newSyncedCore(b, generous())
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	remote := bare(b)
	js, err := natsjs.New(remote)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}}); err != nil {
		b.Fatal(err)
	}
	consumer, err := js.CreateConsumer(b.Context(), "RAW", natsjs.ConsumerConfig{Durable: "raw", AckPolicy: natsjs.AckExplicitPolicy, MaxAckPending: 1})
	if err != nil {
		b.Fatal(err)
	}
	var ours, raw []time.Duration
	var version, work events.Seq
	for place := uint64(1); b.Loop(); place++ {
		spec := events.JobSpec{ID: "j1", Target: eider.lane.Target, Set: eider.lane.Set, RequestID: "r1"}
		ours = append(ours, roundTrip(b, func(ctx context.Context) error {
			version, err = k.log.Append(ctx, appendOf(version, events.JobDispatched{Place: place, Job: spec}))
			return err
		}, func(ctx context.Context) (func() error, error) {
			d, err := c.NextJob(ctx, eider.lane)
			return func() error {
				work, err = k.log.Append(ctx, appendOf(work, events.JobFinished{Lane: eider.lane, Place: place, JobID: "j1", RequestID: "r1", Outcome: events.Cancelled}))
				if err != nil {
					return err
				}
				for d.Ack(ctx) != nil { // until the door has seen the end
					if ctx.Err() != nil {
						return ctx.Err()
					}
				}
				return nil
			}, err
		}))
		raw = append(raw, roundTrip(b, func(ctx context.Context) error {
			_, err := js.Publish(ctx, "raw.a", make([]byte, 300))
			return err
		}, func(context.Context) (func() error, error) {
			m, err := consumer.Next()
			return func() error { return m.DoubleAck(b.Context()) }, err
		}))
	}
	b.ReportMetric(p50(ours), "p50-µs")
	b.ReportMetric(p50(raw), "raw-p50-µs")
	b.ReportMetric(p50(ours)/p50(raw), "times-raw")
}

// roundTrip returns the time from the beginning of publish until take, which waits already, has it.
func roundTrip(b *testing.B, publish func(context.Context) error, take func(context.Context) (ack func() error, err error)) time.Duration {
	b.Helper()
	type taken struct {
		at  time.Time
		ack func() error
		err error
	}
	got := make(chan taken, 1)
	go func() {
		ack, err := take(b.Context())
		got <- taken{time.Now(), ack, err}
	}()
	<-time.After(2 * time.Millisecond) // until the taker's request has reached the server
	begun := time.Now()
	if err := publish(b.Context()); err != nil {
		b.Fatal(err)
	}
	r := <-got
	if r.err != nil {
		b.Fatal(r.err)
	}
	if err := r.ack(); err != nil {
		b.Fatal(err)
	}
	return r.at.Sub(begun)
}

// BenchmarkAThousandCollectors measures how long the accounts of 1,000 collectors take at a start, from the first
// connection to the last one that reached the door, and how much memory each takes with its connection. Then all of them send
// heartbeats: it reports the CPU time of one, its client's and its server's, beside that of one whose sender also asks what is new.
func BenchmarkAThousandCollectors(b *testing.B) {
	const n = 1000
	for b.Loop() {
		k := newCore(b, generous())
		k.open()
		all := make([]collector, n)
		for i := range all {
			all[i] = k.register(events.CollectorName(fmt.Sprintf("c%d", i)), events.Set(i))
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		var wg sync.WaitGroup
		clients := make([]*door.Client, n)
		for w := range 8 {
			wg.Go(func() {
				for i := w; i < n; i += 8 {
					clients[i] = k.client(all[i])
				}
			})
		}
		wg.Wait()
		took := time.Since(began)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(took.Seconds(), "s-to-connect")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n/1024, "KiB/collector")
		var ours []time.Duration
		var at events.Seq
		for i := range 200 {
			began := time.Now()
			seq, err := clients[n-1].Append(b.Context(), appendOf(at, events.CollectorOnline{Name: all[n-1].name, Instance: "1", PID: i}))
			if err != nil {
				b.Fatal(err)
			}
			at, ours = seq, append(ours, time.Since(began))
		}
		b.ReportMetric(p50(ours), "unsynced-append-p50-µs")
		beat := cpuOfAll(b, clients, func(ctx context.Context, i int) error {
			_, err := clients[i].Beat(ctx, eventlog.Beat{Name: all[i].name, Instance: "1"})
			return err
		})
		asks := cpuOfAll(b, clients, func(ctx context.Context, i int) error {
			_, err := clients[i].Beat(ctx, eventlog.Beat{Name: all[i].name, Instance: "1"})
			for _, s := range []events.Subject{
				events.VersionSubject(), events.AssignmentSubject(all[i].lane), events.RegistrySubject(all[i].name), events.CollectorSubject(all[i].name),
			} {
				_, _, failed := clients[i].Last(ctx, s)
				err = errors.Join(err, failed)
			}
			return err
		})
		b.ReportMetric(beat, "µs-CPU/beat")
		ratio.AtMost(b, "of-asking", beat/asks, 0.5)
		for _, c := range clients {
			c.Close()
		}
	}
}

// cpuOfAll lets each client do something twice, eight of them at a time. It returns the CPU time of one, in microseconds.
func cpuOfAll(b *testing.B, clients []*door.Client, do func(ctx context.Context, i int) error) float64 {
	b.Helper()
	before := ratio.Now(b)
	for range 2 {
		var each errgroup.Group
		each.SetLimit(8)
		for i := range clients {
			each.Go(func() error { return do(b.Context(), i) })
		}
		if err := each.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(ratio.Since(b, before).CPU.Microseconds()) / float64(2*len(clients))
}

// BenchmarkOutputs measures synced puts and gets of 64 MiB through the door over TCP, and the same bytes as a raw client
// publishes and reads them, with as many messages of the same size on their way.
func BenchmarkOutputs(b *testing.B) {
	const chunks, atOnce = 256, 4
	bounds := generous()
	bounds.StoreBytes, bounds.StoreBurst, bounds.FetchBytes, bounds.FetchBurst, bounds.Bytes = 1<<40, 1<<40, 1<<40, 1<<40, 1<<40
	k := newSyncedCore(b, bounds)
	k.open()
	eider := k.register("eider", 1)
	c := k.client(eider)
	k.take(eider, c, events.JobSpec{ID: "j1"}, 1)
	js, err := natsjs.New(bare(b))
	if err != nil {
		b.Fatal(err)
	}
	stream, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}, AllowDirect: true})
	if err != nil {
		b.Fatal(err)
	}
	data := random(b, chunks*blob.ChunkBytes)
	var put, rawPut, got, rawGot []time.Duration
	each := func(f func(n int) error) time.Duration {
		began := time.Now()
		g := errgroup.Group{}
		g.SetLimit(atOnce)
		for n := range chunks {
			g.Go(func() error { return f(n) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	for i := 0; b.Loop(); i++ { // in turns, so that a slow moment of the disk affects both
		data[0]++
		o := blob.OutputOf("out", data)
		began := time.Now()
		if err := c.Put(b.Context(), eider.lane, "j1", o, bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
		put = append(put, time.Since(began))
		rawPut = append(rawPut, each(func(n int) error {
			_, err := js.Publish(b.Context(), fmt.Sprintf("raw.%d.%d", i, n), data[n*blob.ChunkBytes:(n+1)*blob.ChunkBytes])
			return err
		}))
		began = time.Now()
		if err := c.Get(b.Context(), eider.lane, o, io.Discard); err != nil {
			b.Fatal(err)
		}
		got = append(got, time.Since(began))
		rawGot = append(rawGot, each(func(n int) error {
			_, err := stream.GetLastMsgForSubject(b.Context(), fmt.Sprintf("raw.%d.%d", i, n))
			return err
		}))
		if err := errors.Join(k.outputs.Drop(b.Context(), eider.lane, o.Digest), stream.Purge(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	speed := func(took []time.Duration) float64 { return float64(len(data)) / (1 << 20) / (p50(took) / 1e6) }
	b.ReportMetric(speed(put), "put-MiB/s")
	b.ReportMetric(speed(rawPut), "raw-put-MiB/s")
	b.ReportMetric(speed(put)/speed(rawPut), "put/raw")
	b.ReportMetric(speed(got), "get-MiB/s")
	b.ReportMetric(speed(rawGot), "raw-get-MiB/s")
	b.ReportMetric(speed(got)/speed(rawGot), "get/raw")
}
