// Package posting posts what is in the log to a receiver at a URL: in order, at least once, from a place that it keeps.
//
//	log ──▶ read ──▶ Take: what to post ──▶ deliver, one after the other ──▶ receiver
//	                                              └──▶ place (a file)
//
// A receiver that fails gets the same post again and again, and later posts wait. The log keeps them, so nothing is
// lost, however long that takes. Each receiver has its own cursor and its own goroutines: none holds up another.
//
// What a crash means: before the receiver answered, or between its answer and the saving of the place, the post comes
// again after the next start. After the saving it does not. The first start begins at the end of the log.
package posting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

const (
	// Timeout bounds one post. FirstPause is the pause after the first failed post, and between tries to read the log.
	Timeout    = 10 * time.Second
	FirstPause = time.Second
	// askTimeout bounds one question to the log.
	askTimeout = 5 * time.Second
	// batch is how many events are read from the log at once.
	batch = 1000
	// saveEvery is how many events without a post are read before the place is saved.
	saveEvery = 10_000
)

// Post is one HTTP POST.
type Post struct {
	// Seq is the event that it tells of; 0 if the log does not have it yet. StoredAt is when the log stored it.
	Seq      events.Seq
	StoredAt time.Time
	// Header is sent besides the Content-Type, which is JSON, and the User-Agent.
	Header http.Header
	Body   []byte
}

// Config is what a Line needs.
type Config struct {
	// What names the receiver in messages, such as "the webhook of alerts".
	What string
	// URL is where to post. It may hold a token, and is never logged. Agent is the User-Agent.
	URL, Agent string
	// Place is the file that holds how far the receiver was told.
	Place string
	Log   eventlog.Follower
	// Take returns what to post for an event that is not parked; false for nothing. If it fails, the line reads the event
	// again.
	Take func(context.Context, events.Stored) (Post, bool, error)
	// Note takes the outcome of each post; nil is a success.
	Note func(context.Context, Post, error)
	// Newer is told of an event of a type that this program does not know, before which the line waits, and with nil that
	// it goes on. It may be nil.
	Newer func(*events.NewerError)
	// Timeout bounds one post; 0 means Timeout. Pauses after failed posts grow from FirstPause, or from that constant
	// if it is 0, up to MaxPause.
	Timeout, FirstPause, MaxPause time.Duration
	Logger                        *slog.Logger
}

// Line posts to one receiver. Run it once.
type Line struct {
	Config
	client *http.Client
	// place is how far the receiver was told. At first the goroutine that reads has it, then the one that delivers.
	place Place
	// logged carries the posts of the log in order. A post without body only says how far the log was read.
	logged chan Post
	urgent <-chan Post
	// waits says that the line waits before an event that is not understood. Only the goroutine that reads uses it.
	waits bool
}

// New returns a line. What comes from urgent, which may be nil, is posted as soon as possible.
func New(c Config, urgent <-chan Post) *Line {
	if c.Timeout == 0 {
		c.Timeout = Timeout
	}
	if c.FirstPause == 0 {
		c.FirstPause = FirstPause
	}
	if c.Newer == nil {
		c.Newer = func(*events.NewerError) {}
	}
	return &Line{Config: c, client: &http.Client{CheckRedirect: sameReceiver}, logged: make(chan Post), urgent: urgent}
}

// Run posts until ctx ends. It returns an error only when it cannot continue: the place cannot be read, or the log has a
// gap. Before an event that Take does not understand it waits until that is parked.
func (l *Line) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return l.read(running) })
	g.Go(func() error { return l.deliver(running) })
	if err := g.Wait(); err != nil && (ctx.Err() == nil || fatal(err)) {
		return fmt.Errorf("%s: %w", l.What, err)
	}
	return nil
}

// fatal reports whether an error of reading the log is not worth retrying.
func fatal(err error) bool {
	var gap *eventlog.GapError
	return errors.As(err, &gap)
}

