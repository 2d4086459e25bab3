package main

import (
	"context"
	"errors"
	"strings"
)

type serveCmd struct {
	Parts  []string `arg:"" help:"Which parts, with commas or spaces between them: scheduler, projector, website."`
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
	wanted, err := partsOf(c.Parts)
	if err != nil {
		return err
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
	k, err := p.openLog(ctx, p.logger())
	if err != nil {
		return err
	}
	defer k.close()
	k.databaseURL = p.config.Database.URL
	if wanted["projector"] {
		err = p.migrate(ctx, k.databaseURL)
	} else if wanted["website"] {
		err = p.awaitDatabase(ctx)
	}
	if err != nil {
		return err
	}
	parts := newParts(ctx, k, p.config, p.config.Token, p.clock, p.logger())
	parts.background()
	if wanted["projector"] {
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
	p.say("serving    %s", strings.Join(sortedKeys(wanted), ", "))
	return parts.group.Wait()
}

// partsOf reads the names of parts: arguments, each of which may be a list with commas.
func partsOf(args []string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, part := range strings.Split(strings.Join(args, ","), ",") {
		switch part = strings.TrimSpace(part); part {
		case "scheduler", "projector", "website":
			wanted[part] = true
		case "":
		default:
			return nil, usagef("unknown part %q: use scheduler, projector or website", part)
		}
	}
	if len(wanted) == 0 {
		return nil, usagef("no part is named: use scheduler, projector or website")
	}
	return wanted, nil
}
