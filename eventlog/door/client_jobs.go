package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/job"
)

const (
	// silence is how long after the end of a wait for a job its answer may come. After that the client takes the door
	// for dead.
	silence = 2 * time.Second
	// giveBack bounds the return of a job that arrived while its taker left.
	giveBack = 2 * time.Second
	// askAgain is the pause before asking again when no door answers.
	askAgain = 250 * time.Millisecond
)

// NextJob implements eventlog.Jobs. A request always waits at the door, so that a job is handed over as soon as it is
// stored.
func (c *Client) NextJob(ctx context.Context, lane events.Lane) (eventlog.Delivery, error) {
	if lane != c.lane {
		return nil, fmt.Errorf("next job of %s: %w", lane, ErrNotPermitted)
	}
	for {
		d, err := c.nextOnce(ctx)
		var notNow *job.Refusal
		switch {
		case d != nil:
			c.inHand.Store(d)
			return d, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("next job of %s: %w", lane, ctx.Err())
		case err == nil:
		case errors.As(err, &notNow):
			retry.Sleep(ctx, lookAgain)
		case errors.Is(err, ErrNotPermitted), errors.Is(err, ErrRevoked), errors.Is(err, ErrOutdated):
			return nil, fmt.Errorf("next job of %s: %w", lane, err)
		default:
			if failed := c.line.failed(); failed != nil {
				return nil, fmt.Errorf("next job of %s: %w", lane, failed)
			}
			retry.Sleep(ctx, askAgain)
		}
	}
}

// nextOnce asks once for a job. It returns nil and no error when there was none.
func (c *Client) nextOnce(ctx context.Context) (*delivery, error) {
	nc, err := c.line.conn()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(request{Version: version, After: events.Seq(c.seen.Load())})
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	answers := make(chan *nats.Msg, 1)
	sub, err := nc.ChanSubscribe(nc.NewInbox(), answers)
	if err != nil {
		return nil, c.line.explain(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := nc.PublishRequest(subject(string(c.name), verbNext), sub.Subject, data); err != nil {
		return nil, c.line.explain(err)
	}
	reconnected := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(reconnected)
	quiet := time.NewTimer(waitForJob + silence)
	defer quiet.Stop()
	select {
	case m := <-answers:
		return c.delivered(ctx, m)
	case <-quiet.C:
		return nil, fmt.Errorf("%w: the door fell silent", jetstream.ErrAgain)
	case <-reconnected: // the server forgot the request with the connection
		return nil, fmt.Errorf("%w: reconnected", jetstream.ErrAgain)
	case <-ctx.Done():
		c.leave(nc, answers)
		return nil, ctx.Err()
	}
}

// leave ends the wait at the door. It gives back at once a job that is just on its way; otherwise the lane would stand
// still until the job is delivered again.
func (c *Client) leave(nc *nats.Conn, answers <-chan *nats.Msg) {
	ctx, cancel := context.WithTimeout(context.Background(), giveBack)
	defer cancel()
	data, err := json.Marshal(request{Version: version})
	if err != nil || nc.Publish(subject(string(c.name), verbLeave), data) != nil {
		return // the connection is gone, and the wait ends by itself
	}
	select {
	case m := <-answers:
		if d, err := c.delivered(ctx, m); err == nil && d != nil {
			_ = d.Nak(ctx, 0) // if it is lost, the job comes again after the wait
		}
	case <-ctx.Done():
	}
}

// delivered reads the answer to a request for a job.
func (c *Client) delivered(ctx context.Context, m *nats.Msg) (*delivery, error) {
	if m.Header.Get("Status") == "503" {
		return nil, nats.ErrNoResponders
	}
	var a answer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return nil, fmt.Errorf("the door answers %.64q: %w", m.Data, err)
	}
	if err := c.hear(ctx, a); err != nil || a.Event == nil {
		return nil, err
	}
	return &delivery{c: c, token: a.Delivery, stored: a.Event.stored()}, nil
}

// delivery implements eventlog.Delivery.
type delivery struct {
	c      *Client
	token  string
	stored events.Stored
	// over says that the door ended the delivery when it stored the end of the job.
	over atomic.Bool
}

// Stored implements eventlog.Delivery.
func (d *delivery) Stored() events.Stored { return d.stored }

// InProgress implements eventlog.Delivery.
func (d *delivery) InProgress(ctx context.Context) error { return d.tell(ctx, prolonged, 0) }

// Ack implements eventlog.Delivery.
func (d *delivery) Ack(ctx context.Context) error {
	if d.over.Load() {
		return nil
	}
	return d.tell(ctx, ended, 0)
}

// Nak implements eventlog.Delivery.
func (d *delivery) Nak(ctx context.Context, delay time.Duration) error {
	return d.tell(ctx, givenBack, delay)
}

func (d *delivery) tell(ctx context.Context, what settlement, delay time.Duration) error {
	_, err := d.c.ask(ctx, fmt.Sprintf("say that job event %d is %s", d.stored.Seq, what), verbAnswer,
		request{Delivery: d.token, What: what, Delay: delay}, answerWithin)
	return err
}

// Claim implements eventlog.Presence.
func (c *Client) Claim(ctx context.Context, b eventlog.Beat, replaces string) (eventlog.Beat, error) {
	a, err := c.ask(ctx, "claim the name "+string(b.Name), verbBeat, request{Claim: true, Beat: &b, Replaces: replaces}, answerWithin)
	if a.Holder == nil {
		return eventlog.Beat{}, err
	}
	return *a.Holder, err
}

// Beat implements eventlog.Presence.
func (c *Client) Beat(ctx context.Context, b eventlog.Beat) (eventlog.News, error) {
	a, err := c.ask(ctx, "heartbeat of "+string(b.Name), verbBeat, request{Beat: &b}, answerWithin)
	return a.News, err
}

// Release implements eventlog.Presence.
func (c *Client) Release(ctx context.Context, b eventlog.Beat) error {
	_, err := c.ask(ctx, "release the name "+string(b.Name), verbBeat, request{Release: true, Beat: &b}, answerWithin)
	return err
}

// WriteLog implements eventlog.JobLogWriter.
func (c *Client) WriteLog(ctx context.Context, lane events.Lane, chunk eventlog.LogChunk) error {
	if lane != c.lane {
		return fmt.Errorf("log of job %s on %s: %w", chunk.JobID, lane, ErrNotPermitted)
	}
	_, err := c.ask(ctx, "log of job "+string(chunk.JobID), verbOutput, request{Output: &chunk}, answerWithin)
	return err
}
