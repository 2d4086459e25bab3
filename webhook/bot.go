package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/githubapi"
	"github.com/tachobench/tacho/suite"
)

// GitHub is what the bot asks GitHub; *githubapi.Client is one.
type GitHub interface {
	Commit(ctx context.Context, repo events.RepoName, ref string) (githubapi.Commit, error)
}

// Place is where a request stands in the queue.
type Place struct {
	RequestID events.RequestID
	Position  int
	// Ahead is how many requests are benchmarked before it.
	Ahead int
	// Start and End are the estimates; nil when they are unknown.
	Start, End *time.Time
}

// Config is what a Bot needs.
type Config struct {
	Log       eventlog.Log
	Control   *control.Control
	GitHub    GitHub
	Artifacts artifact.Ready
	// Places returns the queue as it is once everything up to a sequence is in the tables. A fault of it only
	// leaves places and estimates out of answers.
	Places func(ctx context.Context, at events.Seq) ([]Place, error)
	Rules  Rules
	// Client fetches the list of permitted users; nil is http.DefaultClient.
	Client  *http.Client
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics *Metrics
}

// Bot handles deliveries. Run it once.
type Bot struct {
	Config
	permissions *permissions
	// mu guards state: one goroutine folds the log, another handles what is due.
	mu    sync.Mutex
	state *state
	// news is filled when there may be something to do.
	news chan struct{}
	// published are the definitions that were read last. Only the working goroutine uses them.
	published control.Published
}

// NewBot returns a bot; it does nothing before Run.
func NewBot(c Config) *Bot {
	client := c.Client
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	state := newState()
	state.suite = c.Rules.Suite
	return &Bot{
		Config: c, permissions: &permissions{rules: c.Rules, client: client, clock: c.Clock}, state: state, news: make(chan struct{}, 1),
	}
}

// Run handles deliveries until ctx ends. It returns an error only when it cannot go on: the log has a gap, or
// holds a type of event that this program does not know.
func (b *Bot) Run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return eventlog.Fold(running, b.Log, b.fold) })
	g.Go(func() error { return b.work(running) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}

// fold folds events, and calls for work whenever it has read all that is there.
func (b *Bot) fold(stored []events.Stored, current bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range stored {
		e, parked, err := b.state.reader.Understand(m)
		if err != nil {
			return err
		}
		if b.state.seq = m.Seq; parked == "" {
			b.state.fold(e)
		}
	}
	if current {
		select {
		case b.news <- struct{}{}:
		default:
		}
	}
	return nil
}

// again is how often work looks at what waits for a time.
const again = time.Second

// work handles what is due, in the order in which it came.
func (b *Bot) work(ctx context.Context) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	ready := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.news:
			ready = true
		case <-tick.C:
		}
		if !ready {
			continue
		}
		b.mu.Lock()
		due, blocked := b.state.due(b.Clock())
		b.mu.Unlock()
		for _, p := range due {
			if ctx.Err() != nil {
				return nil
			}
			b.take(ctx, p, blocked)
		}
		b.claim(ctx)
		b.announce(ctx)
	}
}

// newestDefinitions returns those of the suite. They are parsed once.
func (b *Bot) newestDefinitions(ctx context.Context) (*suite.Definitions, error) {
	newest, err := b.Control.Newest(ctx, b.Rules.Suite, b.published)
	if err != nil {
		return nil, err
	}
	b.published = newest
	return &newest.Definitions, nil
}

// claim gives requests the try builds that were told of before them.
func (b *Bot) claim(ctx context.Context) {
	b.mu.Lock()
	claims := b.state.claims(b.Clock())
	b.mu.Unlock()
	for _, c := range claims {
		by := control.By{Actor: sender, Source: source, Root: c.root, Cause: c.seq}
		why, err := b.supply(ctx, c.Request, c.sha, c.at, b.newestDefinitions, func(commit githubapi.Commit) error {
			_, _, err := b.Control.ArtifactsReady(ctx, by, c.ID, commit.SHA, commit.Parents[0])
			return err
		})
		if err != nil && ctx.Err() == nil {
			b.Logger.Warn("a try build cannot be given to its request now; it is tried again", "request", c.ID, "commit", c.sha, "error", err)
		}
		b.mu.Lock()
		if err != nil {
			if b.state.built[c.PR] == c.finished {
				c.tries++
				c.finished.after = b.Clock().Add(pauseAfter(c.tries, err))
				b.state.built[c.PR] = c.finished
			}
			b.mu.Unlock()
			continue
		}
		if why != "" || b.state.built[c.PR] == c.finished {
			delete(b.state.built, c.PR)
		}
		b.mu.Unlock()
	}
}

