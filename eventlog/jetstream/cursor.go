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
	"github.com/tachobench/tacho/internal/retry"
)

const (
	// pullMessages and pullBytes are how much a cursor asks for in advance. keepMessages and keepBytes are how much it
	// buffers before it makes the server wait.
	pullMessages, keepMessages = 4000, 8000
	pullBytes, keepBytes       = 32 << 20, 32 << 20
	// idleCheck is how often a cursor checks that the log is still the one that it read. It also checks after each
	// reconnection.
	idleCheck = 30 * time.Second
	// doubts is how often an event must be missing before that is believed, and doubtPause is the pause between two looks.
	doubts     = 20
	doubtPause = 250 * time.Millisecond
	// beatEvery is how often a server of a cluster says that it still serves a cursor. After two of them are missing, the cursor is
	// made anew: the node that kept it may be gone. A single server has no such end without an end of the connection.
	beatEvery, soleBeatEvery = 1500 * time.Millisecond, 5 * time.Second
	// startWithin bounds one try to make a consumer, and renewPause is the pause before the next one. A cluster without a leader
	// answers nothing.
	startWithin = 2 * time.Second
	renewPause  = 250 * time.Millisecond
	// resyncs bounds how often in a row a cursor starts again at the same place.
	resyncs = 3
)

// Follow implements eventlog.Log.
func (l *Log) Follow(ctx context.Context, after events.Seq) (eventlog.Cursor, error) {
	head, err := eventlog.HeadAt(ctx, l, after)
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

// cursor follows the log with a consumer that lives in the memory of one server. A callback puts its messages into a buffer,
// and Next converts them. When the consumer may be gone, or may have lost messages (the server fell silent, the leader
// changed, we reconnected), Next makes a new one after the last event that it returned. The client's own ordered consumer does
// the same, but waits up to 20 s for a cluster that elects a leader.
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
	run int
	// stale is set when the consumer must be replaced.
	stale  bool
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
	run := c.stop()
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	made, err := c.log.js.CreateConsumer(ctx, c.log.cfg.Name, natsjs.ConsumerConfig{
		DeliverPolicy: natsjs.DeliverByStartSequencePolicy, OptStartSeq: uint64(c.at) + 1, AckPolicy: natsjs.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		c.doubtRun(run)
		return err
	}
	beat := beatEvery
	if c.log.cfg.Replicas == 1 {
		beat = soleBeatEvery
	}
	consumer, err := made.Consume(func(m natsjs.Msg) { c.take(run, m) }, natsjs.PullMaxMessagesWithBytesLimit(pullMessages, pullBytes),
		natsjs.PullHeartbeat(beat), natsjs.ConsumeErrHandler(func(natsjs.ConsumeContext, error) { c.doubtRun(run) }))
	if err != nil {
		c.doubtRun(run)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.consumer = consumer
	return nil
}

// stop ends the consumer and drops its messages. It returns the number of the next one.
func (c *cursor) stop() (run int) {
	c.mu.Lock()
	old := c.consumer
	c.run++
	c.consumer, c.buffer, c.bytes, c.stale = nil, nil, 0, false
	run = c.run
	c.room.Broadcast()
	c.mu.Unlock()
	if old != nil {
		old.Stop()
	}
	return run
}

// doubt notes that the consumer must be replaced.
func (c *cursor) doubt() {
	c.mu.Lock()
	run := c.run
	c.mu.Unlock()
	c.doubtRun(run)
}

// doubtRun is doubt about the consumer of that number, if it is still in use.
func (c *cursor) doubtRun(run int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if run == c.run {
		c.stale = true
		c.wake()
	}
}

// renew replaces a consumer in doubt, and tries until that succeeds, ctx ends, or it fails for good.
func (c *cursor) renew(ctx context.Context) error {
	for {
		c.mu.Lock()
		due := c.stale && c.broken == nil
		c.mu.Unlock()
		if !due {
			return nil
		}
		err := c.start(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("follow the log: %w: %w", eventlog.ErrUnavailable, err)
		case err != nil && !transient(err):
			return fmt.Errorf("follow the log: %w", err)
		}
		if err != nil && !retry.Sleep(ctx, renewPause) {
			return ctx.Err()
		}
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
		if err := c.renew(ctx); err != nil {
			return nil, err
		}
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
	there, err := c.log.holds(ctx, c.at+1, "")
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	if !there || c.tries > resyncs {
		return gap
	}
	c.doubt()
	return nil
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
		case <-changed: // what was on its way to the old connection is lost
			c.doubt()
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
		ok, err = c.log.holds(ctx, last.at, last.id)
	}
	if err == nil && !ok {
		err = &eventlog.GapError{Want: last.at}
	}
	return err
}

// still reports whether the log is the same as before and at least as long.
func (l *Log) still(ctx context.Context, before eventlog.Head) (bool, error) {
	head, err := eventlog.HeadAt(ctx, l, before.Last)
	return err == nil && before.Identity == head.Identity && head.Last >= before.Last, err
}

// holds returns the event at a sequence at which there was one, with this id if it is known; false if it is not there. On a
// cluster a server that led the log and stood still may say so, too: it is asked again for a while.
func (l *Log) holds(ctx context.Context, seq events.Seq, id string) (bool, error) {
	for asked := 1; ; asked++ {
		s, ok, err := l.oneOf(ctx, l.cfg.Name, query{Seq: seq})
		ok = ok && s.Seq == seq && (id == "" || s.Header[events.HeaderID] == id)
		if err != nil || ok || l.cfg.Replicas == 1 || asked == doubts {
			return ok, err
		}
		if !retry.Sleep(ctx, doubtPause) {
			return false, ctx.Err()
		}
	}
}
