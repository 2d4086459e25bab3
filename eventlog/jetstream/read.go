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
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// The bounds of one answer to a request for many messages.
const (
	scanMessages = 1000
	scanBytes    = 4 << 20
)

// query is the server's request for messages of a stream.
type query struct {
	Seq      events.Seq     `json:"seq,omitempty"`
	NextFor  events.Subject `json:"next_by_subj,omitempty"`
	LastFor  events.Subject `json:"last_by_subj,omitempty"`
	Batch    int            `json:"batch,omitempty"`
	MaxBytes int            `json:"max_bytes,omitempty"`
}

// Read implements eventlog.Log.
func (l *Log) Read(ctx context.Context, subject events.Subject) ([]events.Recorded, error) {
	stored, err := l.aggregate(ctx, subject)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", subject, err)
	}
	out, err := obeying(ctx, l, subject, func(p events.Parks) ([]events.Recorded, error) { return p.DecodeAll(stored) })
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", subject, err)
	}
	return out, nil
}

// Parks implements eventlog.Log.
func (l *Log) Parks(ctx context.Context) (events.Parks, error) {
	stored, err := l.aggregate(ctx, events.ParkSubject())
	if err != nil {
		return events.Parks{}, fmt.Errorf("read which events are parked: %w", err)
	}
	history, err := events.DecodeAll(stored)
	if err != nil {
		return events.Parks{}, fmt.Errorf("read which events are parked: %w", err)
	}
	p := events.ParksOf(history)
	l.parks.Store(&p)
	return p, nil
}

// obeying decodes with the parks that were read last. If this program does not understand an event, it may have been
// parked since then.
func obeying[T any](ctx context.Context, l *Log, subject events.Subject, decode func(events.Parks) (T, error)) (T, error) {
	var known events.Parks
	if p := l.parks.Load(); p != nil {
		known = *p
	}
	out, err := decode(known)
	if !errors.Is(err, events.ErrUnknownType) || subject == events.ParkSubject() {
		return out, err
	}
	if known, parksErr := l.Parks(ctx); parksErr == nil {
		return decode(known)
	}
	return out, err
}

// Last implements eventlog.Log.
func (l *Log) Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error) {
	s, ok, err := l.last(ctx, subject)
	if err != nil || !ok {
		return events.Recorded{}, false, err
	}
	r, err := obeying(ctx, l, subject, func(p events.Parks) (events.Recorded, error) { return p.DecodeOne(s) })
	if err != nil {
		return events.Recorded{}, false, fmt.Errorf("read the last of %s: %w", subject, err)
	}
	return r, true, nil
}

// Newer implements eventlog.Log.
func (l *Log) Newer(ctx context.Context, subject events.Subject, version events.Seq) (bool, error) {
	newest, _, err := l.last(ctx, subject)
	if err != nil {
		return false, fmt.Errorf("look for newer events of %s: %w", subject, err)
	}
	return newest.Seq > version, nil
}

// last implements reader.
func (l *Log) last(ctx context.Context, subject events.Subject) (events.Stored, bool, error) {
	return l.oneOf(ctx, l.cfg.Name, query{LastFor: subject})
}

// oneOf returns the message of a stream that q asks for.
func (l *Log) oneOf(ctx context.Context, stream string, q query) (events.Stored, bool, error) {
	m, ok, err := oneOf(ctx, l.nc, l.cfg.Replicas, stream, q)
	return m.Stored, ok, err
}

// linked returns the event that q asks for, with the place of the one before.
func (l *Log) linked(ctx context.Context, q query) (linked, bool, error) {
	return oneOf(ctx, l.nc, l.cfg.Replicas, l.cfg.Name, q)
}

// oneOf returns the message of a stream that q asks for. On a replicated stream it asks the leader. One that stood still
// answers as it was, until it hears that it leads no more: what is decided on that is refused. A single server answers directly,
// which is quicker and just as fresh.
func oneOf(ctx context.Context, nc *nats.Conn, replicas int, stream string, q query) (found linked, ok bool, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return found, false, fmt.Errorf("read: %w", err)
	}
	ask, decode := "$JS.API.DIRECT.GET.", decodeDirect
	if replicas > 1 {
		ask, decode = "$JS.API.STREAM.MSG.GET.", decodeFromLeader
	}
	err = Persist(ctx, "read", func(ctx context.Context) error {
		m, err := request(ctx, nc, &nats.Msg{Subject: ask + stream, Data: body})
		if err == nil {
			found, ok, err = decode(m)
		}
		return err
	})
	return found, ok, err
}

