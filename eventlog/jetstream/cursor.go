package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

const (
	// pullMessages and pullBytes are how much a cursor asks for in advance. keepMessages and keepBytes are how much it
	// buffers before it makes the server wait.
	pullMessages, keepMessages = 4000, 8000
	pullBytes, keepBytes       = 32 << 20, 32 << 20
	// idleCheck is how often a cursor checks that the log is still the one that it read. It also checks after each
	// reconnection.
	idleCheck = 30 * time.Second
	// lagPatience is how long a new leader of a cluster may be behind the previous one.
	lagPatience = 5 * time.Second
	// resyncs bounds how often in a row a cursor starts again at the same place.
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
	c := &cursor{log: l, identity: head.Identity, at: after, seen: seen{at: after}, ready: make(chan struct{}, 1), cancel: cancel}
	c.room.L = &c.mu
	if err := c.start(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("follow the log after %d: %w", after, err)
	}
	c.watching.Go(func() { c.watch(run) })
	return c, nil
}

// cursor follows the log with an ordered consumer, which survives reconnections by itself. A callback puts its messages
// into a buffer, and Next converts them.
type cursor struct {
	log      *Log
	identity string
	cancel   context.CancelFunc
	watching sync.WaitGroup

	// at is the place of the last event that Next returned, source the consumer that it came from. tries counts the
	// resyncs since. Only Next uses them.
	at     events.Seq
	source string
	tries  int

	ready chan struct{} // has a token when Next should look at the buffer

	mu       sync.Mutex
	room     sync.Cond // signals that the buffer got smaller, or that the consumer changed
	buffer   []natsjs.Msg
	bytes    int
	consumer natsjs.ConsumeContext
	// run numbers the consumers. A callback of an old one is ignored.
	run    int
	seen   seen
	broken error // ends the cursor once the buffer is empty
}

// seen is the last event that Next returned, or, without an id, where the cursor began.
type seen struct {
	at events.Seq
	id string
}

// start begins a new consumer after the last event that Next returned. It drops the messages of an old one.
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

// take puts a message into the buffer. It waits while the buffer is full, which makes the server wait.
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
		run, batch, err := c.peek(limit)
		if err != nil {
			return nil, err
		}
		out, used, err := c.convert(ctx, batch)
		c.drop(run, batch[:used])
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

// peek returns up to limit messages of the buffer and leaves them there.
func (c *cursor) peek(limit int) (run int, batch []natsjs.Msg, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.buffer) == 0 {
		return c.run, nil, c.broken
	}
	n := min(limit, len(c.buffer))
	return c.run, c.buffer[:n:n], nil
}

// drop removes the first messages from the buffer, if it is still that of the run.
func (c *cursor) drop(run int, used []natsjs.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(used) == 0 || run != c.run {
		return
	}
	for _, m := range used {
		c.bytes -= len(m.Data())
	}
	if c.buffer = c.buffer[len(used):]; len(c.buffer) == 0 {
		c.buffer = nil
	} else {
		c.wake()
	}
	c.room.Broadcast()
}

// convert checks that the messages continue the earlier ones, and returns how many it used. It stops before a break. If
// the first message is a break, it examines that.
//
// A message of another consumer is a break: the server, or the leader of the stream, has changed in between, and may
// have lost events and given out their sequences again. convert compares the log with what was read before it returns
// more.
func (c *cursor) convert(ctx context.Context, batch []natsjs.Msg) (out []events.Stored, used int, err error) {
	out = make([]events.Stored, 0, len(batch))
	for _, m := range batch {
		place, err := parseReply(m.Reply())
		if err != nil {
			return nil, used, err
		}
		if place.seq <= c.at {
			used++
			continue
		}
		if place.consumer != c.source || place.seq != c.at+1 {
			if len(out) > 0 {
				break
			}
			if place.consumer != c.source {
				err = c.check(ctx)
				c.source = place.consumer
			}
			if err == nil && place.seq != c.at+1 {
				return nil, used, c.resync(ctx, place.seq)
			}
			if err != nil {
				c.source = ""
				return nil, used, err
			}
		}
		out = append(out, Stored(events.Subject(m.Subject()), place.seq, place.at, m.Headers(), m.Data()))
		c.at = place.seq
		used++
	}
	if n := len(out); n > 0 {
		c.tries = 0
		c.mu.Lock()
		c.seen = seen{at: c.at, id: out[n-1].Header[events.HeaderID]}
		c.mu.Unlock()
	}
	return out, used, nil
}

// resync finds out why event got came instead of the next one. If the log has the next one, only its delivery failed (a
// replica with a hole, a consumer that was replaced while its message was on the way): then a new consumer begins
// there. If not, the log has a gap.
func (c *cursor) resync(ctx context.Context, got events.Seq) error {
	gap := &eventlog.GapError{Want: c.at + 1, Got: got}
	c.tries++
	_, there, err := c.log.oneOf(ctx, c.log.cfg.Name, query{Seq: c.at + 1})
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
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

// watch breaks the cursor when the log is no longer the one that it read, and when the connection is closed for good.
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
		if gap := new(eventlog.GapError); errors.As(c.check(ctx), &gap) {
			c.fail(fmt.Errorf("follow the log: %w", gap))
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

// check compares the log with what the cursor read: the same stream, at least as long, and with the same event at the
// last place. Otherwise the error is a *eventlog.GapError. Other errors mean that it could not check now.
func (c *cursor) check(ctx context.Context) error {
	c.mu.Lock()
	last := c.seen
	c.mu.Unlock()
	ok, err := c.log.still(ctx, eventlog.Head{Identity: c.identity, Last: last.at})
	if err == nil && ok && last.id != "" {
		var s events.Stored
		if s, ok, err = c.log.oneOf(ctx, c.log.cfg.Name, query{Seq: last.at}); ok {
			ok = s.Header[events.HeaderID] == last.id
		}
	}
	if err == nil && !ok {
		err = &eventlog.GapError{Want: last.at}
	}
	return err
}

// still reports whether the log is the same as before and at least as long. On a cluster it gives a new leader a moment
// to catch up.
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