// announce tells people the place in the queue of what they asked for, once its artifact is there, and that a wait
// was in vain.
func (b *Bot) announce(ctx context.Context) {
	b.mu.Lock()
	queued, expired := b.state.unannounced(), b.state.inVain()
	b.mu.Unlock()
	for _, r := range queued {
		place, known := b.places(ctx, r.changed)[r.ID]
		w := b.about(r, announcementKey(r.ID), announcement(r.Request, place, known, b.Rules, b.Clock()))
		w.Temporary = true
		if b.Rules.WaitingLabel != "" {
			w.AddLabels = []string{b.Rules.WaitingLabel}
		}
		b.say(ctx, r, w)
	}
	for _, r := range expired {
		w := b.about(r, expiryKey(r.ID), expiry(b.Rules))
		if b.Rules.WaitingLabel != "" {
			w.RemoveLabels = []string{b.Rules.WaitingLabel}
		}
		b.say(ctx, r, w)
	}
}

// about returns a comment on the pull request of a request.
func (b *Bot) about(r asked, key events.OutboxKey, body string) events.CommentWanted {
	return events.CommentWanted{
		Key: key, Revision: 1, Purpose: events.CommentAnswer, Repo: b.Rules.Repo, PR: r.PR, RequestID: r.ID, Body: body,
	}
}

// say wants a comment once, whoever else wants it too.
func (b *Bot) say(ctx context.Context, r asked, w events.CommentWanted) {
	e := eventlog.NewEvent(w, eventlog.Meta{Source: source, Actor: source, Cause: r.changed, Root: r.root}, b.Clock())
	_, err := b.Log.Append(ctx, eventlog.Append{Subject: w.Subject(), Events: []events.Event{e}})
	var conflict *eventlog.ConflictError
	if err != nil && !errors.As(err, &conflict) {
		if ctx.Err() == nil {
			b.Logger.Warn("a comment could not be recorded; it is tried again", "comment", w.Key, "error", err)
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.said(w)
}

// take handles one delivery, or postpones it.
func (b *Bot) take(ctx context.Context, p pending, blocked map[int]events.Seq) {
	pr, err := b.handle(ctx, p, blocked)
	if err == nil {
		// It is handled, by this bot or by another one: the log tells, and may be read a moment later. Until then
		// nothing else about the pull request is, for it would not see what came of this.
		b.mu.Lock()
		defer b.mu.Unlock()
		if waiting, ok := b.state.received[p.subject]; ok {
			waiting.done, waiting.pr = true, pr
			block(blocked, pr, p.first)
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	block(blocked, pr, p.first)
	if errors.Is(err, errBlocked) {
		return
	}
	b.Metrics.Postponed.Inc()
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting, ok := b.state.received[p.subject]
	if !ok {
		return
	}
	waiting.tries, waiting.pr = waiting.tries+1, pr
	pause := pauseAfter(waiting.tries, err)
	waiting.after = b.Clock().Add(pause)
	b.Logger.Warn("a delivery cannot be handled now and is tried again", "delivery", p.id, "event", p.event, "in", pause.Round(time.Second), "error", err)
}

// block notes that something about a pull request waits, unless something earlier does.
func block(blocked map[int]events.Seq, pr int, first events.Seq) {
	if _, earlier := blocked[pr]; pr != 0 && !earlier {
		blocked[pr] = first
	}
}

// errBlocked says that something earlier about the same pull request is not handled yet.
var errBlocked = errors.New("something earlier about the pull request waits")

// pauseAfter grows with the number of tries, with jitter, up to five minutes; GitHub may ask for longer.
func pauseAfter(tries int, err error) time.Duration {
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(2*time.Second),
		backoff.WithMaxInterval(5*time.Minute), backoff.WithMaxElapsedTime(0))
	pause := policy.NextBackOff()
	for range min(tries, 12) - 1 {
		pause = policy.NextBackOff()
	}
	var failed *githubapi.Error
	if errors.As(err, &failed) {
		pause = max(pause, failed.RetryAfter)
	}
	return pause
}
