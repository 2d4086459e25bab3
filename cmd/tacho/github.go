package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/reporter"
	"github.com/tachobench/tacho/webhook"
)

const (
	// webhookPath is where GitHub delivers.
	webhookPath = "/webhook/github"
	// redeliverEvery is how often deliveries that failed are looked for, redeliverBack how far: GitHub keeps them
	// for three days.
	redeliverEvery, redeliverBack = 10 * time.Minute, 3 * 24 * time.Hour
	// deliveryWithin is how long GitHub may take to send a delivery; it waits 10 s for the answer.
	deliveryWithin = 30 * time.Second
	// commentPace is what GitHub asks for between two writes.
	commentPace = time.Second
)

func (p *parts) githubSuite() events.SuiteName {
	if p.config.GitHub.Suite != "" {
		return p.config.GitHub.Suite
	}
	return p.suite
}

// site returns the URL of the website for links; here is where it listens.
func (p *parts) site(here string) string {
	if p.config.GitHub.Site != "" {
		return p.config.GitHub.Site
	}
	return here
}

// webhook takes deliveries and handles them. The handler is for webhookPath. reader may be nil: answers then have
// no places in the queue.
func (p *parts) webhook(here string, insecure bool, reader *readmodel.Reader) (http.Handler, error) {
	c, logger := p.config.GitHub, p.logger.With("part", "webhook")
	secret, err := c.WebhookSecret()
	if err != nil {
		return nil, err
	}
	metrics := webhook.NewMetrics(p.registry)
	receiver, err := webhook.NewReceiver(p.core.log, secret, insecure, p.clock, logger, metrics)
	if err != nil {
		return nil, err
	}
	api, err := gitHub(p.config.GitHub)
	if err != nil {
		return nil, err
	}
	store, err := p.artifacts()
	if err != nil {
		return nil, err
	}
	conf := webhook.Config{
		Log: p.core.log, Ledger: p.shell, Control: p.control(nil), GitHub: api, Artifacts: store, Clock: p.clock, Logger: logger, Metrics: metrics,
		Rules: webhook.Rules{
			Repo: c.Repo, Suite: p.githubSuite(), Bot: c.Bot, Self: p.self, MergeBots: c.MergeBots, Associations: c.Associations,
			Users: c.Users, UsersURL: c.UsersURL, TryBranches: c.TryBranches, Site: p.site(here), WaitingLabel: c.Labels.Waiting,
		},
	}
	if reader != nil {
		conf.Places = func(ctx context.Context, at events.Seq) ([]webhook.Place, error) { return placesIn(ctx, reader, at) }
	}
	p.run(webhook.NewBot(conf).Run)
	if c.Hook != 0 {
		r := webhook.Redeliverer{
			Log: p.core.log, Hook: api, Repo: c.Repo, ID: c.Hook, Every: redeliverEvery, Back: redeliverBack, Clock: p.clock, Logger: logger,
			Failing: p.alarm(events.AlertSource, "webhook", "look at the webhook's page on GitHub, and at github.hook and the credentials here"),
		}
		p.run(r.Run)
	}
	return receiver, nil
}

// placesWithin bounds the wait for the tables before an answer is written without a place in the queue.
const placesWithin = 5 * time.Second

// placesIn reads the queue once the tables are where they have to be.
func placesIn(ctx context.Context, reader *readmodel.Reader, at events.Seq) ([]webhook.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, placesWithin)
	defer cancel()
	if err := reader.WaitFor(ctx, at); err != nil {
		return nil, err
	}
	queue, err := reader.Queue(ctx)
	if err != nil {
		return nil, err
	}
	places := make([]webhook.Place, 0, len(queue))
	for i, e := range queue {
		places = append(places, webhook.Place{RequestID: e.RequestID, Position: e.Position, Ahead: i, Start: e.EstimatedStart, End: e.EstimatedEnd})
	}
	return places, nil
}

