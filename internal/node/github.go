package node

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/reporter"
	"github.com/tachobench/tacho/webhook"
	"github.com/tachobench/tacho/website"
)

const (
	// webhookPath is where GitHub delivers.
	webhookPath = "/webhook/github"
	// redeliverEvery is the pause between two searches for failed deliveries, redeliverBack how far back they go: GitHub
	// keeps deliveries for three days.
	redeliverEvery, redeliverBack = 10 * time.Minute, 3 * 24 * time.Hour
	// deliveryWithin is how long GitHub may take to send a delivery; it waits 10 s for the answer.
	deliveryWithin = 30 * time.Second
	// commentPace is what GitHub asks for between two writes.
	commentPace = time.Second
)

func (p *parts) githubSuite() events.SuiteName {
	if p.Config.GitHub.Suite != "" {
		return p.Config.GitHub.Suite
	}
	return p.suite
}

// site returns the URL of the website for links: the configured one, or here, where it listens.
func (p *parts) site(here string) string {
	if p.Config.GitHub.Site != "" {
		return p.Config.GitHub.Site
	}
	return here
}

// webhook runs the part webhook. It returns the handler for webhookPath. If reader is nil, answers have no places in the
// queue.
func (p *parts) webhook(here string, insecure bool, reader *readmodel.Reader) (http.Handler, error) {
	c, logger := p.Config.GitHub, p.Logger.With("part", "webhook")
	secret, err := c.WebhookSecret()
	if err != nil {
		return nil, err
	}
	metrics := webhook.NewMetrics(p.registry)
	receiver, err := webhook.NewReceiver(p.core.log, secret, insecure, p.Clock, logger, metrics)
	if err != nil {
		return nil, err
	}
	api, err := gitHub(p.Config.GitHub)
	if err != nil {
		return nil, err
	}
	store, err := p.artifacts()
	if err != nil {
		return nil, err
	}
	conf := webhook.Config{
		Log: p.core.log, Ledger: p.shell, Control: p.control(nil), GitHub: api, Artifacts: store, Clock: p.Clock, Logger: logger, Metrics: metrics,
		Rules: webhook.Rules{
			Repo: c.Repo, Suite: p.githubSuite(), Bot: c.Bot, Self: p.self, MergeBots: c.MergeBots, Associations: c.Associations,
			Users: c.Users, UsersURL: c.UsersURL, TryBranches: c.TryBranches, Site: p.site(here), WaitingLabel: c.Labels.Waiting, Accounts: c.Accounts,
		},
	}
	if reader != nil {
		conf.Places = webhook.TablePlaces(reader)
		website.Inform(conf.Control, reader, p.core.log)
	} else {
		webhook.CountPending(conf.Control, p.shell)
	}
	p.run(webhook.NewBot(conf).Run)
	if c.Hook != 0 {
		r := webhook.Redeliverer{
			Log: p.core.log, Hook: api, Repo: c.Repo, ID: c.Hook, Every: redeliverEvery, Back: redeliverBack, Clock: p.Clock, Logger: logger,
			Failing: p.alarm(events.AlertSource, "webhook", "look at the webhook's page on GitHub, and at github.hook and the credentials here"),
		}
		p.run(r.Run)
	}
	return receiver, nil
}

// reporter runs the part reporter.
func (p *parts) reporter(here string, reader *readmodel.Reader) error {
	c, logger := p.Config.GitHub, p.Logger.With("part", "reporter")
	api, err := gitHub(p.Config.GitHub)
	if err != nil {
		return err
	}
	tables := reporter.Tables{
		Reader: reader, Site: p.site(here), Labels: reporter.Labels{Waiting: c.Labels.Waiting, Regression: c.Labels.Regression},
	}
	conf := reporter.Config{
		Log: p.core.log, Ledger: p.shell, Repo: c.Repo, Suite: p.githubSuite(), Self: p.self, Report: tables.Report, Instance: uuid.NewString(), Pace: commentPace,
		// A log in this process has no other reporter.
		Alone:   p.Config.NATS.URL == "",
		Failing: p.alarm(events.AlertReport, string(c.Repo), "check the credentials in TACHO_GITHUB_TOKEN or github.app, and what they may write"),
		Clock:   p.Clock, Logger: logger, Metrics: reporter.NewMetrics(p.registry),
	}
	if writesComments(c) {
		conf.GitHub = api
	}
	p.run(reporter.New(conf).Run)
	return nil
}

// alarm returns a function that takes the outcome of each attempt, and raises an alert if attempts keep failing.
func (p *parts) alarm(kind events.AlertKind, about, action string) func(error) {
	alarm := &control.Alarm{Control: p.control(nil), Kind: kind, About: about, Action: action, Logger: p.Logger}
	return func(outcome error) { alarm.Note(p.ctx, outcome) }
}

// withWebhook puts the webhook beside the pages. If no webhook runs, it answers GitHub with an error: GitHub shows it to the
// person who set up the webhook, and the delivery counts as failed, so that Tacho asks for it again when a webhook runs.
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

// inTime bounds how long the body of a delivery may take to arrive: anybody may begin a delivery.
func inTime(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// On a connection that has no deadlines the time is not bounded.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
		next.ServeHTTP(w, r)
	})
}
