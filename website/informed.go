package website

import (
	"context"
	"sync"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/match"
)

// informedWithin bounds how long a command waits for the tables to hold what it has to count.
const informedWithin = 10 * time.Second

// Inform makes commands ask the tables what the log cannot tell at once: who holds a key or a token, which queues there
// are, what machines offer, and how many requests have not ended. Offers and counts hold everything that the log held
// when they were asked for.
func Inform(c *control.Control, r *readmodel.Reader, log Log) {
	t := informed{r, log}
	c.PendingAll = (&recently{count: r.PendingAll}).ask
	c.KeyHolder, c.TokenHolder = r.KeyHolder, r.TokenHolder
	c.PendingOf = func(ctx context.Context, name events.AccountName) (int, error) {
		if err := t.upToHead(ctx); err != nil {
			return 0, err
		}
		return r.PendingOf(ctx, name)
	}
	c.PendingIn = func(ctx context.Context, name events.QueueName) (int, error) {
		if err := t.upToHead(ctx); err != nil {
			return 0, err
		}
		return r.PendingIn(ctx, name)
	}
	c.Queues = t.queues
	c.Requirements = r.Requirements
	c.Offers = func(ctx context.Context) ([]match.Offer, error) {
		if err := t.upToHead(ctx); err != nil {
			return nil, err
		}
		return r.Offers(ctx)
	}
}

// recently is a count that is at most a second old.
type recently struct {
	count func(context.Context) (int, error)
	mu    sync.Mutex
	at    time.Time
	last  int
}

func (c *recently) ask(ctx context.Context) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) > time.Second {
		n, err := c.count(ctx)
		if err != nil {
			return 0, err
		}
		c.last, c.at = n, now
	}
	return c.last, nil
}

// informed are tables that answer for the log.
type informed struct {
	*readmodel.Reader
	log Log
}

func (t informed) upToHead(ctx context.Context) error {
	head, err := t.log.Head(ctx)
	if err != nil {
		return err
	}
	return t.upTo(ctx, head.Last)
}

func (t informed) upTo(ctx context.Context, seq events.Seq) error {
	ctx, cancel := context.WithTimeoutCause(ctx, informedWithin, errWaitedLong)
	defer cancel()
	return late(t.WaitFor(ctx, seq), "ask again, or see /readyz", seq, informedWithin)
}

// queues returns the queues that are not closed, at least as they were at an event.
func (t informed) queues(ctx context.Context, seq events.Seq) ([]events.QueueConfigured, error) {
	if err := t.upTo(ctx, seq); err != nil {
		return nil, err
	}
	var out []events.QueueConfigured
	after := events.QueueName("")
	for {
		page, err := t.NamedQueues(ctx, after, maxLimit)
		if err != nil {
			return nil, err
		}
		for _, q := range page {
			if after = q.Name; q.ClosedAt == nil {
				out = append(out, events.QueueConfigured{Queue: q.Name, Parent: q.Parent})
			}
		}
		if len(page) < maxLimit {
			return out, nil
		}
	}
}