// scan returns the events of a subject that one replica has. The server says how many messages there
// are, but leaves out those that it cannot read: then the error is a *eventlog.GapError.
func (l *Log) scan(ctx context.Context, subject events.Subject) ([]events.Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	inbox, answers := l.nc.NewInbox(), make(chan *nats.Msg, scanMessages+1)
	sub, err := l.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	var out []events.Stored
	var after events.Seq
	for pending := 0; ; {
		body, err := json.Marshal(query{Seq: after + 1, NextFor: subject, Batch: scanMessages, MaxBytes: scanBytes})
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		if err := l.nc.PublishRequest("$JS.API.DIRECT.GET."+l.cfg.Name, inbox, body); err != nil {
			return nil, err
		}
		page, left, err := scanAnswer(ctx, answers)
		switch {
		case err != nil:
			return nil, err
		case len(page) == 0 && pending > 0:
			return nil, &eventlog.GapError{}
		case len(page) == 0:
			return out, nil
		}
		out = append(out, page...)
		if left == 0 {
			return out, nil
		}
		after, pending = page[len(page)-1].Seq, left
	}
}

// scanAnswer collects one answer and returns how many more messages there are. answers must have room for all of it: a message
// that finds none is lost.
func scanAnswer(ctx context.Context, answers <-chan *nats.Msg) (page []events.Stored, left int, err error) {
	for {
		m, err := nextWithin(ctx, answers)
		if err != nil {
			return nil, 0, err
		}
		switch m.Header.Get("Status") {
		case "":
			s, _, err := decodeDirect(m)
			if err != nil {
				return nil, 0, err
			}
			page = append(page, s.Stored)
		case "404":
			return nil, 0, nil
		case "204": // the end of this answer
			left, err := strconv.Atoi(m.Header.Get("Nats-Num-Pending"))
			if err != nil {
				return nil, 0, fmt.Errorf("end of an answer: %w", err)
			}
			return page, left, nil
		default:
			return nil, 0, statusError(m)
		}
	}
}

func nextWithin(ctx context.Context, answers <-chan *nats.Msg) (*nats.Msg, error) {
	late := time.NewTimer(tryTimeout)
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

// statusError turns a status message of the server into an error.
func statusError(m *nats.Msg) error {
	status, text := m.Header.Get("Status"), m.Header.Get("Description")
	switch {
	case status == "503":
		return nats.ErrNoResponders
	case status == "408" && strings.Contains(text, "Timeout"), status == "409", status == "429":
		return fmt.Errorf("%w: %s %s", ErrAgain, status, text)
	}
	return fmt.Errorf("the server answers %s %s", status, text)
}

// decodeDirect reads an answer to a direct get: the message itself, its place in headers.
func decodeDirect(m *nats.Msg) (linked, bool, error) {
	switch m.Header.Get("Status") {
	case "":
	case "404":
		return linked{}, false, nil
	default:
		return linked{}, false, statusError(m)
	}
	seq, err := strconv.ParseUint(set(m.Header, "Nats-Sequence"), 10, 64)
	if err != nil {
		return linked{}, false, fmt.Errorf("message without a sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, set(m.Header, "Nats-Time-Stamp"))
	if err != nil {
		return linked{}, false, fmt.Errorf("message %d without a time: %w", seq, err)
	}
	return link(Stored(events.Subject(set(m.Header, "Nats-Subject")), events.Seq(seq), at, m.Header, m.Data), m.Header), true, nil
}

// set returns a header that the server set: it comes after those that the message was stored with.
func set(h nats.Header, name string) string {
	all := h[name]
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// decodeFromLeader reads an answer of the stream's leader, which wraps the message in JSON.
func decodeFromLeader(m *nats.Msg) (linked, bool, error) {
	var answer struct {
		Error   *natsjs.APIError `json:"error"`
		Message *struct {
			Subject events.Subject `json:"subject"`
			Seq     events.Seq     `json:"seq"`
			Header  []byte         `json:"hdrs"`
			Data    []byte         `json:"data"`
			Time    time.Time      `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return linked{}, false, fmt.Errorf("read the leader's answer: %w", err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == codeNoMessage:
		return linked{}, false, nil
	case answer.Error != nil:
		return linked{}, false, answer.Error
	case answer.Message == nil:
		return linked{}, false, errors.New("the leader's answer holds no message")
	}
	var h nats.Header
	if len(answer.Message.Header) > 0 { // the output of jobs has no headers
		var err error
		if h, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return linked{}, false, fmt.Errorf("headers of message %d: %w", answer.Message.Seq, err)
		}
	}
	return link(Stored(answer.Message.Subject, answer.Message.Seq, answer.Message.Time, h, answer.Message.Data), h), true, nil
}

// Stored returns the event as it was written. Headers that begin with "Nats-" are for the server and no part of the
// event.
func Stored(subject events.Subject, seq events.Seq, at time.Time, h nats.Header, data []byte) events.Stored {
	header := make(map[string]string, 10)
	for k, v := range h {
		if len(v) > 0 && !strings.HasPrefix(k, "Nats-") {
			header[k] = v[0]
		}
	}
	return events.Stored{Seq: seq, Subject: subject, StoredAt: at.UTC(), Header: header, Data: data}
}
