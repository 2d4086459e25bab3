package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/readmodel"
)

// StreamStart is the first message of a stream of events. The events of the stream come after Seq.
type StreamStart struct {
	Seq events.Seq `json:"seq"`
}

const (
	// reconnectFor is how long FollowEvents tries to reach the server again after a stream broke.
	reconnectFor = time.Minute
	// maxLine bounds one line of a stream: the largest event and its envelope.
	maxLine = 64 << 20
)

// OutputState says whether the output of a job is all there.
type OutputState string

// The states of the output of a job that has ended. Gaps are where the log has dropped old output.
const (
	OutputComplete OutputState = "complete"
	OutputComing   OutputState = "still coming"
	OutputGaps     OutputState = "gaps"
)

// OutputTrailer is the trailer with the OutputState, behind the output itself.
const OutputTrailer = "Tacho-Output"

// JobLog writes the output of a job to w. With follow it continues until the job ends. It returns whether that is all; an
// empty state if the job has not ended, or its end does not tell.
func (c *Client) JobLog(ctx context.Context, id events.JobID, follow bool, w io.Writer) (OutputState, error) {
	query := url.Values{}
	if follow {
		query.Set("follow", "1")
	}
	trailer, err := c.copyText(ctx, "jobs/"+url.PathEscape(string(id))+"/log", query, w)
	return OutputState(trailer.Get(OutputTrailer)), err
}

// JobOutput writes what a job stored under a name to w: a tar file. What was written before an error is worth nothing.
func (c *Client) JobOutput(ctx context.Context, id events.JobID, name string, w io.Writer) error {
	_, err := c.copyText(ctx, "jobs/"+url.PathEscape(string(id))+"/outputs/"+url.PathEscape(name), nil, w)
	return err
}

// FollowEvents calls f with each event that q selects, in order, as they come, until ctx ends or f returns an
// error. A nil q.After begins with new events. A stream that breaks is resumed where it was, if the server
// comes back within a minute.
func (c *Client) FollowEvents(ctx context.Context, q EventQuery, f func(readmodel.Event) error) error {
	wait := retry.Pauses(100*time.Millisecond, 5*time.Second)
	wait.MaxElapsedTime = reconnectFor
	connected := false
	pace := &obliging{BackOff: wait}
	follow := func() error {
		resp, err := c.call(ctx, http.MethodGet, "events/stream", q.values(), nil)
		if err != nil {
			if connected && passing(err) {
				pace.oblige(err)
				return err
			}
			return backoff.Permanent(err)
		}
		defer resp.Body.Close()
		connected = true
		defer wait.Reset() // the minute counts from when the stream broke
		return scan(resp.Body, func(m message) error {
			if m.name == "start" {
				return began(&q, m.data)
			}
			if m.name != "event" {
				return nil
			}
			var e readmodel.Event
			if err := json.Unmarshal([]byte(m.data), &e); err != nil {
				return backoff.Permanent(fmt.Errorf("follow events: %w", err))
			}
			if err := f(e); err != nil {
				return backoff.Permanent(err)
			}
			q.After = &e.Seq
			return nil
		})
	}
	err := backoff.RetryNotify(follow, backoff.WithContext(pace, ctx), func(err error, pause time.Duration) {
		if c.Waits != nil && ctx.Err() == nil {
			c.Waits(err, pause)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// obliging waits at least as long as the server asked for.
type obliging struct {
	backoff.BackOff
	least time.Duration
}

func (o *obliging) oblige(err error) {
	var no *Error
	if errors.As(err, &no) {
		o.least = no.RetryAfter
	}
}

// NextBackOff implements backoff.BackOff.
func (o *obliging) NextBackOff() time.Duration {
	next := o.BackOff.NextBackOff()
	if next != backoff.Stop {
		next = max(next, o.least)
	}
	o.least = 0
	return next
}

// began notes where a stream of new events begins, so that nothing is lost if it breaks before the first event.
func began(q *EventQuery, data string) error {
	var start StreamStart
	if err := json.Unmarshal([]byte(data), &start); err != nil {
		return backoff.Permanent(fmt.Errorf("follow events: %w", err))
	}
	if q.After == nil {
		q.After = &start.Seq
	}
	return nil
}

// message is one message of a stream of server-sent events.
type message struct{ name, data string }

// scan reads messages until f returns an error or the stream ends. The end is an error too: streams have no end
// of their own.
func scan(r io.Reader, f func(message) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	var m message
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if m.data != "" {
				if err := f(m); err != nil {
					return err
				}
			}
			m = message{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			m.name = value
		case "data":
			if m.data != "" {
				m.data += "\n"
			}
			m.data += value
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the stream broke: %w", err)
	}
	return errors.New("the server ended the stream")
}
