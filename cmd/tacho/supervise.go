package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/subprocess"
	"github.com/tachobench/tacho/website/client"
)

type collectorWantCmd struct {
	because
	Version string `arg:"" optional:"" help:"What the program says of itself: a tag, or a commit. Without it: show what is wanted."`
	JSON    bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *collectorWantCmd) Help() string {
	return "Collectors that run under `tacho collector supervise` leave for the wanted version between two requests, never inside one. " +
		"`tacho collector list` shows the version of each."
}

// Run says or shows which version is wanted.
func (c *collectorWantCmd) Run(ctx context.Context, p *program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	if c.Version == "" {
		return c.show(ctx, p, cl)
	}
	answer, err := cl.WantVersion(ctx, events.VersionWanted{Version: c.Version, Reason: c.Reason})
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(answer)
	}
	already := ""
	if answer.Existed {
		already = " already"
	}
	fmt.Fprintf(p.stdout, "version %s is wanted%s\n", c.Version, already)
	return nil
}

func (c *collectorWantCmd) show(ctx context.Context, p *program, cl *client.Client) error {
	wanted, err := cl.WantedVersion(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(wanted)
	}
	if wanted.Version == "" {
		fmt.Fprintln(p.stdout, "No version is wanted: collectors stay at theirs. Say one with `tacho collector want VERSION`.")
		return nil
	}
	fmt.Fprintf(p.stdout, "version %s is wanted, since %s, says %s%s\n", wanted.Version, moment(wanted.Since), wanted.Actor, because{wanted.Reason}.text())
	return nil
}

func (b because) text() string {
	if b.Reason == "" {
		return ""
	}
	return ": " + b.Reason
}

// tellVersions says below a list of collectors which version is wanted, and why a collector has another one.
func (p *program) tellVersions(list []client.Collector, wanted client.WantedVersion) {
	if wanted.Version == "" {
		return
	}
	fmt.Fprintf(p.stdout, "\nversion %s is wanted%s\n", wanted.Version, because{wanted.Reason}.text())
	for _, c := range list {
		if c.Online && c.Reason != "" && c.Version != wanted.Version {
			fmt.Fprintf(p.stdout, "%s: %s\n", c.Name, c.Reason)
		}
	}
}

type collectorSuperviseCmd struct {
	collectorRunCmd
	Git      string `help:"Repository that versions are built from." placeholder:"URL" xor:"source"`
	Ref      string `help:"Branch of it whose commits may be built, besides its tags." default:"main"`
	Build    string `help:"How: a command for sh, with VERSION set, that leaves tacho or bin/tacho." default:"make build" placeholder:"CMD"`
	Download string `help:"Where versions are downloaded: a URL with {version}, {os} and {arch}; its SHA-256 is at URL.sha256." placeholder:"URL" xor:"source"`
}

// Help is shown by --help.
func (c *collectorSuperviseCmd) Help() string {
	return "Runs `tacho collector run` as a process of its own and starts it again when it ends. When another version is wanted " +
		"(`tacho collector want`), the collector leaves between two requests, and that version is fetched, built and started; where that " +
		"fails, the one before goes on. Whoever can write to the repository or the server runs programs on this machine. " +
		"A collector that was drained or deactivated is started when it is activated. Ctrl-C ends both softly."
}

// Run keeps the collector running until ctx ends.
func (c *collectorSuperviseCmd) Run(ctx context.Context, p *program) error {
	if err := events.CheckToken("collector", string(c.Name)); err != nil {
		return usageError{err}
	}
	source, err := c.source(p)
	if err != nil {
		return err
	}
	if _, _, err := c.access(p); err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	d := directory(p.config.Data)
	unlock, err := lockSupervisor(d, c.Name)
	if err != nil {
		return err
	}
	defer unlock()
	p.say("collector %s is supervised; its versions are in %s", c.Name, d.path(versionsOf(c.Name)))
	return supervisor.New(supervisor.Config{
		Name: c.Name, Dir: d.path(versionsOf(c.Name)), Own: own, Arguments: c.arguments(p), Environ: withoutTokens(os.Environ()), Source: source,
		Open:   func(ctx context.Context) (eventlog.Aggregates, func(), error) { return c.asCollector(ctx, p) },
		Output: p.stderr, Bind: subprocess.DieWithParent, Clock: p.clock, Logger: p.logger().With("collector", string(c.Name)),
		Pauses: supervisor.Pauses{Look: p.config.Collector.BeatEvery.Std()},
	}).Run(ctx)
}

func versionsOf(name events.CollectorName) string { return filepath.Join("versions", string(name)) }

// source returns where versions come from; nil when none was named.
func (c *collectorSuperviseCmd) source(p *program) (supervisor.Source, error) {
	switch {
	case c.Git != "" && strings.TrimSpace(c.Build) == "":
		return nil, usagef("--build: name a command, or leave it out for `make build`")
	case c.Git != "":
		return supervisor.Git{URL: c.Git, Ref: c.Ref, Build: c.Build, Environ: withoutTokens(os.Environ()), Output: p.stderr, Bind: subprocess.DieWithParent}, nil
	case c.Download != "":
		if err := supervisor.CheckTemplate(c.Download); err != nil {
			return nil, usagef("--download: %w", err)
		}
		return supervisor.Download{Template: c.Download}, nil
	}
	return nil, usagef("where versions come from is not known: name a repository with --git, or a server with --download")
}

// withoutTokens leaves out what neither a collector nor a build has a use for.
func withoutTokens(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{
			"TACHO_TOKEN", "TACHO_GITHUB_TOKEN", "TACHO_WEBHOOK_SECRET", "TACHO_DATABASE_URL", "TACHO_ALERT_WEBHOOK",
		}, name)
	})
}

// arguments start the collector as this command was started.
func (c *collectorSuperviseCmd) arguments(p *program) []string {
	args := []string{"--data", p.config.Data}
	flags := map[string]string{
		"--config": p.globals.Config, "--credentials": c.Credentials, "--nats-url": c.NATSURL, "--cache": c.Cache,
	}
	maps.Copy(flags, c.TLS.arguments())
	for flag, value := range flags {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if p.globals.Verbose {
		args = append(args, "--verbose")
	}
	return append([]string{"collector", "run", string(c.Name)}, args...)
}

// asCollector opens the log for a question, with the rights of the collector.
func (c *collectorSuperviseCmd) asCollector(ctx context.Context, p *program) (eventlog.Aggregates, func(), error) {
	log, err := c.open(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	return log, log.Close, nil
}

// lockSupervisor makes sure that no other process supervises the collector on this machine.
func lockSupervisor(d directory, name events.CollectorName) (unlock func(), err error) {
	unlock, holder, ok, err := d.lock(filepath.Join(versionsOf(name), "lock"))
	if err != nil || ok {
		return unlock, err
	}
	return nil, &control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(
		"collector %s is supervised already on this machine, by process %s: stop that one first", name, holder)}
}

// supervised hands on to the collector what its supervisor told it.
func supervised(o *supervisor.Orders) *collector.Supervised {
	if o == nil {
		return nil
	}
	return &collector.Supervised{Hold: o.Hold, Until: o.Until, Failed: o.Failed}
}
