package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/job"
)

// ErrNotPermitted says that a collector asked for something that it may not do, read or have.
var ErrNotPermitted = errors.New("a collector may not do this")

// ErrRevoked says that the registry does not know the collector, or that it was removed.
var ErrRevoked = errors.New("the door is closed")

// ErrOutdated says that the collector's program and the core's do not understand each other.
var ErrOutdated = errors.New("the versions do not fit")

const (
	// answerWithin is how long the client waits for one answer: the door itself tries for a while.
	answerWithin = appendWithin + catchUp
	// lookAgain is the pause before a collector that does not serve its lane now asks for a job again.
	lookAgain = time.Second
)

// Client is a collector's view of the log, through the door: the aggregates of its own lane and name, its jobs, its
// name, its output and its outputs. It implements eventlog.Aggregates, Jobs, Presence, JobLogWriter and blob.Store.
type Client struct {
	line *line
	name events.CollectorName
	lane events.Lane
	// seen is the newest event that the client knows of. The door's answers are at least as new.
	seen atomic.Uint64
	// inHand is the last job that was delivered.
	inHand atomic.Pointer[delivery]
	// beatTTL is how long a heartbeat lives, as the core last said, in nanoseconds.
	beatTTL atomic.Int64
}

// Dial makes a connection for a collector. It is called again when the server has closed the connection for good, so
// that it can read a rotated key. If it fails for GiveUp with an error other than eventlog.ErrUnavailable, the client
// ends with that error.
type Dial func(ctx context.Context) (*nats.Conn, error)

// Open returns the view of a collector once the core answers; eventlog.ErrUnavailable when it does not. The caller must
// call Close.
func Open(ctx context.Context, dial Dial, name events.CollectorName, lane events.Lane) (*Client, error) {
	l, err := newLine(ctx, dial)
	if err != nil {
		return nil, err
	}
	c := &Client{line: l, name: name, lane: lane}
	if _, _, err := c.Last(ctx, events.WorkSubject(lane)); err != nil {
		l.close()
		return nil, fmt.Errorf("open the log as collector %s: %w", name, err)
	}
	return c, nil
}

// Close closes the connection.
func (c *Client) Close() { c.line.close() }

// ask repeats a request until there is an answer. A refusal that waiting cannot change becomes an error of this
// package, of eventlog or of job.
func (c *Client) ask(ctx context.Context, operation string, v Verb, req request, within time.Duration) (out answer, err error) {
	req.Version = version
	err = jetstream.Persist(ctx, operation, func(ctx context.Context) error {
		req.After = events.Seq(c.seen.Load())
		data, err := json.Marshal(req)
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		if v == verbChunk {
			data = blob.Encode(data, req.chunk)
		}
		if len(data) > MaxRequest-requestRoom {
			return fmt.Errorf("a request of %d bytes: %w", len(data), eventlog.ErrBatchTooLarge)
		}
		ctx, cancel := c.line.bound(ctx, within)
		defer cancel()
		nc, err := c.line.conn()
		if err != nil {
			return err
		}
		m, err := nc.RequestWithContext(ctx, subject(string(c.name), v), data)
		if err != nil {
			return c.line.explain(err)
		}
		text, chunk := blob.Decode(m.Data)
		out = answer{}
		if err := json.Unmarshal(text, &out); err != nil {
			return fmt.Errorf("the door answers %.64q: %w", text, err)
		}
		out.chunk = chunk
		return c.hear(ctx, out)
	})
	return out, err
}

// requestRoom is the room for headers in a message, in bytes.
const requestRoom = 1 << 10

// hear notes the news in an answer and turns a refusal into an error.
func (c *Client) hear(ctx context.Context, a answer) error {
	at := max(a.Seq, a.At)
	if a.Event != nil {
		at = max(at, a.Event.Seq)
	}
	for _, newest := range a.News {
		at = max(at, newest)
	}
	c.saw(at)
	if a.BeatTTL > 0 {
		c.beatTTL.Store(int64(a.BeatTTL))
	}
	r := a.Refusal
	if r == nil {
		return nil
	}
	switch r.Kind {
	case conflict:
		c.saw(r.Actual)
		return &eventlog.ConflictError{Subject: r.Subject, Expected: r.Expected, Actual: r.Actual}
	case lost:
		return &job.Refusal{Reason: r.Reason}
	case tooLarge:
		return fmt.Errorf("%w: %s", eventlog.ErrBatchTooLarge, r.Reason)
	case held:
		return eventlog.ErrNameHeld
	case revoked:
		return fmt.Errorf("%w: %s", ErrRevoked, r.Reason)
	case outdated:
		return fmt.Errorf("%w: %s", ErrOutdated, r.Reason)
	case slower, again:
		retry.Sleep(ctx, min(r.Wait, lookAgain))
		return fmt.Errorf("%w: the core says: %s", jetstream.ErrAgain, r.Reason)
	case full:
		return said(blob.ErrFull, r.Reason)
	case missing:
		return said(blob.ErrMissing, r.Reason)
	case damaged:
		return said(blob.ErrDamaged, r.Reason)
	case forbidden, malformed:
	}
	return fmt.Errorf("%w: the core says: %s", ErrNotPermitted, r.Reason)
}

func (c *Client) saw(seq events.Seq) {
	for {
		known := c.seen.Load()
		if uint64(seq) <= known || c.seen.CompareAndSwap(known, uint64(seq)) {
			return
		}
	}
}

