package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/subprocess"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
)

type upCmd struct {
	Listen     string        `help:"Address of the website and API; default: 127.0.0.1:8421." placeholder:"ADDR"`
	NATSListen string        `help:"Address where collectors of other machines reach the log." placeholder:"ADDR" name:"nats-listen"`
	Insecure   bool          `help:"Believe every delivery to the webhook, without a secret. For tries on one's own machine." name:"insecure-dev"`
	Collectors int           `help:"Collectors to run on this machine; -1 runs one per set of its target." default:"-1"`
	Demo       bool          `help:"Benchmark two releases as parent and child in a data directory of its own, and print the comparison; on a terminal the pages stay until Ctrl-C."`
	Stay       bool          `help:"With --demo: keep serving the pages after the comparison, also where there is no terminal."`
	TLS        webTLS        `embed:""`
	NATSTLS    natsServerTLS `embed:""`
	JSON       bool          `help:"With --demo: print the comparison as JSON." name:"json"`
}

// Help is shown by --help.
func (c *upCmd) Help() string {
	return "The first start makes the data directory: the log (an embedded NATS JetStream), a Postgres of its own for the tables, keys and caches. " +
		"With a repository (github.repo) and credentials it first asks GitHub which account comments are written as, and does not start without an answer. " +
		"It stops softly on Ctrl-C. Killing it at any moment loses nothing: start it again."
}

// Run runs everything until ctx ends.
func (c *upCmd) Run(ctx context.Context, p *program) error {
	if c.Listen != "" {
		p.config.Listen = c.Listen
	}
	if c.NATSListen != "" {
		p.config.NATS.Listen = c.NATSListen
	}
	if err := c.applyTLS(&p.config); err != nil {
		return err
	}
	if c.Insecure && p.config.GitHub.Repo == "" {
		return usagef("--insecure-dev is for the webhook, which needs a repository: set github.repo (TACHO_GITHUB_REPO), or leave the flag out")
	}
	if c.Demo {
		return c.demo(ctx, p)
	}
	if c.Stay || c.JSON {
		return usagef("--stay and --json are about the comparison of a demo: add --demo, or leave them out")
	}
	return c.serve(ctx, p, nil)
}

// serve runs everything until ctx ends, or until the task that is given, if any, has ended.
func (c *upCmd) serve(ctx context.Context, p *program, task func(ctx context.Context, up *upRun) error) (err error) {
	d := directory(p.config.Data)
	if err := d.make(); err != nil {
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
	unlock, err := d.own()
	if err != nil {
		return err
	}
	defer unlock()
	up := &upRun{program: p, directory: d, suites: suites, insecure: c.Insecure, github: task == nil && p.config.GitHub.Repo != ""}
	if up.github {
		if up.self, err = p.identify(ctx); err != nil {
			return err
		}
	}
	logger := p.logger()
	if pair != nil {
		d.keepShown(pair, webShown, logger)
	}
	k, err := p.openLog(ctx, logger)
	if err != nil {
		return err
	}
	defer k.close()
	if err := p.openRegistry(ctx, k); err != nil {
		return err
	}
	if p.config.NATS.URL == "" {
		p.say("log        %s (%s)", d.path("log"), k.natsURL)
	} else {
		p.say("log        %s", hostsOf(k.natsURL))
	}
	token, err := d.token()
	if err != nil {
		return err
	}
	if p.config.Token != "" {
		token = p.config.Token
	}
	var begins errgroup.Group
	begins.Go(func() error {
		k.ledger(p.clock, logger).Begin(ctx)
		return nil
	})
	begins.Go(func() error {
		if err := k.startDatabase(ctx, p.config, func(text string) { p.say("database   %s", text) }, logger); err != nil {
			return err
		}
		return p.migrate(ctx, k.databaseURL)
	})
	if err := begins.Wait(); err != nil {
		return err
	}
	l, err := listenWith(p.config.Listen, pair)
	if err != nil {
		return err
	}
	up.url = urlOf(l)
	if up.here, err = p.announcement(k, l); err != nil {
		return errors.Join(err, l.Close())
	}
	return errors.Join(up.run(ctx, c.Collectors, l, task, func(ctx context.Context) *parts {
		return newParts(ctx, k, p.config, token, p.clock, logger)
	}), d.withdraw())
}

// upRun is one run of everything.
type upRun struct {
	*program
	directory directory
	suites    []suite.Definitions
	parts     *parts
	// children are the collectors.
	children errgroup.Group
	url      string
	// here is what is announced.
	here    running
	control *control.Control
	// github is set when pull requests get comments; insecure when every delivery is believed. self is the account that
	// comments are written as.
	github, insecure bool
	self             githubapi.Account
}

// run ends when ctx does, when the task has ended, or when a part cannot go on. The collectors end first,
// while everything that they need to give their jobs back is still there.
func (u *upRun) run(ctx context.Context, collectors int, l net.Listener, task func(context.Context, *upRun) error,
	make func(context.Context) *parts,
) error {
	partsCtx, stopParts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopParts()
	u.parts = make(partsCtx)
	u.parts.self = u.self
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	names := namesOf(u.suites)
	if len(names) > 0 {
		u.parts.suite = names[0]
	}
	u.control = u.parts.control(func(context.Context) ([]events.SuiteName, error) { return names, nil })
	u.parts.background()
	u.parts.projector()
	u.parts.scheduler()
	u.parts.watchdog(u.url)
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
	if err := u.begin(ctx, collectors, l, names); err != nil {
		stop()
		return errors.Join(err, u.parts.group.Wait())
	}
	if task == nil {
		// What a task is about must not wait behind what a source has.
		if err := u.pollers(); err != nil {
			stop()
			return errors.Join(err, u.parts.group.Wait())
		}
	} else {
		u.parts.run(func(context.Context) error {
			defer stop()
			err := task(ctx, u)
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil // an error would end the core before the collectors have given their jobs back
			}
			return err
		})
	}
	return u.parts.group.Wait()
}

