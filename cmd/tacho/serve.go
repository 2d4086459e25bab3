package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/readmodel"
)

type serveCmd struct {
	Parts  []string `arg:"" help:"Which parts: scheduler, projector, website." sep:","`
	Listen string   `help:"Address of the website and API." placeholder:"ADDR"`
}

// Help is shown by --help.
func (c *serveCmd) Help() string {
	return "The log is the NATS cluster of nats.url (TACHO_NATS_URL), the tables are in the Postgres of database.url (TACHO_DATABASE_URL). " +
		"Any number of schedulers and websites may run; a second projector on the same database waits for the first to end."
}

// Run runs the parts until ctx ends.
func (c *serveCmd) Run(ctx context.Context, p *program) error {
	if c.Listen != "" {
		p.config.Listen = c.Listen
	}
	wanted := map[string]bool{}
	for _, part := range c.Parts {
		switch part {
		case "scheduler", "projector", "website":
			wanted[part] = true
		default:
			return usagef("unknown part %q: use scheduler, projector or website", part)
		}
	}
	if p.config.NATS.URL == "" {
		return usagef("the parts need a NATS cluster: set nats.url (TACHO_NATS_URL), or run everything with `tacho up`")
	}
	if p.config.Database.URL == "" && (wanted["projector"] || wanted["website"]) {
		return usagef("projector and website need a Postgres: set database.url (TACHO_DATABASE_URL), or run everything with `tacho up`")
	}
	suites, err := loadSuites(p.config.Suites)
	if err != nil {
		return err
	}
	k, err := openLog(ctx, p.config, p.logger())
	if err != nil {
		return err
	}
	defer k.close()
	k.databaseURL = p.config.Database.URL
	parts := newParts(ctx, k, p.config, p.config.Token, p.clock, p.logger())
	parts.background()
	if wanted["projector"] {
		if err := migrate(ctx, p.config); err != nil {
			return err
		}
		parts.projector()
	}
	if wanted["scheduler"] {
		parts.scheduler()
	}
	if wanted["website"] {
		l, err := listen(p.config.Listen)
		if err != nil {
			return err
		}
		if err := parts.website(l, namesOf(suites)); err != nil {
			return errors.Join(err, l.Close())
		}
		p.say("website    %s", urlOf(l))
	}
	p.say("serving    %s", strings.Join(c.Parts, ", "))
	return parts.group.Wait()
}

func migrate(ctx context.Context, c config.Config) error {
	if err := readmodel.Migrate(ctx, c.Database.URL); err != nil {
		return fmt.Errorf("prepare the database: %w", err)
	}
	return nil
}
