package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/subprocess"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

type collectorWantCmd struct {
	because
	Version string `arg:"" optional:"" help:"The version, as the program reports it: a tag, or a commit. Without it: show the wanted version."`
	JSON    bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *collectorWantCmd) Help() string {
	return "Collectors that run under `tacho collector supervise` change to the wanted version between two requests, never inside one. " +
		"`tacho collector list` shows the version of each."
}

// Run sets or shows the wanted version.
func (c *collectorWantCmd) Run(ctx context.Context, p *Program) error {
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
	fmt.Fprintf(p.Stdout, "version %s is wanted%s\n", c.Version, already)
	return nil
}

func (c *collectorWantCmd) show(ctx context.Context, p *Program, cl *client.Client) error {
	wanted, err := cl.WantedVersion(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(wanted)
	}
	if wanted.Version == "" {
		fmt.Fprintln(p.Stdout, "No version is wanted: collectors keep the versions that they have. Set one with `tacho collector want VERSION`.")
		return nil
	}
	fmt.Fprintf(p.Stdout, "version %s is wanted since %s, set by %s%s\n", wanted.Version, moment(wanted.Since), wanted.Actor, because{wanted.Reason}.text())
	return nil
}

func (b because) text() string {
	if b.Reason == "" {
		return ""
	}
	return ": " + b.Reason
}

// tellVersions prints which version is wanted, and why a collector has another one.
func (p *Program) tellVersions(list []client.Collector, wanted client.WantedVersion) {
	if wanted.Version == "" {
		return
	}
	fmt.Fprintf(p.Stdout, "\nversion %s is wanted%s\n", wanted.Version, because{wanted.Reason}.text())
	for _, c := range list {
		if c.Online && c.Reason != "" && c.Version != wanted.Version {
			fmt.Fprintf(p.Stdout, "%s: %s\n", c.Name, c.Reason)
		}
	}
}

type collectorSuperviseCmd struct {
	collectorRunCmd
	Git      string `help:"Repository that versions are built from." placeholder:"URL" xor:"source"`
	Ref      string `help:"Branch whose commits may be built, besides the tags of the repository." default:"main"`
	Build    string `help:"Command for sh that builds a version: VERSION is set, and it leaves tacho or bin/tacho." default:"make build" placeholder:"CMD"`
	Download string `help:"URL to download versions from, with {version}, {os} and {arch}; the SHA-256 of the file is at URL.sha256." placeholder:"URL" xor:"source"`
}

// Help is shown by --help.
func (c *collectorSuperviseCmd) Help() string {
	return "Runs `tacho collector run` as a process of its own and starts it again when it ends. When another version is wanted " +
		"(`tacho collector want`), the collector leaves between two requests, and that version is fetched, built and started. If that " +
		"fails, the old version continues. Everybody who can write to the repository or the server can run programs on this machine. " +
		"A collector that was drained or deactivated is started when it is activated. On Ctrl-C the collector gives its job back, and both end."
}

// Run keeps the collector running until ctx ends.
func (c *collectorSuperviseCmd) Run(ctx context.Context, p *Program) error {
	if err := events.CheckToken("collector", string(c.Name)); err != nil {
		return usage.Error{Err: err}
	}
	source, err := c.source(p)
	if err != nil {
		return err
	}
	one, err := c.collector(p)
	if err != nil {
		return err
	}
	return one.Supervise(ctx, source, c.arguments(p))
}

// source returns the source of versions that the flags name. Without one it returns wrong usage.
func (c *collectorSuperviseCmd) source(p *Program) (supervisor.Source, error) {
	switch {
	case c.Git != "" && strings.TrimSpace(c.Build) == "":
		return nil, usage.Errorf("--build: name a command, or leave it out for `make build`")
	case c.Git != "":
		return supervisor.Git{URL: c.Git, Ref: c.Ref, Build: c.Build, Environ: node.WithoutTokens(os.Environ()), Output: p.Stderr, Bind: subprocess.DieWithParent}, nil
	case c.Download != "":
		if err := supervisor.CheckTemplate(c.Download); err != nil {
			return nil, usage.Errorf("--download: %w", err)
		}
		return supervisor.Download{Template: c.Download}, nil
	}
	return nil, usage.Errorf("no source of versions is named: name a repository with --git, or a server with --download")
}

// arguments returns the arguments that start the collector, with the flags of this command.
func (c *collectorSuperviseCmd) arguments(p *Program) []string {
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
