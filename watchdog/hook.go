package watchdog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

const (
	// postTimeout bounds one post; pauses between posts that fail grow up to maxPause.
	postTimeout = 10 * time.Second
	firstPause  = time.Second
	maxPause    = time.Minute
	// saveEvery is how many events without an alert are read before the place is saved.
	saveEvery = 10_000
)

// hookBatch is how many events are read from the log at once.
const hookBatch = 1000

// fatal reports whether an error of reading the log is not worth retrying.
func fatal(err error) bool {
	var gap *eventlog.GapError
	return errors.As(err, &gap) || errors.Is(err, events.ErrUnknownType)
}

// Hook posts every alert that is raised or cleared, by whatever part, to a URL. It posts in the order of the log, and
// each one again and again until the receiver answers 2xx. It keeps its own place in the log in a file: what was raised
// while it did not run is delivered later. What was raised before its first start is never delivered.
type Hook struct {
	// URL is where to post. It may hold a token, and is never logged.
	URL string
	// Link is the address of the pages, for the reader of the message; may be empty.
	Link string
	// Place is the file that holds how far the hook has come.
	Place string

	urgent chan Notice
	// timeout bounds one post; pause is the pause after the first failed post.
	timeout, pause time.Duration
}

// NewHook returns a hook that posts to a URL and keeps in the file place how far it has come.
func NewHook(url, link, place string) *Hook {
	return &Hook{URL: url, Link: link, Place: place, urgent: make(chan Notice, 1), timeout: postTimeout, pause: firstPause}
}

// Notice is what the hook posts, as JSON.
type Notice struct {
	Key     events.AlertKey  `json:"key"`
	Kind    events.AlertKind `json:"kind"`
	About   string           `json:"about"`
	Message string           `json:"message"`
	Action  string           `json:"action"`
	// State is "raised" or "cleared"; Reason says why it was cleared.
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
	// Seq is the event in the log; 0 if the log does not have it yet.
	Seq events.Seq `json:"seq"`
	URL string     `json:"url,omitempty"`
}

func newNotice(a events.AlertRaised, at time.Time) Notice {
	return Notice{Key: a.Key, Kind: a.Kind, About: a.About, Message: a.Message, Action: a.Action, State: "raised", Time: at.UTC()}
}

// tell posts a notice that is not in the log, as soon as possible. A nil hook does nothing.
func (h *Hook) tell(n Notice) {
	if h == nil {
		return
	}
	select {
	case h.urgent <- n:
	default: // one about the same waits already
	}
}

// delivery posts notices for one run.
type delivery struct {
	*Hook
	log     eventlog.Log
	logger  *slog.Logger
	metrics *Metrics
	place   place
	// reader recognises litter.
	reader events.Reader
	// logged carries the notices of the log in order. A notice without key only says how far the log was read.
	logged chan Notice
}

func (h *Hook) run(ctx context.Context, log eventlog.Log, logger *slog.Logger, metrics *Metrics) error {
	d := &delivery{Hook: h, log: log, logger: logger, metrics: metrics, logged: make(chan Notice)}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return d.read(running) })
	g.Go(func() error { return d.deliver(running) })
	if err := g.Wait(); err != nil && (ctx.Err() == nil || fatal(err)) {
		return fmt.Errorf("webhook of alerts: %w", err)
	}
	return nil
}

// read passes on the alerts of the log behind the saved place.
func (d *delivery) read(ctx context.Context) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	after := d.place.Seq
	for {
		err := d.readAfter(ctx, &after)
		if ctx.Err() != nil {
			return nil
		}
		if fatal(err) {
			return err
		}
		d.logger.WarnContext(ctx, "the log cannot be followed for the webhook of alerts, trying again", "error", err)
		retry.Sleep(ctx, firstPause)
	}
}

// begin finds the place to start from: the saved one, or the end of the log at the first start and for
// another log.
func (d *delivery) begin(ctx context.Context) error {
	kept, err := readPlace(d.Place)
	if err != nil {
		return err
	}
	var head eventlog.Head
	err = d.again(ctx, "ask for the head of the log", func() error {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		head, err = d.log.Head(asking)
		return err
	})
	if err != nil {
		return err
	}
	if d.place = kept; kept.Identity == head.Identity {
		return nil
	}
	d.place = place{Identity: head.Identity, Seq: head.Last}
	return d.place.write(d.Place)
}