// reporter writes what is to be said on GitHub.
func (p *parts) reporter(here string, reader *readmodel.Reader) error {
	c, logger := p.config.GitHub, p.logger.With("part", "reporter")
	api, err := gitHub(p.config.GitHub)
	if err != nil {
		return err
	}
	tables := reporter.Tables{
		Reader: reader, Site: p.site(here), Labels: reporter.Labels{Waiting: c.Labels.Waiting, Regression: c.Labels.Regression},
	}
	conf := reporter.Config{
		Log: p.core.log, Ledger: p.shell, Repo: c.Repo, Suite: p.githubSuite(), Self: p.self, Report: tables.Report, Instance: uuid.NewString(), Pace: commentPace,
		// The log in this process has one process at a time.
		Alone:   p.config.NATS.URL == "",
		Failing: p.alarm(events.AlertReport, string(c.Repo), "check the credentials in TACHO_GITHUB_TOKEN or github.app, and what they may write"),
		Clock:   p.clock, Logger: logger, Metrics: reporter.NewMetrics(p.registry),
	}
	if writesComments(c) {
		conf.GitHub = api
	}
	p.run(reporter.New(conf).Run)
	return nil
}

// alarmAfter is how many failures in a row call for a person.
const alarmAfter = 5

// alarm returns what takes the outcome of each attempt at something, and raises an alert when it keeps failing.
func (p *parts) alarm(kind events.AlertKind, about, action string) func(error) {
	commands, failures, fine := p.control(nil), 0, false
	by := control.By{Actor: "tacho", Source: string(kind), Root: "alarm:" + about}
	return func(err error) {
		if errors.Is(err, context.Canceled) {
			return
		}
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
		defer cancel()
		var failed error
		switch {
		case err == nil && fine:
			return
		case err == nil:
			failures, fine = 0, true
			_, failed = commands.ClearAlert(ctx, by, events.NewAlertKey(kind, about), "it works again")
		default:
			fine = false
			if failures++; failures < alarmAfter {
				return
			}
			_, failed = commands.RaiseAlert(ctx, by, events.AlertRaised{
				Key: events.NewAlertKey(kind, about), Kind: kind, About: about, Message: err.Error(), Action: action,
			})
		}
		if failed != nil && p.ctx.Err() == nil {
			p.logger.Warn("an alert could not be recorded", "kind", kind, "about", about, "error", failed)
		}
	}
}

// withWebhook puts the webhook beside the pages. Where none runs, GitHub is told so: it shows the answer to whoever
// set up the webhook, and the delivery counts as failed, so that it is asked for again once there is one.
func withWebhook(site, hook http.Handler) http.Handler {
	mux := http.NewServeMux()
	if hook == nil {
		hook = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no webhook runs here: `tacho up` needs github.repo and TACHO_WEBHOOK_SECRET for one, `tacho serve` its part webhook",
				http.StatusServiceUnavailable)
		})
	}
	mux.Handle(webhookPath, inTime(hook, deliveryWithin))
	if site != nil {
		mux.Handle("/", site)
	}
	return mux
}

// inTime bounds how long the body of a delivery may take to arrive: anybody may begin one.
func inTime(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Where there are no deadlines, nobody is slow.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
		next.ServeHTTP(w, r)
	})
}

// pushed is somebody who polls a branch.
type pushed struct {
	config config.Poller
	look   func()
}

// pushes has the pollers of a branch look at it when GitHub says that it was pushed to. Whoever took the delivery,
// the ledger tells; what it tells before it has caught up with the log is of long ago.
func (p *parts) pushes(pollers []pushed) func(context.Context) error {
	return func(ctx context.Context) error {
		if p.shell.Wait(ctx, 0) == nil {
			p.shell.Tell(func(f events.Fact) { tell(pollers, f) })
		}
		return nil
	}
}

func tell(pollers []pushed, f events.Fact) {
	handled, ok := f.(events.DeliveryHandled)
	branch, push := strings.CutPrefix(handled.Command, webhook.PushWord)
	if !ok || !push {
		return
	}
	for _, one := range pollers {
		c := one.config
		if c.Commits() && slices.Contains([]string{"", string(handled.Repo)}, c.Repository) && slices.Contains([]string{"", branch}, c.Branch) {
			one.look()
		}
	}
}
