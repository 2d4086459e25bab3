package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Reading for collectors.
//
// A collector reads whole aggregates of its own lane. The server has no request for that which permissions
// could confine: its batch read takes the subject in the body, where no permission looks. So the core
// reads for it. The request goes to
//
//	tacho.read.<aggregate>    {"after": 12, "first": false}
//
// where the aggregate is the rest of its subject after "tacho.ev.", so that the collector's permissions
// are its right to ask; the core trusts the subject and nothing else. The answer is one message for each
// event, as it is stored, with its place in two headers, and one more that ends it. The last event of an
// aggregate can be read without the core (a direct get with the subject in the request's own subject).

const (
	headerSeq = "Tacho-Seq"
	headerAt  = "Tacho-Stored-At"
	headerEnd = "Tacho-End" // the number of events; with an error in the body when there was one
	// headerBeatTTL tells with the end how long a heartbeat lives, which collectors may not look up.
	headerBeatTTL = "Tacho-Beat-TTL"
	// readQueue is the group of which one member answers each request; readsAtOnce bounds one member.
	readQueue   = "tacho-core"
	readsAtOnce = 8
)

// readRequest asks for the events after a sequence; First asks for one.
type readRequest struct {
	After events.Seq `json:"after"`
	First bool       `json:"first"`
}

func readSubject(s events.Subject) string {
	return readPrefix + strings.TrimPrefix(string(s), events.SubjectPrefix)
}

// ServeCollectors answers the reads of collectors until ctx ends. Every process of the core may run it; one
// of them answers each request. It returns the context's error, or eventlog.ErrUnavailable when the
// connection is closed.
func (l *Log) ServeCollectors(ctx context.Context) error {
	requests := make(chan *nats.Msg, 256)
	sub, err := l.nc.ChanQueueSubscribe(readPrefix+">", readQueue, requests)
	if err != nil {
		return fmt.Errorf("serve the reads of collectors: %w: %w", eventlog.ErrUnavailable, err)
	}
	closed := l.nc.StatusChanged(nats.CLOSED)
	defer l.nc.RemoveStatusListener(closed)
	var group errgroup.Group
	group.SetLimit(readsAtOnce)
	for {
		select {
		case m := <-requests:
			group.Go(func() error { l.serveRead(ctx, m); return nil })
		case <-closed:
			return errors.Join(eventlog.ErrUnavailable, group.Wait())
		case <-ctx.Done():
			// On a connection that is closed already there is nothing to unsubscribe.
			return errors.Join(ctx.Err(), group.Wait(), ignoreClosed(sub.Unsubscribe()))
		}
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}

// serveRead answers one request. An answer that is lost is asked for again.
func (l *Log) serveRead(ctx context.Context, m *nats.Msg) {
	var found []events.Stored
	var req readRequest
	err := json.Unmarshal(m.Data, &req)
	subject := events.Subject(events.SubjectPrefix + strings.TrimPrefix(m.Subject, readPrefix))
	if err == nil && req.First {
		s, ok, firstErr := l.first(ctx, subject, req.After)
		if err = firstErr; ok {
			found = append(found, s)
		}
	} else if err == nil {
		found, err = l.aggregate(ctx, subject, req.After)
	}
	for _, s := range found {
		answer := message(s)
		answer.Subject = m.Reply
		answer.Header[headerSeq] = []string{seqText(s.Seq)}
		answer.Header[headerAt] = []string{s.StoredAt.Format(time.RFC3339Nano)}
		if l.nc.PublishMsg(answer) != nil {
			return
		}
	}
	end := &nats.Msg{Subject: m.Reply, Header: nats.Header{headerEnd: {strconv.Itoa(len(found))}, headerBeatTTL: {l.cfg.BeatTTL.String()}}}
	if err != nil {
		end.Data = []byte(err.Error())
	}
	_ = l.nc.PublishMsg(end) // on a closed connection the collector asks again
}

// askCore reads through the core.
func (c *Collector) askCore(ctx context.Context, subject events.Subject, req readRequest) (found []events.Stored, err error) {
	err = persist(ctx, "read "+string(subject)+" through the core", func(ctx context.Context) error {
		found, err = c.askOnce(ctx, subject, req)
		return err
	})
	return found, err
}

func (c *Collector) askOnce(ctx context.Context, subject events.Subject, req readRequest) ([]events.Stored, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := errors.Join(sub.SetPendingLimits(-1, -1), c.nc.PublishRequest(readSubject(subject), inbox, body)); err != nil {
		return nil, err
	}
	var found []events.Stored
	for {
		m, err := nextWithin(ctx, sub)
		if err != nil {
			return nil, err
		}
		if m.Header.Get("Status") != "" {
			return nil, statusError(m)
		}
		if end := m.Header.Get(headerEnd); end != "" {
			switch {
			case len(m.Data) > 0:
				return nil, fmt.Errorf("%w: the core says: %s", errAgain, m.Data)
			case end != strconv.Itoa(len(found)):
				return nil, fmt.Errorf("%w: %d of %s events arrived", errAgain, len(found), end)
			}
			// A core of an earlier version does not say it.
			if ttl, err := time.ParseDuration(m.Header.Get(headerBeatTTL)); err == nil {
				c.beatTTL.Store(int64(ttl))
			}
			return found, nil
		}
		s, err := decodeServed(subject, m)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
}

// decodeServed reads one event of an answer.
func decodeServed(subject events.Subject, m *nats.Msg) (events.Stored, error) {
	seq, err := strconv.ParseUint(m.Header.Get(headerSeq), 10, 64)
	if err != nil {
		return events.Stored{}, fmt.Errorf("event without a sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(headerAt))
	if err != nil {
		return events.Stored{}, fmt.Errorf("event %d without a time: %w", seq, err)
	}
	delete(m.Header, headerSeq)
	delete(m.Header, headerAt)
	return stored(subject, events.Seq(seq), at, m.Header, m.Data), nil
}
