package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Log is the core's view of the log. It implements eventlog.Log, Dispatch, Presence, Heartbeats, JobLogs and Snapshots,
// and is safe for concurrent use. The caller closes the connection.
type Log struct {
	appender
	puller
	claims
	logWriter

	nc  *nats.Conn
	js  natsjs.JetStream
	cfg Config
	// events is the handle of the log's stream. Only Open writes it.
	events natsjs.Stream

	// parks are the parks that were read last.
	parks atomic.Pointer[events.Parks]
	// looked is the newest look of Takes, unlimited when the server said last that the account has no limit.
	looked    atomic.Pointer[looked]
	unlimited atomic.Pointer[time.Time]

	mu sync.Mutex
	// seen is the newest known end of the log, and its identity then.
	seen eventlog.Head
}

// Open returns the log, and makes its streams if they do not exist. It returns a *DriftError if the configuration of
// the log is not exactly the wanted one, a *eventlog.GapError if the log is damaged, and eventlog.ErrUnavailable if the
// server is not reachable.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
	cfg = cfg.withDefaults()
	js, err := natsjs.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	l := &Log{nc: nc, js: js, cfg: cfg}
	l.appender = appender{nc: nc, stream: cfg.Name, reads: l, room: &room{ask: cfg.Stopped}, torn: &torn{}, alone: cfg.Replicas == 1}
	l.puller = puller{nc: nc, stream: cfg.Name}
	l.claims = newClaims(nc)
	l.logWriter = logWriter{nc: nc}
	err = Persist(ctx, "open the log", func(ctx context.Context) error { return l.ensure(ctx) })
	if err != nil {
		return nil, err
	}
	if err := l.Verify(ctx); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return l, nil
}

// ensure makes the missing streams. Of an existing log it changes at most the limit in bytes; it may change the streams
// beside it.
func (l *Log) ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	stream, err := l.js.Stream(ctx, l.cfg.Name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		stream, err = l.js.CreateStream(ctx, l.cfg.eventsStream())
		if errors.Is(err, natsjs.ErrStreamNameAlreadyInUse) {
			// Another process made it at the same moment; Verify judges it.
			stream, err = l.js.Stream(ctx, l.cfg.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.cfg.Name, err)
	}
	l.events = stream
	if l.cfg.Own {
		if err := l.limit(ctx); err != nil {
			return err
		}
	}
	if _, err := l.js.CreateOrUpdateStream(ctx, l.cfg.logsStream()); err != nil {
		return fmt.Errorf("stream %s: %w", logsName, err)
	}
	if _, err := l.js.CreateOrUpdateStream(ctx, l.cfg.beats()); err != nil {
		return fmt.Errorf("stream %s: %w", beatsStream, err)
	}
	if _, err := l.js.CreateOrUpdateStream(ctx, l.cfg.snapshotsStream()); err != nil {
		return fmt.Errorf("stream %s: %w", snapshotsName, err)
	}
	return nil
}