// pollers polls the configured sources; their suites are published by now.
func (u *upRun) pollers() error {
	for _, c := range u.config.Pollers {
		u.say("source     %s: %s, every %s", c.Name, c.Place(), c.Interval.Std())
	}
	return u.parts.pollers()
}

func namesOf(suites []suite.Definitions) []events.SuiteName {
	names := make([]events.SuiteName, 0, len(suites))
	for _, d := range suites {
		names = append(names, d.Name)
	}
	return names
}

// begin publishes the definitions, opens the website and starts the collectors.
func (u *upRun) begin(ctx context.Context, collectors int, l net.Listener, names []events.SuiteName) error {
	by := control.By{Actor: u.actor(), Source: "cli", Root: "tacho up"}
	for _, d := range u.suites {
		answer, err := u.control.Publish(ctx, by, d)
		if err != nil {
			return err
		}
		u.say("suite      %s: %s, digest %.12s%s", d.Name, phrase.Count(len(d.Benchmarks), "benchmark"), d.Digest(), when(!answer.Existed, ", published"))
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
	if err := u.directory.announce(u.here); err != nil {
		return err
	}
	u.say("website    %s", u.url)
	for _, lane := range hostLanes(u.suites, collectors) {
		if err := u.startCollector(ctx, by, lane); err != nil {
			return err
		}
	}
	return nil
}

// onGitHub takes deliveries and writes comments, as far as there are a repository, a secret and credentials.
func (u *upRun) onGitHub(reader *readmodel.Reader) (http.Handler, error) {
	if !u.github {
		return nil, nil
	}
	c := u.config.GitHub
	if err := u.parts.reporter(u.url, reader); err != nil {
		return nil, err
	}
	writes := howWritten(c, u.self)
	if secret, err := c.WebhookSecret(); err != nil || len(secret) == 0 && !u.insecure {
		u.say("github     %s: %s, and none is read: set TACHO_WEBHOOK_SECRET to the one that GitHub knows", c.Repo, writes)
		return nil, err
	}
	u.say("github     %s: deliveries at %s%s, commands after @%s; %s", c.Repo, u.url, webhookPath, c.Bot, writes)
	return u.parts.webhook(u.url, u.insecure, reader)
}

// startCollector registers a collector of this machine, if it is not, and keeps a process of it running.
func (u *upRun) startCollector(ctx context.Context, by control.By, lane events.Lane) error {
	name := events.CollectorName(fmt.Sprintf("local-%s-%d", lane.Target, lane.Set))
	c, public, err := u.directory.newCredentials(name, lane.Target, lane.Set)
	if err != nil {
		return err
	}
	c.NATSURL = u.parts.core.natsURL
	if err := c.trust(u.here.NATSCA, u.here.NATSServerName); err != nil {
		return err
	}
	if err := u.directory.keep(c); err != nil {
		return err
	}
	_, err = u.control.AddCollector(ctx, by, control.NewCollector{Name: name, Target: lane.Target, Set: lane.Set, NKey: public})
	var refused *control.RefusedError
	if errors.As(err, &refused) {
		// One that was only taken out may be activated again.
		s, readErr := u.control.Standing(ctx, name)
		if readErr != nil {
			return readErr
		}
		if r := s.Registered; r != nil && r.Target == lane.Target && r.Set == lane.Set && !s.Active && !s.Removed {
			err = nil
		}
	}
	if errors.As(err, &refused) {
		u.say("collector  %s is not started: %s", name, refused.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	args := append([]string{"collector", "run", string(name), "--data", string(u.directory)}, u.parts.core.secured.arguments()...)
	if u.globals.Config != "" {
		args = append(args, "--config", u.globals.Config)
	}
	if u.globals.Verbose {
		args = append(args, "--verbose")
	}
	if u.config.Collector.Cache != "" {
		args = append(args, "--cache", u.config.Collector.Cache)
	}
	u.say("collector  %s for lane %s", name, lane)
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	one := supervisor.New(supervisor.Config{
		Name: name, Own: own, Arguments: args, Environ: withoutTokens(os.Environ()), Output: u.stderr, Bind: subprocess.DieWithParent,
		Open:   func(context.Context) (eventlog.Aggregates, func(), error) { return u.parts.core.log, func() {}, nil },
		Pauses: supervisor.Pauses{Restart: 200 * time.Millisecond, RestartMost: 30 * time.Second, Look: time.Second},
		Clock:  u.clock, Logger: u.parts.logger.With("collector", string(name)),
	})
	u.children.Go(func() error { return one.Run(ctx) })
	return nil
}

// hostLanes returns the lanes of the targets that this machine is, at most n of them; all when n is
// negative.
func hostLanes(suites []suite.Definitions, n int) []events.Lane {
	var lanes []events.Lane
	seen := map[events.Lane]bool{}
	for _, d := range suites {
		for _, t := range d.Targets {
			if t.OS != runtime.GOOS || t.Arch != runtime.GOARCH {
				continue
			}
			for set := range t.Sets {
				if l := (events.Lane{Target: t.Name, Set: events.Set(set)}); !seen[l] && (n < 0 || len(lanes) < n) {
					seen[l] = true
					lanes = append(lanes, l)
				}
			}
		}
	}
	return lanes
}

// loadSuites loads shipped suites by name and others by file.
func loadSuites(namesOrFiles []string) ([]suite.Definitions, error) {
	var out []suite.Definitions
	for _, name := range namesOrFiles {
		d, err := definitions.Load(name)
		if err != nil {
			return nil, usageError{err}
		}
		out = append(out, d)
	}
	return out, nil
}

// suiteSources says where the programs of suites that are files lie on this machine.
func suiteSources(namesOrFiles []string, configured map[string]string) (map[string]string, error) {
	sources := map[string]string{}
	for _, name := range namesOrFiles {
		if filepath.Ext(name) != ".toml" {
			continue
		}
		d, err := definitions.Load(name)
		if err != nil {
			return nil, usageError{err}
		}
		sources[string(d.Name)] = filepath.Dir(name)
	}
	for name, dir := range configured {
		sources[name] = dir
	}
	return sources, nil
}

// urlOf returns the URL at which a person reaches the listener.
func urlOf(l net.Listener) string {
	address, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		prefix, _ := scheme(l, "")
		return prefix + l.Addr().String()
	}
	host := address.Addr().String()
	if address.Addr().IsUnspecified() {
		host = "localhost"
	}
	prefix, host := scheme(l, host)
	return prefix + net.JoinHostPort(host, fmt.Sprint(address.Port()))
}

// say prints a line about what is being done. It goes to stderr, so that stdout holds answers alone.
func (p *program) say(format string, args ...any) {
	fmt.Fprintln(p.stderr, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// actor is who types the commands, in a form that the API takes.
func (p *program) actor() events.Actor {
	user := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._@-", r)) {
			return r
		}
		return -1
	}, p.getenv("USER"))
	if user == "" || len(user) > 64 {
		user = fmt.Sprintf("uid-%d", os.Getuid())
	}
	return events.Actor("cli:" + user)
}
