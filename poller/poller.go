// Package poller turns new artifacts of a source into requests, and changed definitions in a repository into published
// ones, exactly once, however many pollers run and however often they poll.
//
// A Source lists artifacts elsewhere: the commits of a branch (GitHub, Git), or releases (Manifests, GoVersions).
// wanted.go decides which of them have to be requests. The poller asks for each of these, the oldest first, through
// control.CreateRequest; its natural keys make a second request for the same artifact do nothing. The log is the only
// memory: any number of pollers of one source may run, and the next one continues the work of a killed one.
//
// Definitions are one file of a branch (definitions.go). The tip of the branch counts, wherever a push moves it. Or each
// commit has its own (tree.go), which only its own request uses.
//
// A source that fails is polled less and less often. After a few failures in a row the poller raises an alert. A
// failing source never ends the poller.
package poller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/seal"
	"github.com/tachobench/tacho/rules/suite"
)

// source names the pollers as the part that wrote an event.
const source = "poller"

// pollLimit ends a poll that takes too long, such as a fetch from a server that does not answer any more. The first
// fetch of a large repository must fit into it.
const pollLimit = time.Hour

// Config is what a Poller needs.
type Config struct {
	// Name names the source in events, alerts and metrics; it is a token.
	Name  string
	Suite events.SuiteName
	// Source has the artifacts that become requests. It is nil if Definitions are published instead.
	Source      Source
	Policy      Policy
	Definitions *Definitions
	// Key seals the definitions that are published: Key.Definitions. Nil seals none.
	Key *seal.Private
	// Path is where each commit of the source has the definitions of its own request; empty for those of its branch. The
	// source is a Tree then.
	Path string
	// Account is the account that the requests are charged to, empty for none; Queue and Priority are as in
	// control.NewRequest.
	Account  events.AccountName
	Queue    events.QueueName
	Priority events.Priority
	// Branch is the branch that the source follows; empty for a source without branches.
	Branch string
	// Interval is the pause after a successful poll.
	Interval time.Duration
	// AlertAfter is after how many failed polls in a row the poller raises an alert; 0 is 3.
	AlertAfter int

	// Artifacts tells whether the artifact of a commit exists. If not, the request waits for it. Nil skips this
	// check.
	Artifacts artifact.Ready

	// CannotRead returns the collectors that cannot execute definitions before they are updated; nil says nothing.
	CannotRead func(suite.Definitions) []events.CollectorName

	// May waits until this process may decide; its error ends the poller. Nil does not wait.
	May func(context.Context) error

	Control *control.Control
	Clock   func() time.Time
	Logger  *slog.Logger
	// Metrics may be shared by pollers; nil counts nothing.
	Metrics *Metrics
}

// Poller polls one source. Run it once.
type Poller struct {
	Config
	trigger chan struct{}
	// settled are commits below which no request is missing, with their dates: there the next walk ends.
	settled map[events.Tag]time.Time
	// unread counts in how many polls in a row the file of a commit could not be read.
	unread int
	// read is what the definitions said when they were last read.
	read  Reading
	retry *backoff.ExponentialBackOff
	// failures counts the polls that failed in a row; raised is when the alert about them was last raised.
	failures int
	raised   time.Time
}

