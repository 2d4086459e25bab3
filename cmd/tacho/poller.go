package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/poller"
)

// pollers runs the configured pollers, which share the limits and the kept answers of the servers that they ask.
func (p *parts) pollers() error {
	client := pollerClient(p.clock)
	metrics := poller.NewMetrics(p.registry)
	commands := p.control(nil)
	var branches []poller.Branch
	store, err := p.artifacts()
	if err != nil {
		return err
	}
	for _, c := range p.config.Pollers {
		logger := p.logger.With("part", "poller", "source", c.Name)
		from, err := sourceOf(p.config, c, client, logger)
		if err != nil {
			return err
		}
		one := poller.New(poller.Config{
			Name: c.Name, Suite: c.Suite, Source: from, Policy: policyOf(c), Interval: c.Interval.Std(), Artifacts: store,
			Control: commands, Clock: p.clock, Logger: logger, Metrics: metrics,
		})
		p.run(one.Run)
		if c.Commits() {
			branches = append(branches, poller.Branch{Repository: events.RepoName(c.Repository), Name: c.Branch, Look: one.Trigger})
		}
	}
	p.run(poller.Pushes{Facts: p.shell, Branches: branches}.Run)
	p.run(poller.NewWaiter(poller.WaiterConfig{
		Ledger: p.shell, Control: commands, Artifacts: store, Clock: p.clock, Logger: p.logger.With("part", "poller"),
	}).Run)
	return nil
}

func pollerClient(clock func() time.Time) *http.Client {
	return poller.NewClient(poller.NewTransport(http.DefaultTransport, clock))
}

func policyOf(c config.Poller) poller.Policy {
	return poller.Policy{Horizon: c.Horizon.Std(), Backlog: c.Backlog, Keep: c.Keep}
}

// sourceOf returns what a poller polls. Mirrors of git remotes are kept in the data directory.
func sourceOf(c config.Config, p config.Poller, client *http.Client, logger *slog.Logger) (poller.Source, error) {
	switch p.Kind {
	case config.GitHubCommits:
		from, err := poller.NewGitHub(poller.GitHubConfig{
			HTTP: client, API: c.GitHub.API, Token: c.GitHub.Token, Repository: p.Repository, Branch: p.Branch,
		})
		if err != nil {
			return nil, fmt.Errorf("poller %s: %w", p.Name, err)
		}
		return from, nil
	case config.GitCommits:
		return poller.Git{URL: p.URL, Branch: p.Branch, Dir: directory(c.Data).path("mirrors", p.Name+".git"), Logger: logger}, nil
	case config.Manifests:
		return poller.Manifests{HTTP: client, URL: p.URL}, nil
	case config.GoVersions:
		return poller.GoVersions{HTTP: client, URL: p.URL, Candidates: p.Candidates}, nil
	}
	return nil, fmt.Errorf("poller %s: nothing polls kind %s", p.Name, p.Kind)
}

type pollerCmd struct {
	List pollerListCmd `cmd:"" help:"List the configured sources."`
	Look pollerLookCmd `cmd:"" help:"Look at a source once, and ask for nothing."`
}

type pollerListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the pollers of the configuration.
func (c *pollerListCmd) Run(_ context.Context, p *program) error {
	if c.JSON {
		return p.json(append([]config.Poller{}, p.config.Pollers...))
	}
	if len(p.config.Pollers) == 0 {
		fmt.Fprintln(p.stdout, "No source is configured: add a [[poller]] to the configuration, and name the file with --config.")
		return nil
	}
	var rows [][]string
	for _, one := range p.config.Pollers {
		limit := fmt.Sprintf("newest %d", one.Keep)
		if one.Commits() {
			limit = fmt.Sprintf("up to %g days old, first %d", one.Horizon.Std().Hours()/24, one.Backlog)
		}
		rows = append(rows, []string{one.Name, string(one.Kind), string(one.Suite), one.Interval.Std().String(), limit, one.Place()})
	}
	return table(p.stdout, []string{"NAME", "KIND", "SUITE", "INTERVAL", "TAKES", "FROM"}, rows)
}

type pollerLookCmd struct {
	Name string `arg:"" help:"Name of the source, as configured."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *pollerLookCmd) Help() string {
	return "It shows what a first poll of the source would ask for, the oldest first. No running Tacho is needed."
}

// Run looks at a source and shows what is in it.
func (c *pollerLookCmd) Run(ctx context.Context, p *program) error {
	var names []string
	for _, one := range p.config.Pollers {
		names = append(names, one.Name)
		if one.Name == c.Name {
			return c.look(ctx, p, one)
		}
	}
	if len(names) == 0 {
		return usagef("no source is configured: add a [[poller]] to the configuration, and name the file with --config")
	}
	return usagef("there is no source %q: use %s", c.Name, strings.Join(names, ", "))
}

func (c *pollerLookCmd) look(ctx context.Context, p *program, one config.Poller) error {
	from, err := sourceOf(p.config, one, pollerClient(p.clock), p.logger())
	if err != nil {
		return err
	}
	found, err := policyOf(one).Look(ctx, from, p.clock())
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(append([]poller.Artifact{}, found...))
	}
	if len(found) == 0 {
		p.say("The source works, and has nothing that is young enough.")
		return nil
	}
	var rows [][]string
	for _, a := range found {
		pr, date := "-", a.ReleasedOn
		if a.PR > 0 {
			pr = fmt.Sprint(a.PR)
		}
		if !a.At.IsZero() {
			date = a.At.Format(time.DateOnly)
		}
		rows = append(rows, []string{string(a.Kind), short(a.Tag), short(a.Parent), pr, short(date)})
	}
	return table(p.stdout, []string{"KIND", "TAG", "PARENT", "PR", "DATE"}, rows)
}
