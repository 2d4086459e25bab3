package node

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/webhook"
)

// ServeOptions says what Serve runs.
type ServeOptions struct {
	// Parts are the names of parts; each may be a list with commas.
	Parts []string
	// Insecure accepts every delivery to the webhook.
	Insecure bool
}

// Serve runs parts on a cluster until ctx ends. It returns a usage.Error for a wrong command line or configuration.
func (h *Host) Serve(ctx context.Context, o ServeOptions) error {
	wanted, err := partsOf(o.Parts)
	if err != nil {
		return err
	}
	if err := h.checkServe(wanted, o.Insecure); err != nil {
		return err
	}
	suites, err := LoadSuites(h.Config.Suites)
	if err != nil {
		return err
	}
	keys, err := h.sealKeys()
	if err != nil {
		return err
	}
	pair, err := h.webPair()
	if err != nil {
		return err
	}
	var self githubapi.Account
	if wanted["webhook"] || wanted["reporter"] {
		if self, err = h.identify(ctx); err != nil {
			return err
		}
		h.Say("github     %s: %s", h.Config.GitHub.Repo, howWritten(h.Config.GitHub, self))
	}
	k, err := h.openLog(ctx, false)
	if err != nil {
		return err
	}
	defer k.close()
	k.databaseURL = h.Config.Database.URL
	if wanted["projector"] {
		err = h.migrate(ctx, k.databaseURL)
	} else if wanted["website"] || wanted["reporter"] {
		err = h.awaitDatabase(ctx)
	}
	if err == nil && wanted["projector"] {
		// The other parts may start before the tables are there.
		err = h.checkTables(ctx, k)
	}
	if err != nil {
		return err
	}
	if err := h.tryRegistry(ctx, k); err != nil {
		return err
	}
	parts := newParts(ctx, h, k, h.Config.Token)
	parts.self, parts.keys = self, keys
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
	if wanted["hook"] {
		if err := parts.hooks(); err != nil {
			return err
		}
	}
	if err := parts.serveOver(wanted, o.Insecure, namesOf(suites), pair); err != nil {
		return err
	}
	h.Say("serving    %s", strings.Join(slices.Sorted(maps.Keys(wanted)), ", "))
	return parts.group.Wait()
}

// checkServe refuses a configuration that the parts cannot work with, before they connect to anything.
func (h *Host) checkServe(wanted map[string]bool, insecure bool) error {
	c := h.Config
	switch {
	case c.NATS.URL == "":
		return usage.Errorf("the parts need a NATS cluster: set nats.url (TACHO_NATS_URL), or run everything with `tacho up`")
	case c.Database.URL == "" && (wanted["projector"] || wanted["website"] || wanted["reporter"]):
		return usage.Errorf("projector, reporter and website need a Postgres: set database.url (TACHO_DATABASE_URL), or run everything with `tacho up`")
	case wanted["poller"] && len(c.Pollers) == 0:
		return usage.Errorf("there is nothing to poll: add a [[poller]] to the configuration, and name the file with --config")
	case wanted["hook"] && len(c.Hooks) == 0:
		return usage.Errorf("there is nothing to post to: add a [[hook]] to the configuration, and name the file with --config")
	case c.GitHub.Repo == "" && (wanted["webhook"] || wanted["reporter"]):
		return usage.Errorf("webhook and reporter need a repository: set github.repo (TACHO_GITHUB_REPO)")
	case !wanted["webhook"] && insecure:
		return usage.Errorf("--insecure-dev is for the webhook: name it among the parts, or leave the flag out")
	}
	if wanted["hook"] {
		if err := h.checkHooks(); err != nil {
			return err
		}
	}
	if !wanted["webhook"] {
		return nil
	}
	secret, err := c.GitHub.WebhookSecret()
	if err == nil && len(secret) == 0 && !insecure {
		err = webhook.ErrNoSecret
	}
	if err != nil {
		return usage.Error{Err: err}
	}
	return nil
}

// serveOver runs the watchdog, the reporter, the webhook and the website: the parts that read the tables, serve HTTP, or
// link to the pages.
func (p *parts) serveOver(wanted map[string]bool, insecure bool, suites []events.SuiteName, pair *tlsfiles.Pair) (err error) {
	if len(suites) > 0 {
		p.suite = suites[0]
	}
	var reader *readmodel.Reader
	if p.Config.Database.URL != "" && (wanted["website"] || wanted["reporter"] || wanted["webhook"]) {
		if reader, err = p.reader(); err != nil {
			return err
		}
	}
	var l net.Listener
	here := ""
	if wanted["website"] || wanted["webhook"] {
		if l, err = listenWith(p.Config.Listen, pair); err != nil {
			return err
		}
		here = urlOf(l)
	}
	if wanted["watchdog"] {
		p.watchdog(here)
	}
	if wanted["reporter"] {
		if err := p.reporter(here, reader); err != nil {
			return err
		}
	}
	var hook, site http.Handler
	if wanted["webhook"] {
		if hook, err = p.webhook(here, insecure, reader); err != nil {
			return usage.Error{Err: err}
		}
		p.Say("webhook    %s%s", here, webhookPath)
	}
	if wanted["website"] {
		site = p.website(reader, suites)
		p.Say("website    %s", here)
	}
	if l != nil {
		p.serveHTTP(l, withWebhook(site, hook))
	}
	return nil
}

// partsOf reads the names of parts: arguments, each of which may be a list with commas.
func partsOf(args []string) (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, part := range strings.Split(strings.Join(args, ","), ",") {
		switch part = strings.TrimSpace(part); part {
		case "scheduler", "projector", "poller", "watchdog", "webhook", "reporter", "hook", "website":
			wanted[part] = true
		case "":
		default:
			return nil, usage.Errorf("unknown part %q: use scheduler, projector, poller, watchdog, webhook, reporter, hook or website", part)
		}
	}
	if len(wanted) == 0 {
		return nil, usage.Errorf("no part is named: use scheduler, projector, poller, watchdog, webhook, reporter, hook or website")
	}
	return wanted, nil
}
