package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/ledger"
)

// GitHub is what the bot asks of GitHub. *githubapi.Client implements it.
type GitHub interface {
	Commit(ctx context.Context, repo events.RepoName, ref string) (githubapi.Commit, error)
	Pull(ctx context.Context, repo events.RepoName, number int) (githubapi.Pull, error)
}

// Config is what a Bot needs.
type Config struct {
	Log       eventlog.Log
	Ledger    Ledger
	Control   *control.Control
	GitHub    GitHub
	Artifacts artifact.Ready
	// Places returns the queue, once the tables hold everything up to a sequence. If it fails, answers only leave out
	// places and estimates.
	Places func(ctx context.Context, at events.Seq) ([]Place, error)
	Rules  Rules
	// Client fetches the list of permitted users; nil is a client that waits at most 10 seconds.
	Client  *http.Client
	Clock   func() time.Time
	Logger  *slog.Logger
	Metrics *Metrics
}

// Bot handles deliveries. Run it once.
type Bot struct {
	Config
	permissions *permissions
	// news has an element when there may be something to do.
	news chan struct{}

	// Only the goroutine of Run uses the fields below.
	// tried holds the deliveries that the bot has tried to handle, claimed the builds that it has tried to give to
	// requests, by pull request.
	tried   map[events.Subject]tried
	claimed map[int]claimed
	// after is the last sequence that the bot wrote, or that another writer wrote in its place. The bot waits until
	// the ledger has read it; otherwise it could say the same again.
	after events.Seq
}

// NewBot returns a bot; it does nothing before Run.
func NewBot(c Config) *Bot {
	client := c.Client
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	return &Bot{
		Config: c, permissions: &permissions{rules: c.Rules, client: client, clock: c.Clock}, news: make(chan struct{}, 1),
		tried: map[events.Subject]tried{}, claimed: map[int]claimed{},
	}
}

// again is how often Run checks whether something is due by time.
const again = time.Second

// Run handles due deliveries in the order in which they came, until ctx ends.
func (b *Bot) Run(ctx context.Context) error {
	b.Ledger.Tell(b.told)
	tick := time.NewTicker(again)
	defer tick.Stop()
	for b.Ledger.Wait(ctx, b.after) == nil {
		due, blocked := b.due(b.Clock())
		for _, d := range due {
			if ctx.Err() != nil {
				return nil
			}
			b.take(ctx, d, blocked)
		}
		b.claim(ctx)
		b.announce(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-b.news:
		case <-tick.C:
		}
	}
	return nil
}

// told makes Run look again.
func (b *Bot) told(f events.Fact) {
	// Other facts leave nothing to do.
	//exhaustive:ignore
	switch f.(type) {
	case events.DeliveryFact, events.RequestFact:
		select {
		case b.news <- struct{}{}:
		default:
		}
	}
}

// claim gives waiting requests the try builds that were reported before the requests were known.
func (b *Bot) claim(ctx context.Context) {
	for _, c := range b.claims(b.Clock()) {
		by := control.By{Actor: sender, Source: source, Root: c.root, Cause: c.build.Seq}
		_, err := b.supply(ctx, c.Request, c.build.Commit, c.build.At, func(commit githubapi.Commit) error {
			_, _, err := b.Control.ArtifactsReady(ctx, by, c.ID, commit.SHA, commit.Parents[0])
			return err
		})
		was := b.claimed[c.PR]
		if err == nil {
			b.claimed[c.PR] = claimed{build: c.build.Seq, over: true}
			continue
		}
		b.claimed[c.PR] = claimed{build: c.build.Seq, times: was.times + 1, after: b.Clock().Add(pauseAfter(was.times+1, err))}
		if ctx.Err() == nil {
			b.Logger.Warn("a try build cannot be given to its request now; it is tried again", "request", c.ID, "commit", c.build.Commit, "error", err)
		}
	}
}

// announce comments on pull requests: with the place in the queue once a request's artifact is there, and when a
// request has waited in vain for a try build.
func (b *Bot) announce(ctx context.Context) {
	queued, expired := b.untold()
	for _, r := range queued {
		place, known := b.places(ctx, r.changed)[r.ID]
		w := b.about(r, events.QueuedKey(r.ID), announcement(r.Request, place, known, b.Rules, b.Clock()))
		w.Temporary = true
		if b.Rules.WaitingLabel != "" {
			w.AddLabels = []string{b.Rules.WaitingLabel}
		}
		b.say(ctx, r, w)
	}
	for _, r := range expired {
		w := b.about(r, events.ExpiredKey(r.ID), expiry(b.Rules))
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

// say records that a comment is wanted, once, also if another process records it too.
func (b *Bot) say(ctx context.Context, r asked, w events.CommentWanted) {
	e := eventlog.NewEvent(w, eventlog.Meta{Source: source, Actor: source, Cause: r.changed, Root: r.root}, b.Clock())
	seq, err := b.Log.Append(ctx, eventlog.Append{Subject: w.Subject(), Events: []events.Event{e}})
	var conflict *eventlog.ConflictError
	if errors.As(err, &conflict) {
		seq, err = conflict.Actual, nil
	}
	b.after = max(b.after, seq)
	if err != nil && ctx.Err() == nil {
		b.Logger.Warn("a comment could not be recorded; it is tried again", "comment", w.Key, "error", err)
	}
}

// take handles one delivery, or postpones it.
func (b *Bot) take(ctx context.Context, p ledger.Delivery, blocked map[int]events.Seq) {
	pr, err := b.handle(ctx, p, blocked)
	t := b.tried[p.Subject()]
	if err == nil {
		// It is handled, by this bot or by another one. The ledger may read that a moment later. Until then the bot
		// handles nothing else about the pull request: it would not see the effects of this delivery.
		open := false
		b.Ledger.View(func(l *ledger.Ledger) { open = l.Deliveries.Open[p.Subject()] != nil })
		if open {
			t.done, t.pr = p.Last, pr
			b.tried[p.Subject()] = t
			block(blocked, pr, p.First)
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	block(blocked, pr, p.First)
	if errors.Is(err, errBlocked) {
		return
	}
	b.Metrics.Postponed.Inc()
	t.times, t.pr = t.times+1, pr
	pause := pauseAfter(t.times, err)
	t.after = b.Clock().Add(pause)
	b.tried[p.Subject()] = t
	b.Logger.Warn("a delivery cannot be handled now and is tried again", "delivery", p.ID, "event", p.Event, "in", pause.Round(time.Second), "error", err)
}

// block notes that a delivery about a pull request waits, unless an earlier one is already noted.
func block(blocked map[int]events.Seq, pr int, first events.Seq) {
	if _, earlier := blocked[pr]; pr != 0 && !earlier {
		blocked[pr] = first
	}
}

// errBlocked says that an earlier delivery about the same pull request is not handled yet.
var errBlocked = errors.New("something earlier about the pull request waits")

// pauseAfter returns the pause after a number of tries. It grows with that number, with jitter, up to five minutes;
// GitHub may ask for more.
func pauseAfter(tries int, err error) time.Duration {
	pause := retry.PauseAfter(tries, 2*time.Second, 5*time.Minute)
	var failed *githubapi.Error
	if errors.As(err, &failed) {
		pause = max(pause, failed.RetryAfter)
	}
	return pause
}
