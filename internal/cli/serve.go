package cli

import (
	"context"

	"github.com/tachobench/tacho/internal/node"
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
func (c *serveCmd) Run(ctx context.Context, p *Program) error {
	if c.Listen != "" {
		p.config.Listen = c.Listen
	}
	if err := c.TLS.apply(&p.config); err != nil {
		return err
	}
	return p.host().Serve(ctx, node.ServeOptions{Parts: c.Parts, Insecure: c.Insecure})
}
