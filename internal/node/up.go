package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/subprocess"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
)

// UpOptions says what Up runs besides the parts.
type UpOptions struct {
	// Collectors is how many collectors run on this machine; a negative number is one per set of its target.
	Collectors int
	// Insecure accepts every delivery to the webhook.
	Insecure bool
	// Task is the task that everything runs for. With a task, Up ends when the task ends, polls no source and writes no
	// comment. Without one, Up runs until ctx ends.
	Task func(context.Context, *Up) error
}

// Up is one run of everything on this machine, as a task sees it.
type Up struct {
	*Host
	Dir     datadir.Dir
	Suites  []suite.Definitions
	Control *control.Control
	// Here says where it answers. It is announced in the data directory.
	Here datadir.Running

	options UpOptions
	parts   *parts
	// children are the collectors.
	children errgroup.Group
	// github is set if pull requests get comments. self is the account that writes them.
	github bool
	self   githubapi.Account
	// keys are the private keys that the configuration names.
	keys sealKeys
}

// Up runs everything on this machine until ctx ends, or until the task of the options has ended. It returns a usage.Error
// for a wrong configuration, and a *control.RefusedError for a data directory in use.
func (h *Host) Up(ctx context.Context, o UpOptions) error {
	d := h.data()
	if err := d.Make(); err != nil {
		return err
	}
	suites, err := LoadSuites(h.Config.Suites)
	if err != nil {
		return err
	}
	if o.Task == nil {
		if err := h.checkHooks(); err != nil {
			return err
		}
	}
	pair, err := h.webPair()
	if err != nil {
		return err
	}
	keys, err := h.sealKeys()
	if err != nil {
		return err
	}
	unlock, err := d.Own()
	if err != nil {
		return err
	}
	defer unlock()
	up := &Up{Host: h, Dir: d, Suites: suites, options: o, github: o.Task == nil && h.Config.GitHub.Repo != "", keys: keys}
	if up.github {
		if up.self, err = h.identify(ctx); err != nil {
			return err
		}
	}
	if pair != nil {
		keepShown(d, datadir.WebShown, pair, h.Logger)
	}
	k, err := h.openLog(ctx, false)
	if err != nil {
		return err
	}
	defer k.close()
	token, err := d.Token()
	if err != nil {
		return err
	}
	if h.Config.Token != "" {
		token = h.Config.Token
	}
	if err := up.fill(ctx, k); err != nil {
		return err
	}
	if err := h.checkTables(ctx, k); err != nil {
		return err
	}
	if err := h.tryRegistry(ctx, k); err != nil {
		return err
	}
	l, err := listenWith(h.Config.Listen, pair)
	if err != nil {
		return err
	}
	if up.Here, err = h.announcement(k, l); err != nil {
		return errors.Join(err, l.Close())
	}
	return errors.Join(up.run(ctx, l, func(ctx context.Context) *parts { return newParts(ctx, h, k, token) }), d.Withdraw())
}

// fill reads the log while the database starts.
func (u *Up) fill(ctx context.Context, k *core) error {
	if u.Config.NATS.URL == "" {
		u.Say("log        %s (%s)", u.Dir.Path("log"), k.natsURL)
	} else {
		u.Say("log        %s", config.NATSHosts(k.natsURL))
	}
	var begins errgroup.Group
	begins.Go(func() error {
		k.ledger(u.Clock, u.Logger).Begin(ctx)
		return nil
	})
	begins.Go(func() error {
		if err := k.startDatabase(ctx, u.Host); err != nil {
			return err
		}
		return u.migrate(ctx, k.databaseURL)
	})
	return begins.Wait()
}

// run ends when ctx ends, when the task has ended, or when a part fails. The collectors end first: to give their jobs back,
// they need everything else.
func (u *Up) run(ctx context.Context, l net.Listener, make func(context.Context) *parts) error {
	partsCtx, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()
	u.parts = make(partsCtx)
	u.parts.self, u.parts.keys = u.self, u.keys
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	names := namesOf(u.Suites)
	if len(names) > 0 {
		u.parts.suite = names[0]
	}
	u.Control = u.parts.control(func(context.Context) ([]events.SuiteName, error) { return names, nil })
	u.parts.background()
	u.parts.projector()
	u.parts.scheduler()
	u.parts.watchdog(u.Here.URL)
	u.parts.run(func(failed context.Context) error {
		select {
		case <-ctx.Done():
		case <-failed.Done():
		}
		stop()
		err := u.children.Wait()
		stopParts()
		return err
	})
	err := u.begin(ctx, l, names)
	if err == nil && u.options.Task == nil {
		// The requests of a task must not wait behind those of a source.
		err = u.pollers()
	}
	if err == nil && u.options.Task == nil {
		err = u.parts.hooks()
	}
	if err != nil {
		stop()
		return errors.Join(err, u.parts.group.Wait())
	}
	if u.options.Task != nil {
		u.parts.run(func(context.Context) error {
			defer stop()
			err := u.options.Task(ctx, u)
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil // an error would end the core before the collectors give their jobs back
			}
			return err
		})
	}
	return u.parts.group.Wait()
}

// pollers polls the configured sources. Their suites must be published.
func (u *Up) pollers() error {
	for _, c := range u.Config.Pollers {
		u.Say("source     %s: %s, every %s", c.Name, c.Place(), c.Interval.Std())
	}
	return u.parts.pollers()
}

