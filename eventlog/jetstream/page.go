package jetstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// The bounds of a page.
const (
	pageMessages = 256
	pageBytes    = 1 << 20
)

// Page returns the events that follow a sequence, without a gap, as many as fit into a page; none at the end of the log. Unlike
// a cursor it holds nothing, so a reader may take its time. If the log does not have the next event, the error is a
// *eventlog.GapError.
func (l *Log) Page(ctx context.Context, after events.Seq) (page []events.Stored, err error) {
	head, err := l.Head(ctx)
	if err != nil || head.Last <= after {
		return nil, err
	}
	err = Persist(ctx, "read the log", func(ctx context.Context) error {
		page, err = l.page(ctx, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, s := range page {
		if s.Seq != after+events.Seq(i)+1 {
			page = page[:i]
			break
		}
	}
	if len(page) > 0 {
		return page, nil
	}
	// A replica may have a hole that the leader does not have.
	s, ok, err := l.EventAt(ctx, after+1)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &eventlog.GapError{Want: after + 1}
	}
	return []events.Stored{s}, nil
}

func (l *Log) page(ctx context.Context, after events.Seq) ([]events.Stored, error) {
	answers := make(chan *nats.Msg, pageMessages+1)
	sub, err := l.nc.ChanSubscribe(l.nc.NewInbox(), answers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	// The server says how many more there are. Of all subjects it knows that at once; of ours, which are all that the log has, it counts
	// in each block.
	body, err := json.Marshal(query{Seq: after + 1, NextFor: ">", Batch: pageMessages, MaxBytes: pageBytes})
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if err := l.nc.PublishRequest("$JS.API.DIRECT.GET."+l.cfg.Name, sub.Subject, body); err != nil {
		return nil, err
	}
	page, _, err := scanAnswer(ctx, answers)
	return page, err
}

// EventAt returns the event of a sequence; false if the log does not have it.
func (l *Log) EventAt(ctx context.Context, seq events.Seq) (events.Stored, bool, error) {
	return l.oneOf(ctx, l.cfg.Name, query{Seq: seq})
}