// read passes on the posts of the log behind the saved place.
func (l *Line) read(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	after := l.place.Seq
	for {
		err := l.readAfter(ctx, &after)
		if ctx.Err() != nil {
			return nil
		}
		if fatal(err) {
			return err
		}
		l.Logger.WarnContext(ctx, "the log cannot be followed for a receiver of posts, trying again", "receiver", l.What, "error", err)
		retry.Sleep(ctx, FirstPause)
	}
}

// begin finds the place to start from: the saved one, or the end of the log at the first start and for another log.
func (l *Line) begin(ctx context.Context) error {
	kept, err := ReadPlace(l.Place)
	if err != nil {
		return err
	}
	var head eventlog.Head
	err = l.again(ctx, "ask for the head of the log", func() error {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		head, err = l.Log.Head(asking)
		return err
	})
	if err != nil {
		return err
	}
	if l.place = kept; kept.Identity == head.Identity {
		return nil
	}
	l.Logger.InfoContext(ctx, "a receiver is told of new events only", "receiver", l.What, "after", head.Last)
	l.place = Place{Identity: head.Identity, Seq: head.Last}
	return l.place.write(l.Place)
}

func (l *Line) readAfter(ctx context.Context, after *events.Seq) error {
	parks, err := l.Log.Parks(ctx)
	if err != nil {
		return err
	}
	cursor, err := l.Log.Follow(ctx, *after)
	if err != nil {
		return err
	}
	defer cursor.Close()
	for {
		stored, err := cursor.Next(ctx, batch)
		if err != nil {
			return err
		}
		for _, m := range stored {
			if m.Subject == events.ParkSubject() && m.Seq > parks.At {
				if parks, err = l.Log.Parks(ctx); err != nil {
					return err
				}
			}
			var p Post
			var ok bool
			if _, parked := parks.Of(m.Seq); !parked {
				p, ok, err = l.Take(ctx, m)
			}
			l.tellNewer(err)
			if err != nil {
				return err
			}
			if !ok && m.Seq%saveEvery == 0 {
				p, ok = Post{Seq: m.Seq}, true
			}
			if ok {
				select {
				case l.logged <- p:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			*after = m.Seq
		}
	}
}

// tellNewer tells whether the line waits before an event that is not understood.
func (l *Line) tellNewer(err error) {
	var newer *events.NewerError
	switch found := errors.As(err, &newer); {
	case found:
		l.waits = true
		l.Newer(newer)
	case l.waits && err == nil:
		l.waits = false
		l.Newer(nil)
	}
}

// deliver posts one after the other.
func (l *Line) deliver(ctx context.Context) error {
	for {
		var p Post
		select {
		case p = <-l.urgent:
		case p = <-l.logged:
		case <-ctx.Done():
			return nil
		}
		if p.Body != nil {
			if err := l.again(ctx, "post to "+l.What, func() error { return l.try(ctx, p) }); err != nil {
				return err
			}
		}
		if p.Seq == 0 {
			continue
		}
		l.place.Seq = p.Seq
		if err := l.place.write(l.Place); err != nil { // after a restart this may be delivered twice
			l.Logger.WarnContext(ctx, "a receiver of posts cannot keep its place", "receiver", l.What, "error", err)
		}
	}
}

// try posts once, and tells of the outcome. It tells of no outcome if ctx has ended.
func (l *Line) try(ctx context.Context, p Post) error {
	err := l.post(ctx, p)
	if err == nil || ctx.Err() == nil {
		l.Note(ctx, p, err)
	}
	return err
}

// again calls f until it succeeds or ctx ends.
func (l *Line) again(ctx context.Context, what string, f func() error) error {
	pause := retry.Pauses(l.FirstPause, l.MaxPause)
	return backoff.RetryNotify(f, backoff.WithContext(pause, ctx), func(err error, pause time.Duration) {
		if ctx.Err() == nil {
			l.Logger.WarnContext(ctx, "trying again", "what", what, "error", err, "pause", pause)
		}
	})
}
