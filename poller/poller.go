// Package poller turns new artifacts of a source into requests, exactly once, whoever polls and however often.
//
// A Source says what there is elsewhere: the commits of a branch (GitHub, Git), or releases (Manifests,
// GoVersions). wanted.go decides which of them have to be requests, and every one is asked for, the oldest first,
// through control.CreateRequest, whose natural keys make the second asking nothing. The log is the only memory:
// any number of pollers of one source may run, and one that was killed is continued by the next.
//
// A source that fails is polled again less and less often, and after a few times in a row becomes an alert; it is
// never a reason to end.
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
)

// source is what events of pollers name as the part that wrote them.
const source = "poller"

// pollLimit ends a poll that does not come to an end, such as a fetch from a server that went silent. The first
// fetch of a large repository must fit into it.
const pollLimit = time.Hour

// Config is what a Poller needs.
type Config struct {
	// Name names the source in events, alerts and metrics; a token.
	Name   string
	Suite  events.SuiteName
	Source Source
	Policy Policy
	// Interval is the pause after a poll that worked.
	Interval time.Duration
	// AlertAfter is how many polls fail in a row before an alert is raised; 0 is 3.
	AlertAfter int

	// Artifacts tells whether the artifact of a commit is there; where it is not, the request waits for it. Nil does
	// not look.
	Artifacts artifact.Ready

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
	// settled are commits below which nothing is missing, with their dates: where the next walk ends.
	settled map[events.Tag]time.Time
	retry   *backoff.ExponentialBackOff
	// failures counts polls that failed in a row; raised is when the alert about it was last raised.
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

// Trigger makes Run poll at once, or once more if it polls right now. It never waits.
func (p *Poller) Trigger() {
	select {
	case p.trigger <- struct{}{}:
	default:
	}
}

// turn polls once and returns the pause before the next time.
func (p *Poller) turn(ctx context.Context) time.Duration {
	outcome, err := p.Poll(ctx)
	if ctx.Err() != nil {
		return 0
	}
	p.Metrics.polled(p.Name, outcome, err, p.Clock())
	if err == nil {
		p.Logger.Debug("polled", "artifacts", outcome.Wanted, "created", outcome.Created)
		p.retry.Reset()
		p.works(ctx)
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

// Outcome is what a poll came to.
type Outcome struct {
	// Wanted counts the artifacts that have to be requests, Created those that were not yet.
	Wanted, Created int
}

// Poll looks at the source once and asks for what is wanted. An artifact that is refused does not keep the others
// from being asked for; the error then names it. Poll must not run twice at once.
func (p *Poller) Poll(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pollLimit, fmt.Errorf("the poll has not ended after %v", pollLimit))
	defer cancel()
	now := p.Clock()
	wanted, err := p.Policy.wanted(ctx, p.Source, now, p.polled)
	if err != nil {
		return Outcome{}, err
	}
	by := p.by(fmt.Sprintf("poll:%s@%s", p.Name, now.UTC().Format(time.RFC3339)))
	var refusals []error
	outcome := Outcome{Wanted: len(wanted)}
	for _, a := range wanted {
		n := a.request(p.Suite)
		if n.Waits, err = p.waits(ctx, a); err != nil {
			return outcome, err
		}
		_, answer, err := p.Control.CreateRequest(ctx, by, n)
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

// waits reports whether a commit that nobody asked for yet has no artifact. Where that cannot be told now, it waits, and
// is asked for again.
func (p *Poller) waits(ctx context.Context, a Artifact) (bool, error) {
	if p.Artifacts == nil || a.Kind != events.Master {
		return false, nil
	}
	_, known, err := p.Control.Log.Last(ctx, events.RequestSubject(events.NewRequestID(p.Suite, events.Master, string(a.Tag))))
	if known || err != nil {
		return false, err
	}
	missing, err := Missing(ctx, p.Control, p.Artifacts, p.Suite, a.Tag)
	if err != nil {
		p.Logger.Warn("it cannot be told whether an artifact is there: its request waits", "tag", a.Tag, "error", err)
		return true, nil
	}
	return missing != "", nil
}

// polled reports whether nothing is missing below a commit: pollers go from the oldest to the newest, so what one
// of them asked for has its ancestors. What somebody else asked for says nothing.
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

// settle remembers commits for the next walk, as long as one can come by them.
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

// logAway reports whether it is the log that could not be reached, which is nothing that the source did.
func logAway(err error) bool { return errors.Is(err, eventlog.ErrUnavailable) }