// Append implements eventlog.Aggregates.
func (c *Client) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	staged, err := eventlog.Stage(parts)
	if err != nil {
		return 0, err
	}
	req := request{}
	inHand, n := c.inHand.Load(), 0
	for _, p := range parts {
		out := part{Subject: p.Subject, Expected: p.Expected}
		for _, e := range p.Events {
			out.Events = append(out.Events, event{
				ID: e.ID, Type: events.TypeOf(e.Fact), Time: e.Time, Cause: e.Cause, Root: e.Root, Data: staged[n].Data,
			})
			if _, ends := e.Fact.(events.JobFinished); ends && inHand != nil {
				req.Delivery = inHand.token
			}
			n++
		}
		req.Parts = append(req.Parts, out)
	}
	a, err := c.ask(ctx, "append to "+string(parts[0].Subject), verbAppend, req, answerWithin)
	var moved *eventlog.ConflictError
	if errors.As(err, &moved) {
		return 0, moved
	}
	if a.Done {
		inHand.over.Store(true)
	}
	return a.Seq, err
}

// Last implements eventlog.Aggregates.
func (c *Client) Last(ctx context.Context, s events.Subject) (events.Recorded, bool, error) {
	a, err := c.ask(ctx, "read the last of "+string(s), verbLast, request{Subject: s}, answerWithin)
	switch {
	case err != nil || a.At == 0:
		return events.Recorded{}, false, err
	case a.Event == nil:
		return events.Recorded{Seq: a.At}, true, nil
	}
	e, err := events.DecodeOne(a.Event.stored())
	if err != nil {
		return events.Recorded{}, false, fmt.Errorf("read the last of %s: %w", s, err)
	}
	return e, true, nil
}

// Read implements eventlog.Aggregates.
func (c *Client) Read(ctx context.Context, s events.Subject) (found []events.Recorded, err error) {
	err = jetstream.Persist(ctx, "read "+string(s), func(ctx context.Context) error {
		found, err = c.readOnce(ctx, s)
		return err
	})
	return found, err
}

func (c *Client) readOnce(ctx context.Context, s events.Subject) ([]events.Recorded, error) {
	body, err := json.Marshal(request{Version: version, After: events.Seq(c.seen.Load()), Subject: s})
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	nc, err := c.line.conn()
	if err != nil {
		return nil, err
	}
	inbox, answers, over := nc.NewInbox(), make(chan *nats.Msg), make(chan struct{})
	defer close(over)
	sub, err := nc.Subscribe(inbox, func(m *nats.Msg) {
		select {
		case answers <- m:
		case <-over:
		}
	})
	if err != nil {
		return nil, c.line.explain(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := errors.Join(sub.SetPendingLimits(-1, -1), nc.PublishRequest(subject(string(c.name), verbRead), inbox, body)); err != nil {
		return nil, c.line.explain(err)
	}
	found := []events.Recorded{}
	for {
		m, err := nextWithin(ctx, answers)
		if err != nil {
			return nil, c.line.explain(err)
		}
		switch {
		case m.Header.Get("Status") == "503":
			return nil, nats.ErrNoResponders
		case m.Header.Get(headerEnd) != "":
			return found, c.ended(m, len(found))
		case m.Header.Get(headerSeq) == "":
			var a answer
			if err := json.Unmarshal(m.Data, &a); err != nil || a.Refusal == nil {
				return nil, fmt.Errorf("%w: the door answers %.64q", jetstream.ErrAgain, m.Data)
			}
			return nil, c.hear(ctx, a)
		}
		e, err := decodeServed(s, m)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
		c.saw(e.Seq)
	}
}

func nextWithin(ctx context.Context, answers <-chan *nats.Msg) (*nats.Msg, error) {
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case m := <-answers:
		return m, nil
	case <-late.C:
		return nil, nats.ErrTimeout
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ended checks the message that ends the answer to a read.
func (c *Client) ended(m *nats.Msg, n int) error {
	if end := m.Header.Get(headerEnd); end != strconv.Itoa(n) {
		return fmt.Errorf("%w: %d of %s events arrived", jetstream.ErrAgain, n, end)
	}
	if ttl, err := time.ParseDuration(m.Header.Get(headerBeatTTL)); err == nil {
		c.beatTTL.Store(int64(ttl))
	}
	return nil
}

// decodeServed decodes one event of an answer. An event without a type does not count: it has no fact.
func decodeServed(s events.Subject, m *nats.Msg) (events.Recorded, error) {
	seq, err := strconv.ParseUint(m.Header.Get(headerSeq), 10, 64)
	if err != nil {
		return events.Recorded{}, fmt.Errorf("event without a sequence: %w", err)
	}
	out := events.Stored{Seq: events.Seq(seq), Subject: s, Header: map[string]string{}, Data: m.Data}
	for k, v := range m.Header {
		if len(v) > 0 && !strings.HasPrefix(k, "Nats-") {
			out.Header[k] = v[0]
		}
	}
	if out.Header[events.HeaderType] == "" {
		return events.Recorded{Seq: out.Seq}, nil
	}
	return events.DecodeOne(out)
}

// BeatTTL returns how long a heartbeat lives, as the core last said; 0 when it has not said.
func (c *Client) BeatTTL() time.Duration { return time.Duration(c.beatTTL.Load()) }
