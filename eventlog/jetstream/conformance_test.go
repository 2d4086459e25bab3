package jetstream_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog/eventlogtest"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
)

// short waits for tests; a time to live has whole seconds.
var short = jetstream.Config{AckWait: time.Second, BeatTTL: time.Second}

func TestConformanceOneNode(t *testing.T) {
	nc := connect(t, start(t, natsserver.Config{Dir: t.TempDir()}))
	l := open(t, nc, short)
	eventlogtest.Run(t, func(*testing.T) eventlogtest.Subject { return subject(l, nc) })
}

func TestConformanceCluster(t *testing.T) {
	_, nc := cluster(t, false)
	cfg := short
	cfg.Replicas = 3
	l := open(t, nc, cfg)
	eventlogtest.Run(t, func(*testing.T) eventlogtest.Subject { return subject(l, nc) })
}

func subject(l *jetstream.Log, nc *nats.Conn) eventlogtest.Subject {
	return eventlogtest.Subject{
		Log: l, Dispatch: l, Presence: l, Heartbeats: l, JobLogs: l, Snapshots: l, AckWait: short.AckWait, BeatTTL: short.BeatTTL,
		LoseLane: func(t *testing.T, lane events.Lane) {
			t.Helper()
			js, err := natsjs.New(nc)
			if err == nil {
				err = js.DeleteConsumer(t.Context(), "EVENTS", jetstream.LaneConsumer(lane))
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	}
}

func start(t testing.TB, cfg natsserver.Config) *natsserver.Server {
	t.Helper()
	s, err := natsserver.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t testing.TB, s *natsserver.Server) *nats.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func open(t testing.TB, nc *nats.Conn, cfg jetstream.Config) *jetstream.Log {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // without a bound it would give up after seconds
	defer cancel()
	l, err := jetstream.Open(ctx, nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
