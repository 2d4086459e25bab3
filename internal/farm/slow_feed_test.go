package farm

import (
	"context"
	"slices"
	"sync"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// slowFeed shows as much of a log as it was told to.
type slowFeed struct {
	log []events.Stored

	mu    sync.Mutex
	shown int
	grown chan struct{}
}

// show shows the first events of the log.
func (f *slowFeed) show(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown = n
	close(f.grown)
	f.grown = make(chan struct{})
}

// Head implements projector.Source.
func (f *slowFeed) Head(context.Context) (eventlog.Head, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return eventlog.Head{Identity: "log", First: 1, Last: events.Seq(f.shown), Sole: true}, nil
}

// Parks implements projector.Source.
func (f *slowFeed) Parks(context.Context) (events.Parks, error) { return events.Parks{}, nil }

// Follow implements projector.Source.
func (f *slowFeed) Follow(_ context.Context, after events.Seq) (eventlog.Cursor, error) {
	return &slowCursor{f, int(after)}, nil
}

type slowCursor struct {
	feed *slowFeed
	at   int
}

// Next implements eventlog.Cursor.
func (c *slowCursor) Next(ctx context.Context, most int) ([]events.Stored, error) {
	for {
		c.feed.mu.Lock()
		shown, grown := c.feed.shown, c.feed.grown
		c.feed.mu.Unlock()
		if c.at < shown {
			from := c.at
			c.at = min(shown, from+most)
			return slices.Clone(c.feed.log[from:c.at]), nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close implements eventlog.Cursor.
func (c *slowCursor) Close() {}
