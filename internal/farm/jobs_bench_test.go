package farm

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/internal/ratio"
)

// BenchmarkJobs runs jobs that do nothing, from the request to the end, on 32 lanes: collectors that come through the door over
// TCP, the door, the scheduler and the log on a synced server of one node, all in this process. In turns with it, 32 writers
// append raw messages of the same size over TCP. A job has four appends at most, so a quarter of the raw rate is the limit.
func BenchmarkJobs(b *testing.B) {
	for _, unsynced := range []bool{false, true} {
		name, bound := "synced", 0.6
		if unsynced {
			name, bound = "unsynced", 0.15
		}
		b.Run(name, func(b *testing.B) { benchmarkJobs(b, unsynced, bound) })
	}
}

func benchmarkJobs(b *testing.B, unsynced bool, bound float64) {
	const lanes, perLane = 32, 16
	s := newStation(b, unsynced, lanes, perLane)
	raw := newRaw(b, s, lanes)
	var took, rawTook, cpu, rawCPU time.Duration
	jobs, n := 0, 0
	before, reads := s.head(), s.tap()
	for b.Loop() {
		began, used := time.Now(), processTime(b)
		s.create(n)
		<-s.ended
		took, cpu = took+time.Since(began), cpu+processTime(b)-used
		jobs, n = jobs+lanes*perLane, n+1
		began, used = time.Now(), processTime(b)
		raw.append(b, 4*perLane)
		rawTook, rawCPU = rawTook+time.Since(began), rawCPU+processTime(b)-used
	}
	rate, limit := float64(jobs)/took.Seconds(), float64(jobs)/rawTook.Seconds()
	b.ReportMetric(rate, "jobs/s")
	b.ReportMetric(limit, "raw-appends/4/s")
	b.ReportMetric(float64(cpu.Microseconds())/float64(jobs)/1000, "cpu-ms/job")
	b.ReportMetric(float64(cpu)/float64(rawCPU), "times-raw-cpu")
	b.ReportMetric(float64(reads.Load())/float64(jobs), "reads/job")
	ratio.AtLeast(b, "of-raw", rate/limit, bound)
	ratio.AtMost(b, "events/job", float64(s.head()-before)/float64(jobs), 4)
}

// processTime returns the CPU time that this process has used.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// raw is a bare stream with writers of their own connections.
type raw struct {
	js      []natsjs.JetStream
	stream  natsjs.Stream
	payload []byte
}

// newRaw makes a stream on the server of a station, so that both have the same disk and the same clients.
func newRaw(b *testing.B, s *station, writers int) *raw {
	b.Helper()
	r := &raw{payload: make([]byte, 900)} // about what the events of a job have
	for range writers {
		nc := s.remote()
		js, err := natsjs.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		r.js = append(r.js, js)
	}
	var err error
	if r.stream, err = r.js[0].CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}}); err != nil {
		b.Fatal(err)
	}
	return r
}

// append lets each writer append n messages, one after another.
func (r *raw) append(b *testing.B, n int) {
	b.Helper()
	var writers sync.WaitGroup
	for i, js := range r.js {
		writers.Go(func() {
			for range n {
				if _, err := js.Publish(b.Context(), fmt.Sprintf("raw.%d", i), r.payload); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}

// tap counts the reads of the log from now on.
func (s *station) tap() *atomic.Int64 {
	s.b.Helper()
	nc := s.remote()
	var reads atomic.Int64
	for _, ask := range []string{"$JS.API.DIRECT.GET.EVENTS", "$JS.API.STREAM.MSG.GET.EVENTS"} {
		if _, err := nc.Subscribe(ask, func(*nats.Msg) { reads.Add(1) }); err != nil {
			s.b.Fatal(err)
		}
	}
	return &reads
}

// BenchmarkLane runs a few jobs that do nothing on one lane of a synced server, and nothing else: how long from the moment that
// somebody asks for a request until its first job is received, and from the end of a job's run to the beginning of the next one.
// That is six appends and three. In turns with them a raw message is published and delivered over TCP.
func BenchmarkLane(b *testing.B) {
	const perLane = 4
	s := newStation(b, false, 1, perLane)
	raw := newRaw(b, s, 1)
	deliver := raw.deliveries(b)
	var received, next, trips []time.Duration
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		s.create(n)
		<-s.ended
		received = append(received, (<-s.received).Sub(began))
		before := <-s.ran
		for range perLane - 1 {
			<-s.received
			ran := <-s.ran
			next, before = append(next, ran[0].Sub(before[1])), ran
			trips = append(trips, deliver())
		}
	}
	b.ReportMetric(ms(received, 0.5), "received-p50-ms")
	b.ReportMetric(ms(received, 0.99), "received-p99-ms")
	b.ReportMetric(ms(next, 0.5), "next-p50-ms")
	b.ReportMetric(ms(next, 0.99), "next-p99-ms")
	b.ReportMetric(ms(trips, 0.5), "raw-p50-ms")
	b.ReportMetric(ms(trips, 0.99), "raw-p99-ms")
	ratio.AtMost(b, "received-times-raw", ms(received, 0.5)/ms(trips, 0.5), 3.7)
	ratio.AtMost(b, "next-times-raw", ms(next, 0.5)/ms(trips, 0.5), 4)
}

// deliveries returns what publishes a raw message and waits until it is delivered to a consumer.
func (r *raw) deliveries(b *testing.B) func() time.Duration {
	b.Helper()
	consumer, err := r.stream.CreateConsumer(b.Context(), natsjs.ConsumerConfig{AckPolicy: natsjs.AckExplicitPolicy, MaxAckPending: 1})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(messages.Stop)
	return func() time.Duration {
		began := time.Now()
		if _, err := r.js[0].Publish(b.Context(), "raw.0", r.payload); err != nil {
			b.Fatal(err)
		}
		m, err := messages.Next()
		took := time.Since(began)
		if err == nil {
			err = m.DoubleAck(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		return took
	}
}

// ms returns a percentile in milliseconds.
func ms(took []time.Duration, of float64) float64 {
	slices.Sort(took)
	return took[int(of*float64(len(took)-1))].Seconds() * 1000
}
