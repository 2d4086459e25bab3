package cli

import (
	"context"

	"github.com/tachobench/tacho/internal/node"
)

type serveCmd struct {
	Parts    []string `arg:"" help:"Parts to run, with commas or spaces between them: scheduler, projector, poller, watchdog, webhook, reporter, hook, website."`
	Insecure bool     `help:"Accept every delivery to the webhook, without a secret. Only for tests on your own machine." name:"insecure-dev"`
	Listen   string   `help:"Address of the website and API." placeholder:"ADDR"`
	TLS      webTLS   `embed:""`
}

// Help is shown by --help.
func (c *serveCmd) Help() string {
	return "The log is the NATS cluster of nats.url (TACHO_NATS_URL), the tables are in the Postgres of database.url (TACHO_DATABASE_URL). " +
		"Any number of schedulers, pollers, watchdogs, webhooks, reporters and websites may run; a second projector on the same database waits for the first to end. " +
		"Webhook and reporter first ask GitHub which account their credentials belong to, and do not start without an answer."
}

// Run runs the parts until ctx ends.
func (c *serveCmd) Run(ctx context.Context, p *Program) error {
	if c.Listen != "" {
		p.config.Listen = c.Listen
	}
	if err := c.TLS.apply(&p.config); err != nil {
		return err
	}
	return p.host().Serve(ctx, node.ServeOptions{Parts: c.Parts, Insecure: c.Insecure})
}
