package farm

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

// BenchmarkFreeToReceived runs a scheduler and a collector, whose jobs take no time, on a synced log of one
// node. It measures how long a free collector waits for its next job, and compares that with the round
// trip of a bare JetStream message: published, synced, delivered.
func BenchmarkFreeToReceived(b *testing.B) {
	nc, log := syncedLog(b)
	d := manyJobs(200)
	c := &control.Control{Log: log, Dispatch: log, Clock: time.Now}
	if _, err := c.Publish(b.Context(), By, d); err != nil {
		b.Fatal(err)
	}
	lane := events.Lane{Target: "here", Set: 0}
	if _, err := c.AddCollector(b.Context(), By, control.NewCollector{Name: "c", Target: lane.Target}); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var tasks sync.WaitGroup
	b.Cleanup(func() { stop(); tasks.Wait() })
	s := shell.New(shell.Config{Log: log, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	s.Seat(scheduler.New(scheduler.Config{Log: log, Dispatch: log, Policy: policy, OfflineAfter: time.Minute, Logger: slog.New(slog.DiscardHandler)}))
	tasks.Go(func() {
		if err := s.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	watch := &stopwatch{Jobs: log, received: make(chan time.Duration)}
	col := collector.New(collector.Config{
		Name: "c", Lane: lane, Instance: "i", Log: log, Jobs: watch, Presence: log, JobLogs: log, Bench: &Bench{},
		BeatEvery: 5 * time.Second, ProgressEvery: 20 * time.Second, FlushEvery: time.Second, MaxAttempts: 3, TransientDeadline: time.Hour,
		Clock: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	tasks.Go(func() {
		if err := col.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	var waits []time.Duration
	began := time.Now()
	for b.Loop() {
		if len(waits)%200 == 0 {
			n := control.NewRequest{Suite: d.Name, Kind: events.Master, Tag: events.Tag(fmt.Sprintf("t%d", len(waits)))}
			if _, _, err := c.CreateRequest(ctx, By, n); err != nil {
				b.Fatal(err)
			}
		}
		waits = append(waits, <-watch.received)
	}
	perJob := time.Since(began) / time.Duration(len(waits))
	stop()
	tasks.Wait()
	raw := rawRoundTrips(b, nc, 200)
	b.ReportMetric(float64(median(waits).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(median(raw).Microseconds())/1000, "raw-p50-ms")
	b.ReportMetric(float64(median(waits))/float64(median(raw)), "times-raw")
	b.ReportMetric(perJob.Seconds()*1000, "ms/job")
}

// syncedLog returns an empty log on a server of one node, which syncs each event.
func syncedLog(b *testing.B) (*nats.Conn, *jetstream.Log) {
	b.Helper()
	server, err := natsserver.Start(natsserver.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Shutdown)
	nc, err := server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	log, err := jetstream.Open(b.Context(), nc, jetstream.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return nc, log
}

// stopwatch measures how long each wait for a job was.
type stopwatch struct {
	eventlog.Jobs
	received chan time.Duration
}

// NextJob implements eventlog.Jobs.
func (s *stopwatch) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	free := time.Now()
	d, err := s.Jobs.NextJob(ctx, lane)
	if err == nil {
		select {
		case s.received <- time.Since(free):
		case <-ctx.Done():
		}
	}
	return d, err
}

// rawRoundTrips publishes to a stream and waits for the delivery to a pull consumer, n times.
func rawRoundTrips(b *testing.B, nc *nats.Conn, n int) []time.Duration {
	b.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	stream, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw"}})
	if err != nil {
		b.Fatal(err)
	}
	consumer, err := stream.CreateConsumer(b.Context(), natsjs.ConsumerConfig{AckPolicy: natsjs.AckExplicitPolicy, MaxAckPending: 1})
	if err != nil {
		b.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		b.Fatal(err)
	}
	defer messages.Stop()
	payload := make([]byte, 600)
	var trips []time.Duration
	for range n {
		began := time.Now()
		if _, err := js.Publish(b.Context(), "raw", payload); err != nil {
			b.Fatal(err)
		}
		m, err := messages.Next()
		if err != nil {
			b.Fatal(err)
		}
		trips = append(trips, time.Since(began))
		if err := m.Ack(); err != nil {
			b.Fatal(err)
		}
	}
	return trips
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// manyJobs returns definitions with n profiles on one lane and nothing to measure.
func manyJobs(n int) suite.Definitions {
	d := suite.Definitions{
		Version: 1, Name: "many", PrimaryTarget: "here", Sources: suite.Sources{Root: "file"},
		Targets:    []suite.Target{{Name: "here", Sets: 1}},
		Kinds:      []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true}},
		Backends:   []suite.Backend{{Name: "any"}},
		Categories: map[events.RequestKind][]suite.Category{events.Master: {suite.Primary}},
	}
	for i := range n {
		d.Profiles = append(d.Profiles, suite.Profile{Name: events.Profile(fmt.Sprintf("p%d", i))})
	}
	return d
}
