package jetstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

const (
	// pullMessages and pullBytes are how much a cursor asks for in advance; keepMessages and keepBytes how
	// much it keeps before it lets the server wait.
	pullMessages, keepMessages = 4000, 8000
	pullBytes, keepBytes       = 32 << 20, 32 << 20
	// idleCheck is how often a cursor looks whether the log is still the one that it read. It looks after
	// each reconnection too.
	idleCheck = 30 * time.Second
	// lagPatience is how long a new leader of a cluster may know less than the one before.
	lagPatience = 5 * time.Second
	// resyncs bounds how often in a row a cursor starts again at one place.
	resyncs = 3
)

// Follow implements eventlog.Log.
func (l *Log) Follow(ctx context.Context, after events.Seq) (eventlog.Cursor, error) {
	head, err := l.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("follow the log after %d: %w", after, err)
	}
	if after > head.Last {
		return nil, fmt.Errorf("follow the log after %d: %w", after, &eventlog.GapError{Want: after})
	}
	run, cancel := context.WithCancel(context.Background())
	c := &cursor{log: l, identity: head.Identity, at: after, ready: make(chan struct{}, 1), cancel: cancel}
	c.room.L = &c.mu
	if err := c.start(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("follow the log after %d: %w", after, err)
	}
	c.watching.Go(func() { c.watch(run) })
	return c, nil
}

// cursor follows the log with an ordered consumer, which survives reconnections by itself. Its messages
// are taken by a callback into a buffer and converted by whoever calls Next.
type cursor struct {
	log      *Log
	identity string
	cancel   context.CancelFunc
	watching sync.WaitGroup

	// at and lastID are the place and the id of the last event that Next gave; Next alone writes them.
	// tries counts the resyncs since.
	at     events.Seq
	lastID string
	tries  int

	ready chan struct{} // has a token when Next should look at the buffer

	mu       sync.Mutex
	room     sync.Cond // the buffer got smaller, or the consumer is another one
	buffer   []natsjs.Msg
	bytes    int
	consumer natsjs.ConsumeContext
	// run numbers the consumers; a callback of an old one is refused.
	run    int
	seen   seen
	broken error // ends the cursor once the buffer is empty
}

// seen is the last event that was given, for the watcher.
type seen struct {
	at events.Seq
	id string
}

// start begins a new consumer after the last event that was given. What an old one still holds is dropped.
func (c *cursor) start(ctx context.Context) error {
	c.stop()
	c.mu.Lock()
	run := c.run
	c.mu.Unlock()
	ordered, err := c.log.js.OrderedConsumer(ctx, c.log.cfg.Name, natsjs.OrderedConsumerConfig{
		DeliverPolicy: natsjs.DeliverByStartSequencePolicy, OptStartSeq: uint64(c.at) + 1,
	})
	if err != nil {
		return err
	}
	consumer, err := ordered.Consume(func(m natsjs.Msg) { c.take(run, m) }, natsjs.PullMaxMessagesWithBytesLimit(pullMessages, pullBytes))
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.consumer = consumer
	c.mu.Unlock()
	return nil
}

// stop ends the consumer and drops its messages.
func (c *cursor) stop() {
	c.mu.Lock()
	old := c.consumer
	c.run++
	c.consumer, c.buffer, c.bytes = nil, nil, 0
	c.room.Broadcast()
	c.mu.Unlock()
	if old != nil {
		old.Stop()
	}
}

// take puts a message into the buffer and waits while that is full, which lets the server wait.
func (c *cursor) take(run int, m natsjs.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for run == c.run && (len(c.buffer) >= keepMessages || c.bytes >= keepBytes) {
		c.room.Wait()
	}
	if run != c.run {
		return
	}
	c.buffer = append(c.buffer, m)
	c.bytes += len(m.Data())
	if len(c.buffer) == 1 {
		c.wake()
	}
}

