package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// The server finds the next event of a subject by looking through all blocks of the log between it and the one before, and reads them
// from the disk. Nobody appends meanwhile. So nothing here asks it for events that lie far apart: each event names the one before it,
// since its append expected that.

// near is how many events the server may pass to find those of a subject, however large they are.
const near = 1000

// apart is how many events of others lie between two of a subject, on average, when it is better to go from one to the next.
const apart = 200

// linked is an event with the place where the one before of its subject has to be; 0 if it is the first one.
type linked struct {
	events.Stored
	before events.Seq
}

// link adds what the append expected. Of a batch only the first event of a subject says so; the others lie behind one another. A
// stranger's event may say nothing of its own subject either, and have another one before it.
func link(s events.Stored, h nats.Header) linked {
	n, err := strconv.ParseUint(h.Get(headerExpected), 10, 64)
	if err != nil || events.Seq(n) >= s.Seq || h.Get(headerExpectedOf) != "" {
		return linked{s, s.Seq - 1}
	}
	return linked{s, events.Seq(n)}
}

// ExpectedBefore adds to the headers of an event, as they are on the wire, what its append would have expected, unless they say it.
func ExpectedBefore(wire []byte, before events.Seq) []byte {
	end := []byte("\r\n")
	if !bytes.HasSuffix(wire, end) || bytes.Contains(wire, []byte(headerExpected)) {
		return wire
	}
	return fmt.Appendf(bytes.Clone(bytes.TrimSuffix(wire, end)), "%s: %d\r\n\r\n", headerExpected, before)
}

// errUnlinked says that the events of a subject do not lead from one to the next, or that they are too many to go that way.
var errUnlinked = errors.New("the events of a subject do not lead back")

// previous returns the event before one of its subject. There must be one.
func (l *Log) previous(ctx context.Context, of linked) (linked, error) {
	p, ok, err := l.linked(ctx, query{Seq: of.before})
	if err == nil && (!ok || p.Seq != of.before || p.Subject != of.Subject) {
		err = fmt.Errorf("event %d before event %d: %w", of.before, of.Seq, errUnlinked)
	}
	return p, err
}

// aggregate returns the events of a subject, in order.
func (l *Log) aggregate(ctx context.Context, subject events.Subject) ([]events.Stored, error) {
	newest, ok, err := l.linked(ctx, query{LastFor: subject})
	switch {
	case err != nil || !ok:
		return nil, err
	case newest.before == 0:
		return []events.Stored{newest.Stored}, nil
	}
	oldest, ok, err := l.first(ctx, subject, 0)
	if err != nil {
		return nil, err
	}
	if ok {
		if out, err := l.back(ctx, newest, oldest.Seq-1); !errors.Is(err, errUnlinked) {
			return out, err
		}
	}
	return l.scanned(ctx, subject)
}

// back returns the events of a subject after a sequence up to one of them, in order. The error is errUnlinked where it is for the server
// to find them.
func (l *Log) back(ctx context.Context, newest linked, after events.Seq) (out []events.Stored, err error) {
	span := newest.Seq - after
	if span <= near {
		return nil, errUnlinked
	}
	at := newest
	for out = append(out, at.Stored); at.before > after; out = append(out, at.Stored) {
		if events.Seq(len(out))*apart > span {
			return nil, errUnlinked
		}
		if at, err = l.previous(ctx, at); err != nil {
			return nil, err
		}
	}
	slices.Reverse(out)
	return out, nil
}

// scanned returns the events of a subject as the server finds them. Most come from any replica, which may lag or have a hole.
// On a replicated stream the leader's count shows that, and the leader gives the rest.
func (l *Log) scanned(ctx context.Context, subject events.Subject) (out []events.Stored, err error) {
	err = Persist(ctx, "read", func(ctx context.Context) (err error) {
		out, err = l.scan(ctx, subject)
		return err
	})
	gap := new(eventlog.GapError)
	if err != nil && !errors.As(err, &gap) || l.cfg.Replicas == 1 {
		return out, err
	}
	if err != nil {
		out = nil // the leader may have what this replica lacks
	}
	if out, err = l.fromLeader(ctx, subject, out); err != nil {
		return out, err
	}
	info, err := l.info(ctx, natsjs.WithSubjectFilter(string(subject)))
	if err != nil {
		return nil, err
	}
	// Events appended after the count may be in out, but out has fewer than the count only if some are lost.
	if count := info.State.Subjects[string(subject)]; count > uint64(len(out)) {
		if out, err = l.fromLeader(ctx, subject, nil); err != nil {
			return nil, err
		}
		if count > uint64(len(out)) {
			return nil, &eventlog.GapError{}
		}
	}
	return out, nil
}

// fromLeader reads the rest of a subject from the leader, one by one.
func (l *Log) fromLeader(ctx context.Context, subject events.Subject, out []events.Stored) ([]events.Stored, error) {
	for {
		var after events.Seq
		if len(out) > 0 {
			after = out[len(out)-1].Seq
		}
		next, ok, err := l.oneOf(ctx, l.cfg.Name, query{Seq: after + 1, NextFor: subject})
		if err != nil || !ok {
			return out, err
		}
		out = append(out, next)
	}
}

// first implements reader.
func (l *Log) first(ctx context.Context, subject events.Subject, after events.Seq) (events.Stored, bool, error) {
	if after > 0 {
		newest, ok, err := l.linked(ctx, query{LastFor: subject})
		if err != nil || !ok || newest.Seq <= after {
			return events.Stored{}, false, err
		}
		switch out, err := l.back(ctx, newest, after); {
		case err == nil:
			return out[0], true, nil
		case !errors.Is(err, errUnlinked):
			return events.Stored{}, false, err
		}
	}
	return l.oneOf(ctx, l.cfg.Name, query{Seq: after + 1, NextFor: subject})
}
