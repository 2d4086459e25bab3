package main

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/webhook"
)

type serveCmd struct {
	Parts    []string `arg:"" help:"Which parts, with commas or spaces between them: scheduler, projector, poller, watchdog, webhook, reporter, website."`
	Insecure bool     `help:"Believe every delivery to the webhook, without a secret. For tries on one's own machine." name:"insecure-dev"`
	Listen   string   `help:"Address of the website and API." placeholder:"ADDR"`
	TLS      webTLS   `embed:""`
}

// Help is shown by --help.
func (c *serveCmd) Help() string {
	return "The log is the NATS cluster of nats.url (TACHO_NATS_URL), the tables are in the Postgres of database.url (TACHO_DATABASE_URL). " +
		"Any number of schedulers, pollers, watchdogs, webhooks, reporters and websites may run; a second projector on the same database waits for the first to end. " +
		"Webhook and reporter ask GitHub at the start which account their credentials are of, and do not start without an answer."
}

// Run runs the parts until ctx ends.
func (c *serveCmd) Run(ctx context.Context, p *program) error {
	if c.Listen != "" {
		p.config.Listen = c.Listen
	}
	wanted, err := partsOf(c.Parts)
	if err == nil {
		err = c.TLS.apply(&p.config)
	}
	if err != nil {
		return err
	}
	if p.config.NATS.URL == "" {
		return usagef("the parts need a NATS cluster: set nats.url (TACHO_NATS_URL), or run everything with `tacho up`")
	}
	if p.config.Database.URL == "" && (wanted["projector"] || wanted["website"] || wanted["reporter"]) {
		return usagef("projector, reporter and website need a Postgres: set database.url (TACHO_DATABASE_URL), or run everything with `tacho up`")
	}
	if wanted["poller"] && len(p.config.Pollers) == 0 {
		return usagef("there is nothing to poll: add a [[poller]] to the configuration, and name the file with --config")
	}
	if err := c.checkGitHub(p.config.GitHub, wanted); err != nil {
		return err
	}
	suites, err := loadSuites(p.config.Suites)
	if err != nil {
		return err
	}
	pair, err := p.webPair()
	if err != nil {
		return err
	}
	var self githubapi.Account
	if wanted["webhook"] || wanted["reporter"] {
		if self, err = p.identify(ctx); err != nil {
			return err
		}
		p.say("github     %s: %s", p.config.GitHub.Repo, howWritten(p.config.GitHub, self))
	}
	k, err := p.openLog(ctx, p.logger())
	if err != nil {
		return err
	}
	defer k.close()
	if err := p.openRegistry(ctx, k); err != nil {
		return err
	}
	k.databaseURL = p.config.Database.URL
	if wanted["projector"] {
		err = p.migrate(ctx, k.databaseURL)
	} else if wanted["website"] || wanted["reporter"] {
		err = p.awaitDatabase(ctx)
	}
	if err != nil {
		return err
	}
	parts := newParts(ctx, k, p.config, p.config.Token, p.clock, p.logger())
	parts.self = self
	parts.background()
	if wanted["projector"] {
		parts.projector()
	}
	if wanted["scheduler"] {
		parts.scheduler()
	}
	if wanted["poller"] {
		if err := parts.pollers(); err != nil {
			return err
		}
	}
	if err := c.serveOver(p, parts, wanted, namesOf(suites), pair); err != nil {
		return err
	}
	p.say("serving    %s", strings.Join(sortedKeys(wanted), ", "))
	return parts.group.Wait()
}

// checkGitHub refuses what the parts for GitHub cannot work with, before anything is connected to.
func (c *serveCmd) checkGitHub(g config.GitHub, wanted map[string]bool) error {
	if g.Repo == "" && (wanted["webhook"] || wanted["reporter"]) {
		return usagef("webhook and reporter need a repository: set github.repo (TACHO_GITHUB_REPO)")
	}
	if !wanted["webhook"] {
		if c.Insecure {
			return usagef("--insecure-dev is for the webhook: name it among the parts, or leave the flag out")
		}
		return nil
	}
	secret, err := g.WebhookSecret()
	if err == nil && len(secret) == 0 && !c.Insecure {
		err = webhook.ErrNoSecret
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// serveOver runs the parts that read the tables or are reached over HTTP.
func (c *serveCmd) serveOver(p *program, parts *parts, wanted map[string]bool, suites []events.SuiteName, pair *tlsfiles.Pair) (err error) {
	if len(suites) > 0 {
		parts.suite = suites[0]
	}
	var reader *readmodel.Reader
	if p.config.Database.URL != "" && (wanted["website"] || wanted["reporter"] || wanted["webhook"]) {
		if reader, err = parts.reader(); err != nil {
			return err
		}
	}
	var l net.Listener
	here := ""
	if wanted["website"] || wanted["webhook"] {
		if l, err = listenWith(p.config.Listen, pair); err != nil {
			return err
		}
		here = urlOf(l)
	}
	if wanted["watchdog"] {
		parts.watchdog(here)
	}
	if wanted["reporter"] {
		if err := parts.reporter(here, reader); err != nil {
			return err
		}
	}
	var hook, site http.Handler
	if wanted["webhook"] {
		if hook, err = parts.webhook(here, c.Insecure, reader); err != nil {
			return usageError{err}
		}
		p.say("webhook    %s%s", here, webhookPath)
	}
	if wanted["website"] {
		site = parts.website(reader, suites)
		p.say("website    %s", here)
	}
	if l != nil {
		parts.serveHTTP(l, withWebhook(site, hook))
	}
	return nil
}

// partsOf reads the names of parts: arguments, each of which may be a list with commas.
func partsOf(args []string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, part := range strings.Split(strings.Join(args, ","), ",") {
		switch part = strings.TrimSpace(part); part {
		case "scheduler", "projector", "poller", "watchdog", "webhook", "reporter", "website":
			wanted[part] = true
		case "":
		default:
			return nil, usagef("unknown part %q: use scheduler, projector, poller, watchdog, webhook, reporter or website", part)
		}
	}
	if len(wanted) == 0 {
		return nil, usagef("no part is named: use scheduler, projector, poller, watchdog, webhook, reporter or website")
	}
	return wanted, nil
}