// New returns a poller; it does nothing before Run.
func New(c Config) *Poller {
	if c.AlertAfter == 0 {
		c.AlertAfter = 3
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	pauses := retry.Pauses(min(10*time.Second, c.Interval), max(c.Interval, 10*time.Minute))
	pauses.Multiplier = 2
	return &Poller{Config: c, trigger: make(chan struct{}, 1), settled: map[events.Tag]time.Time{}, retry: pauses}
}

// Run polls until ctx ends: at once, then after each interval or when triggered.
func (p *Poller) Run(ctx context.Context) error {
	for {
		if p.May != nil && p.May(ctx) != nil {
			return nil
		}
		pause := p.turn(ctx)
		if ctx.Err() != nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-p.trigger:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// Trigger makes Run poll at once, or once more if a poll is running. It never waits.
func (p *Poller) Trigger() {
	select {
	case p.trigger <- struct{}{}:
	default:
	}
}

// turn polls once and returns the pause before the next poll.
func (p *Poller) turn(ctx context.Context) time.Duration {
	outcome, err := p.Poll(ctx)
	if ctx.Err() != nil {
		return 0
	}
	p.Metrics.polled(p.Name, outcome, err, p.Clock())
	if err == nil {
		p.Logger.Debug("polled", "artifacts", outcome.Wanted, "created", outcome.Created)
		p.retry.Reset()
		if outcome.Refused != "" {
			p.refused(ctx, outcome.Refused)
		} else {
			p.works(ctx)
		}
		return p.Interval
	}
	pause := p.retry.NextBackOff()
	var limited *LimitedError
	if errors.As(err, &limited) {
		wait := limited.Until.Sub(p.Clock())
		pause = max(pause, wait+rand.N(max(wait, time.Second)/10))
	}
	p.Logger.Warn("a poll has failed, trying again", "error", err, "in", pause.Round(time.Millisecond), "created", outcome.Created)
	p.failed(ctx, err)
	return pause
}

// Outcome is the result of a poll.
type Outcome struct {
	// Wanted counts the artifacts that have to be requests, Created those of them that became requests in this poll.
	Wanted, Created int
	// Refused says why the definitions cannot be used; empty if they can, and for artifacts.
	Refused string
}

// Poll reads the source once and asks for what is wanted. One refused artifact does not block the others; the error
// then names it. Poll must not run twice at once.
func (p *Poller) Poll(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pollLimit, fmt.Errorf("the poll has not ended after %v", pollLimit))
	defer cancel()
	now := p.Clock()
	by := p.by(fmt.Sprintf("poll:%s@%s", p.Name, now.UTC().Format(time.RFC3339)))
	if p.Definitions != nil {
		refused, err := p.publish(ctx, by)
		return Outcome{Refused: refused}, err
	}
	wanted, err := p.Policy.wanted(ctx, p.Source, now, p.polled)
	if err != nil {
		return Outcome{}, err
	}
	var refusals []error
	outcome := Outcome{Wanted: len(wanted)}
	for _, a := range wanted {
		n := a.request(p.Suite)
		n.Queue, n.Priority, n.Branch = p.Queue, p.Priority, p.Branch
		if n, err = p.ownDefinitions(ctx, by, n); err != nil {
			return outcome, err
		}
		if n.Waits, err = p.waits(ctx, a, n.Named); err != nil {
			return outcome, err
		}
		answer, err := p.create(ctx, by, n)
		var refused *control.RefusedError
		switch {
		case errors.As(err, &refused) && refused.Kind != control.NotFound:
			refusals = append(refusals, fmt.Errorf("%s: %w", a.Tag, err))
		case err != nil:
			return outcome, fmt.Errorf("ask for %s: %w", a.Tag, err)
		case !answer.Existed:
			outcome.Created++
			p.Logger.Info("asked for", "kind", a.Kind, "tag", a.Tag, "pr", a.PR, "waits", n.Waits)
		}
	}
	if len(refusals) > 0 {
		return outcome, errors.Join(refusals...)
	}
	p.settle(wanted, now)
	return outcome, nil
}

// waits reports whether the request for a commit has to wait: it is new and its artifact is missing. If that cannot
// be told now, the request waits, and the Waiter asks again.
func (p *Poller) waits(ctx context.Context, a Artifact, named events.Digest) (bool, error) {
	if p.Artifacts == nil || a.Kind != events.Master {
		return false, nil
	}
	_, known, err := p.Control.Log.Last(ctx, events.RequestSubject(events.NewRequestID(p.Suite, events.Master, string(a.Tag))))
	if known || err != nil {
		return false, err
	}
	missing, err := Missing(ctx, p.Control, p.Artifacts, p.Suite, p.Branch, named, a.Tag)
	if err != nil {
		p.Logger.Warn("it cannot be told whether an artifact is there: its request waits", "tag", a.Tag, "error", err)
		return true, nil
	}
	return missing != "", nil
}

// polled reports whether no request is missing below a commit. Pollers work from the oldest to the newest, so all
// ancestors of a commit that a poller asked for have requests. A request from elsewhere says nothing about its
// ancestors.
func (p *Poller) polled(ctx context.Context, tag events.Tag) (bool, error) {
	if _, ok := p.settled[tag]; ok {
		return true, nil
	}
	history, err := p.Control.Log.Read(ctx, events.RequestSubject(events.NewRequestID(p.Suite, events.Master, string(tag))))
	if err != nil {
		return false, fmt.Errorf("look for the request of %s: %w", tag, err)
	}
	return len(history) > 0 && history[0].Source == source, nil
}

// settle remembers commits for the next walk, until they are too old for a walk to reach them.
func (p *Poller) settle(wanted []Artifact, now time.Time) {
	for tag, at := range p.settled {
		if p.Policy.tooOld(at, now) {
			delete(p.settled, tag)
		}
	}
	for _, a := range wanted {
		if a.Kind == events.Master {
			p.settled[a.Tag] = a.At
		}
	}
}

func (p *Poller) by(root string) control.By {
	return control.By{Actor: events.Actor(source + ":" + p.Name), Source: source, Root: root}
}

// asking returns on whose behalf the poller asks for a request.
func (p *Poller) asking(by control.By) control.By {
	by.Account, by.Configured = p.Account, true
	return by
}

// logAway reports whether the error is that the log could not be reached, which is not the source's fault.
func logAway(err error) bool { return errors.Is(err, eventlog.ErrUnavailable) }