func (c *cursor) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Next implements eventlog.Cursor.
func (c *cursor) Next(ctx context.Context, limit int) ([]events.Stored, error) {
	for {
		batch, err := c.grab(limit)
		if err != nil {
			return nil, err
		}
		out, err := c.convert(ctx, batch)
		if len(out) > 0 || err != nil {
			return out, err
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// grab takes up to limit messages out of the buffer.
func (c *cursor) grab(limit int) ([]natsjs.Msg, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.buffer) == 0 {
		return nil, c.broken
	}
	n := min(limit, len(c.buffer))
	batch := c.buffer[:n:n]
	c.buffer = c.buffer[n:]
	for _, m := range batch {
		c.bytes -= len(m.Data())
	}
	if len(c.buffer) == 0 {
		c.buffer = nil
	} else {
		c.wake()
	}
	c.room.Broadcast()
	return batch, nil
}

// convert checks that the messages continue what came before. Those before a break are given; the break
// itself is looked at when it comes first.
func (c *cursor) convert(ctx context.Context, batch []natsjs.Msg) ([]events.Stored, error) {
	out := make([]events.Stored, 0, len(batch))
	for _, m := range batch {
		seq, at, err := parseReply(m.Reply())
		if err != nil {
			return nil, err
		}
		if seq <= c.at {
			continue
		}
		if seq != c.at+1 {
			if len(out) > 0 {
				break
			}
			return nil, c.resync(ctx, seq)
		}
		out = append(out, stored(events.Subject(m.Subject()), seq, at, m.Headers(), m.Data()))
		c.at = seq
	}
	if n := len(out); n > 0 {
		c.lastID, c.tries = out[n-1].Header[events.HeaderID], 0
		c.mu.Lock()
		c.seen = seen{at: c.at, id: c.lastID}
		c.mu.Unlock()
	}
	return out, nil
}

// resync finds out why event got came in place of the next. If the log has the next one, only its
// delivery failed (a replica with a hole, a consumer that was replaced while its message was on the way),
// and a new consumer begins there. If not, the log has a gap.
func (c *cursor) resync(ctx context.Context, got events.Seq) error {
	gap := &eventlog.GapError{Want: c.at + 1, Got: got}
	c.tries++
	_, there, err := c.log.one(ctx, query{Seq: c.at + 1})
	if err != nil {
		return err
	}
	if !there || c.tries > resyncs {
		return gap
	}
	return c.start(ctx)
}

// Close implements eventlog.Cursor.
func (c *cursor) Close() {
	c.cancel()
	c.watching.Wait()
	c.stop()
}

// watch breaks the cursor when the log behind it is no longer the one that it read, and when the
// connection is closed for good.
func (c *cursor) watch(ctx context.Context) {
	changed := c.log.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer c.log.nc.RemoveStatusListener(changed)
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for {
		if c.log.nc.IsClosed() {
			c.fail(fmt.Errorf("follow the log: %w: %w", eventlog.ErrUnavailable, nats.ErrConnectionClosed))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-tick.C:
		}
		if err := c.check(ctx); err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *cursor) fail(err error) {
	c.mu.Lock()
	c.broken = err
	c.mu.Unlock()
	c.wake()
}

// check compares the log with what the cursor read: the same stream, at least as long, and with the same
// event at the last place. While the server cannot be reached there is nothing to say.
func (c *cursor) check(ctx context.Context) error {
	c.mu.Lock()
	last := c.seen
	c.mu.Unlock()
	ok, err := c.log.still(ctx, eventlog.Head{Identity: c.identity, Last: last.at})
	if err == nil && ok && last.at > 0 {
		var s events.Stored
		if s, ok, err = c.log.one(ctx, query{Seq: last.at}); ok {
			ok = s.Header[events.HeaderID] == last.id
		}
	}
	if err != nil || ok {
		return nil //nolint:nilerr // an unreachable log is no damaged log
	}
	return fmt.Errorf("follow the log: %w", &eventlog.GapError{Want: last.at})
}

// still reports whether the log is the one of before and at least as long. On a cluster a new leader
// gets a moment to catch up.
func (l *Log) still(ctx context.Context, before eventlog.Head) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lagPatience)
	defer cancel()
	for {
		head, err := l.Head(ctx)
		if err != nil {
			return false, err
		}
		if before.Identity != head.Identity {
			return false, nil
		}
		if head.Last >= before.Last {
			return true, nil
		}
		if l.cfg.Replicas == 1 {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}