// begin publishes the definitions, opens the website and starts the collectors.
func (u *Up) begin(ctx context.Context, l net.Listener, names []events.SuiteName) error {
	by := control.By{Actor: u.Actor, Source: "cli", Root: "tacho up"}
	for _, d := range u.Suites {
		if err := u.soon(ctx, "suite "+string(d.Name), func(ctx context.Context) error { return u.publish(ctx, by, d) }); err != nil {
			return err
		}
	}
	reader, err := u.parts.reader()
	if err != nil {
		return err
	}
	hook, err := u.onGitHub(reader)
	if err != nil {
		return err
	}
	u.parts.serveHTTP(l, withWebhook(u.parts.website(reader, names), hook))
	if err := u.Dir.Announce(u.Here); err != nil {
		return err
	}
	u.Say("website    %s", u.Here.URL)
	for _, lane := range HostLanes(u.Suites, u.options.Collectors) {
		what := fmt.Sprintf("the collector of lane %s", lane)
		if err := u.soon(ctx, what, func(ctx context.Context) error { return u.startCollector(ctx, by, lane) }); err != nil {
			return err
		}
	}
	return nil
}

// soon does what a start does on the log. If this program does not understand an event that it needs, it does so later,
// beside everything else.
func (u *Up) soon(ctx context.Context, what string, f func(context.Context) error) error {
	err := f(ctx)
	if !errors.Is(err, events.ErrUnknownType) {
		return err
	}
	u.children.Go(func() error { return u.patiently(ctx, u.parts.stays, what, f) })
	return nil
}

// publish publishes definitions that the configuration names.
func (u *Up) publish(ctx context.Context, by control.By, d suite.Definitions) error {
	answer, err := u.Control.PublishFrom(ctx, by, d, control.Origin{Standing: true, Seal: u.keys.suites.Definitions(d.Name, d.Digest())})
	if err != nil {
		return err
	}
	inForce, err := u.Control.Definitions(ctx, d.Name, "")
	if err != nil {
		return err
	}
	published := ""
	switch now := inForce.Digest(); {
	case now != d.Digest():
		published = fmt.Sprintf(", and digest %.12s is in use: it was promoted, or comes from a repository", now)
	case !answer.Existed:
		published = ", published"
	}
	u.Say("suite      %s: %s, digest %.12s%s", d.Name, phrase.Count(len(d.Benchmarks), "benchmark"), d.Digest(), published)
	return nil
}

// onGitHub runs the reporter if there is a repository, and also the webhook if there is a secret or none is needed.
func (u *Up) onGitHub(reader *readmodel.Reader) (http.Handler, error) {
	if !u.github {
		return nil, nil
	}
	c := u.Config.GitHub
	if err := u.parts.reporter(u.Here.URL, reader); err != nil {
		return nil, err
	}
	writes := howWritten(c, u.self)
	if secret, err := c.WebhookSecret(); err != nil || len(secret) == 0 && !u.options.Insecure {
		u.Say("github     %s: %s, and no commands are read: set TACHO_WEBHOOK_SECRET to the secret of the webhook on GitHub", c.Repo, writes)
		return nil, err
	}
	u.Say("github     %s: deliveries at %s%s, commands after @%s; %s", c.Repo, u.Here.URL, webhookPath, c.Bot, writes)
	return u.parts.webhook(u.Here.URL, u.options.Insecure, reader)
}

// startCollector registers a collector of this machine, unless it is registered, and keeps its process running.
func (u *Up) startCollector(ctx context.Context, by control.By, lane events.Lane) error {
	name := events.CollectorName(fmt.Sprintf("local-%s-%d", lane.Target, lane.Set))
	c, public, err := u.Dir.NewCredentials(name, lane.Target, lane.Set)
	if err != nil {
		return err
	}
	c.NATSURL = u.parts.core.natsURL
	if err := c.Trust(u.Here.NATSCA, u.Here.NATSServerName); err != nil {
		return err
	}
	if err := u.Dir.Keep(c); err != nil {
		return err
	}
	_, err = u.Control.AddCollector(ctx, by, control.NewCollector{Name: name, Target: lane.Target, Set: lane.Set, NKey: public})
	var refused *control.RefusedError
	if errors.As(err, &refused) {
		// Start a collector that is only deactivated: a person may activate it again.
		s, readErr := u.Control.Standing(ctx, name)
		if readErr != nil {
			return readErr
		}
		if r := s.Registered; r != nil && r.Target == lane.Target && r.Set == lane.Set && !s.Active && !s.Removed {
			err = nil
		}
	}
	if errors.As(err, &refused) {
		u.Say("collector  %s is not started: %s", name, refused.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	args := append([]string{"collector", "run", string(name), "--data", string(u.Dir)}, u.parts.core.secured.arguments()...)
	if u.ConfigFile != "" {
		args = append(args, "--config", u.ConfigFile)
	}
	if u.Verbose {
		args = append(args, "--verbose")
	}
	if u.Config.Collector.Cache != "" {
		args = append(args, "--cache", u.Config.Collector.Cache)
	}
	u.Say("collector  %s for lane %s", name, lane)
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	one := supervisor.New(supervisor.Config{
		Name: name, Own: own, Arguments: args, Environ: WithoutTokens(os.Environ()), Output: u.Stderr, Bind: subprocess.DieWithParent,
		Open:   func(context.Context) (eventlog.Aggregates, func(), error) { return u.parts.core.log, func() {}, nil },
		Pauses: supervisor.Pauses{Restart: 200 * time.Millisecond, RestartMost: 30 * time.Second, Look: time.Second},
		Clock:  u.Clock, Logger: u.Logger.With("collector", string(name)),
	})
	u.children.Go(func() error { return one.Run(ctx) })
	return nil
}