func (d *delivery) readAfter(ctx context.Context, after *events.Seq) error {
	cursor, err := d.log.Follow(ctx, *after)
	if err != nil {
		return err
	}
	defer cursor.Close()
	for {
		stored, err := cursor.Next(ctx, hookBatch)
		if err != nil {
			return err
		}
		for _, m := range stored {
			notices, err := d.notices(ctx, m)
			if err != nil {
				return err
			}
			for _, n := range notices {
				select {
				case d.logged <- n:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			*after = m.Seq
		}
	}
}

// notices returns what to post for an event.
func (d *delivery) notices(ctx context.Context, m events.Stored) ([]Notice, error) {
	if m.Subject.Family() != "alert" {
		if m.Seq%saveEvery == 0 {
			return []Notice{{Seq: m.Seq}}, nil
		}
		return nil, nil
	}
	e, litter, err := d.reader.Understand(m)
	if err != nil || litter != "" {
		return nil, err
	}
	// The aggregate has only these two facts.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.AlertRaised:
		n := newNotice(f, e.Time)
		n.Seq = e.Seq
		return []Notice{n}, nil
	case events.AlertCleared:
		n, err := d.cleared(ctx, f, e)
		return []Notice{n}, err
	}
	return nil, nil
}

// cleared returns the notice for an alert that is over. The event has only the key, so the rest is read from the log.
func (d *delivery) cleared(ctx context.Context, f events.AlertCleared, e events.Recorded) (Notice, error) {
	n := Notice{Key: f.Key}
	history, err := d.log.Read(ctx, f.Subject())
	if err != nil {
		return n, err
	}
	for _, h := range history {
		if raised, ok := h.Fact.(events.AlertRaised); ok && h.Seq < e.Seq {
			n = newNotice(raised, e.Time)
		}
	}
	n.State, n.Reason, n.Time, n.Seq = "cleared", f.Reason, e.Time, e.Seq
	return n, nil
}

// deliver posts one notice after the other.
func (d *delivery) deliver(ctx context.Context) error {
	for {
		var n Notice
		select {
		case n = <-d.urgent:
		case n = <-d.logged:
		case <-ctx.Done():
			return nil
		}
		if n.Key != "" {
			if err := d.again(ctx, "post to the webhook of alerts", func() error { return d.post(ctx, n) }); err != nil {
				return err
			}
		}
		if n.Seq == 0 {
			continue
		}
		d.place.Seq = n.Seq
		if err := d.place.write(d.Place); err != nil { // after a restart this may be delivered twice
			d.logger.WarnContext(ctx, "the webhook of alerts cannot keep its place", "error", err)
		}
	}
}

// again calls f until it succeeds or ctx ends.
func (d *delivery) again(ctx context.Context, what string, f func() error) error {
	pause := retry.Pauses(d.pause, maxPause)
	return backoff.RetryNotify(f, backoff.WithContext(pause, ctx), func(err error, pause time.Duration) {
		if ctx.Err() == nil {
			d.logger.WarnContext(ctx, "trying again", "what", what, "error", err, "pause", pause)
		}
	})
}

func (d *delivery) post(ctx context.Context, n Notice) error {
	n.URL = d.Link
	body, err := json.Marshal(n)
	if err != nil {
		return backoff.Permanent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(errors.New("the URL of the webhook cannot be used")) // err would show it
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tacho-watchdog")
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // lets the connection be used again
		err = resp.Body.Close()
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			err = fmt.Errorf("it answers %s", resp.Status)
		}
	}
	var shown *url.Error
	if errors.As(err, &shown) {
		err = shown.Err // without the URL, which may hold a token
	}
	if err != nil {
		d.metrics.posts.WithLabelValues("failed").Inc()
		return err
	}
	d.metrics.posts.WithLabelValues("delivered").Inc()
	return nil
}
