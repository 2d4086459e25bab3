package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// ErrNotPermitted says that a collector asked for something outside of its lane. The server would refuse
// it as well, but says so only by not answering.
var ErrNotPermitted = errors.New("a collector may not do this")

// Collector is a collector's view of the log: the aggregates of its own lane and name, its own jobs, its
// own name, its own output. It implements eventlog.Log, Dispatch, Presence and JobLogs, of which some
// methods always answer ErrNotPermitted. It needs CollectorPermissions and no more.
type Collector struct {
	appender
	puller
	claims
	logWriter

	nc   *nats.Conn
	lane events.Lane
	// own may be written, readable may be read, of shown the last event may be; "*" stands for any token.
	own, readable, shown []events.Subject
	// beatTTL is what the core said with its last answer, in nanoseconds.
	beatTTL atomic.Int64
}

// OpenCollector returns the view of a collector on the log named "EVENTS". It waits until the server
// answers (eventlog.ErrUnavailable when it does not); the lane's consumer may still be missing.
func OpenCollector(ctx context.Context, nc *nats.Conn, name events.CollectorName, lane events.Lane) (*Collector, error) {
	c := &Collector{
		puller: puller{nc: nc, stream: defaultName}, claims: newClaims(nc), logWriter: logWriter{nc: nc},
		nc: nc, lane: lane, own: ownSubjects(name, lane),
	}
	c.readable = append([]events.Subject{events.SuiteSubject("*"), events.AssignmentSubject(lane)}, c.own...)
	c.shown = append(shownSubjects(lane), c.own...)
	c.appender = appender{nc: nc, stream: defaultName, reads: c}
	if _, _, err := c.last(ctx, events.WorkSubject(lane)); err != nil {
		return nil, fmt.Errorf("open the log as collector %s: %w", name, err)
	}
	return c, nil
}

// allowed reports whether the subject is one of the patterns.
func allowed(patterns []events.Subject, s events.Subject) error {
	if slices.ContainsFunc(patterns, func(p events.Subject) bool { return matches(p, s) }) {
		return nil
	}
	return fmt.Errorf("%s: %w", s, ErrNotPermitted)
}

// Append implements eventlog.Log.
func (c *Collector) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	for _, p := range parts {
		if err := allowed(c.own, p.Subject); err != nil {
			return 0, fmt.Errorf("append: %w", err)
		}
	}
	return c.appender.Append(ctx, parts...)
}

// Read implements eventlog.Log, through the core.
func (c *Collector) Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error) {
	if err := allowed(c.readable, subject); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	found, err := c.askCore(ctx, subject, readRequest{})
	if err != nil {
		return nil, err
	}
	return decodeAll(subject, found)
}

// BeatTTL returns how long a heartbeat lives, as the core said when it last answered a Read; 0 when it did not say.
func (c *Collector) BeatTTL() time.Duration { return time.Duration(c.beatTTL.Load()) }

// Last implements eventlog.Log. On a cluster it may lag by a moment.
func (c *Collector) Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error) {
	if err := allowed(c.shown, subject); err != nil {
		return events.Recorded{}, false, fmt.Errorf("read: %w", err)
	}
	s, ok, err := c.last(ctx, subject)
	if err != nil || !ok {
		return events.Recorded{}, false, err
	}
	r, err := events.Decode(s)
	if err != nil {
		return events.Recorded{}, false, fmt.Errorf("read the last of %s: %w", subject, err)
	}
	return r, true, nil
}

// first implements reader, through the core.
func (c *Collector) first(ctx context.Context, subject events.Subject, after events.Seq) (events.Stored, bool, error) {
	found, err := c.askCore(ctx, subject, readRequest{After: after, First: true})
	if err != nil || len(found) == 0 {
		return events.Stored{}, false, err
	}
	return found[0], true, nil
}

// last implements reader.
func (c *Collector) last(ctx context.Context, subject events.Subject) (s events.Stored, ok bool, err error) {
	err = persist(ctx, "read the last of "+string(subject), func(ctx context.Context) error {
		m, err := request(ctx, c.nc, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + c.stream() + "." + string(subject)})
		if err == nil {
			s, ok, err = decodeDirect(m)
		}
		return err
	})
	return s, ok, err
}

func (c *Collector) stream() string { return c.appender.stream }

// NextJob implements eventlog.Dispatch.
func (c *Collector) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	if lane != c.lane {
		return nil, fmt.Errorf("next job of %s: %w", lane, ErrNotPermitted)
	}
	return c.puller.NextJob(ctx, lane)
}

// WriteLog implements eventlog.JobLogs.
func (c *Collector) WriteLog(ctx context.Context, lane events.Lane, chunk eventlog.LogChunk) error {
	if lane != c.lane || strings.ContainsAny(string(chunk.JobID), ".*> ") {
		return fmt.Errorf("log of job %s on %s: %w", chunk.JobID, lane, ErrNotPermitted)
	}
	return c.logWriter.WriteLog(ctx, lane, chunk)
}

// Follow implements eventlog.Log; it is never permitted.
func (c *Collector) Follow(context.Context, events.Seq) (eventlog.Cursor, error) {
	return nil, fmt.Errorf("follow the log: %w", ErrNotPermitted)
}

// Head implements eventlog.Log; it is never permitted.
func (c *Collector) Head(context.Context) (eventlog.Head, error) {
	return eventlog.Head{}, fmt.Errorf("look at the log: %w", ErrNotPermitted)
}

// EnsureLane implements eventlog.Dispatch; it is never permitted.
func (c *Collector) EnsureLane(_ context.Context, lane events.Lane) error {
	return fmt.Errorf("make the consumer of lane %s: %w", lane, ErrNotPermitted)
}

// Watch implements eventlog.Presence; it is never permitted.
func (c *Collector) Watch(context.Context, func(eventlog.Beat, bool)) error {
	return fmt.Errorf("watch the heartbeats: %w", ErrNotPermitted)
}

// ReadLog implements eventlog.JobLogs; it is never permitted.
func (c *Collector) ReadLog(_ context.Context, _ events.Lane, job events.JobID, _ bool, _ func(eventlog.LogChunk) error) error {
	return fmt.Errorf("read the log of job %s: %w", job, ErrNotPermitted)
}
