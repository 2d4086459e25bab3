package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/poller"
)

// pollers runs the configured pollers. They share the rate limits and the cached answers of the servers that they ask.
func (p *parts) pollers() error {
	client := pollerClient(p.Clock)
	metrics := poller.NewMetrics(p.registry)
	commands := p.control(nil)
	var branches []poller.Branch
	store, err := p.artifacts()
	if err != nil {
		return err
	}
	for _, c := range p.Config.Pollers {
		logger := p.Logger.With("part", "poller", "source", c.Name)
		conf := poller.Config{
			Name: c.Name, Suite: c.Suite, Policy: policyOf(c), Interval: c.Interval.Std(), Artifacts: store,
			Account: c.Account, Queue: c.Queue, Priority: c.Priority, Branch: c.Branch, Control: commands, Clock: p.Clock, Logger: logger, Metrics: metrics,
			CannotRead: p.cannotRead, May: func(ctx context.Context) error { return p.shell.Wait(ctx, 0) },
		}
		if c.Kind == config.Definitions {
			conf.Definitions, err = definitionsOf(p.Config, c, client, logger)
			conf.Key = p.keys.pollers[c.Name]
		} else {
			conf.Source, err = sourceOf(p.Config, c, client, logger)
			conf.Path = c.Path
		}
		if err != nil {
			return err
		}
		one := poller.New(conf)
		p.run(one.Run)
		if c.Commits() || c.Kind == config.Definitions {
			branches = append(branches, poller.Branch{Repository: events.RepoName(c.Repository), Name: c.Branch, Look: one.Trigger})
		}
	}
	p.run(poller.Pushes{Facts: p.shell, Branches: branches}.Run)
	p.run(poller.NewWaiter(poller.WaiterConfig{
		Ledger: p.shell, Control: commands, Artifacts: store, Clock: p.Clock, Logger: p.Logger.With("part", "poller"),
	}).Run)
	return nil
}

func pollerClient(clock func() time.Time) *http.Client {
	return poller.NewClient(poller.NewTransport(http.DefaultTransport, clock))
}

func policyOf(c config.Poller) poller.Policy {
	return poller.Policy{Horizon: c.Horizon.Std(), Backlog: c.Backlog, Keep: c.Keep}
}

// sourceOf returns the source that a poller polls.
func sourceOf(c config.Config, p config.Poller, client *http.Client, logger *slog.Logger) (poller.Source, error) {
	switch p.Kind {
	case config.GitHubCommits:
		return gitHubOf(c, p, client)
	case config.GitCommits:
		return mirrorOf(c, p, logger), nil
	case config.Manifests:
		return poller.Manifests{HTTP: client, URL: p.URL}, nil
	case config.GoVersions:
		return poller.GoVersions{HTTP: client, URL: p.URL, Candidates: p.Candidates}, nil
	case config.Definitions:
		// It has no artifacts; see definitionsOf.
	}
	return nil, fmt.Errorf("poller %s: nothing polls kind %s", p.Name, p.Kind)
}

// definitionsOf returns the definitions that a poller publishes.
func definitionsOf(c config.Config, p config.Poller, client *http.Client, logger *slog.Logger) (*poller.Definitions, error) {
	d := &poller.Definitions{Path: p.Path, Branch: p.ServedBranch()}
	if p.Repository == "" {
		d.Files = mirrorOf(c, p, logger)
		return d, nil
	}
	from, err := gitHubOf(c, p, client)
	d.Files = from
	return d, err
}

func gitHubOf(c config.Config, p config.Poller, client *http.Client) (*poller.GitHub, error) {
	from, err := poller.NewGitHub(poller.GitHubConfig{
		HTTP: client, API: c.GitHub.API, Token: c.GitHub.Token, Repository: p.Repository, Branch: p.Branch,
	})
	if err != nil {
		return nil, fmt.Errorf("poller %s: %w", p.Name, err)
	}
	return from, nil
}

// mirrorOf returns the mirror of a git remote in the data directory.
func mirrorOf(c config.Config, p config.Poller, logger *slog.Logger) poller.Git {
	return poller.Git{URL: p.URL, Branch: p.Branch, Dir: datadir.Dir(c.Data).Path("mirrors", p.Name+".git"), Logger: logger}
}

// LookAtDefinitions reads the definitions of a source. It records nothing.
func (h *Host) LookAtDefinitions(ctx context.Context, source config.Poller) (poller.Reading, error) {
	d, err := definitionsOf(h.Config, source, pollerClient(h.Clock), h.Logger)
	if err != nil {
		return poller.Reading{}, err
	}
	return d.Look(ctx, source.Suite)
}

// Look returns what a first poll of a source would request, the oldest first. It records nothing.
func (h *Host) Look(ctx context.Context, source config.Poller) ([]poller.Artifact, error) {
	from, err := sourceOf(h.Config, source, pollerClient(h.Clock), h.Logger)
	if err != nil {
		return nil, err
	}
	return policyOf(source).Look(ctx, from, h.Clock())
}
