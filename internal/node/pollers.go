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
		from, err := sourceOf(p.Config, c, client, logger)
		if err != nil {
			return err
		}
		one := poller.New(poller.Config{
			Name: c.Name, Suite: c.Suite, Source: from, Policy: policyOf(c), Interval: c.Interval.Std(), Artifacts: store,
			Account: c.Account, Queue: c.Queue, Priority: c.Priority, Branch: c.Branch, Control: commands, Clock: p.Clock, Logger: logger, Metrics: metrics,
		})
		p.run(one.Run)
		if c.Commits() {
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

// sourceOf returns the source that a poller polls. Mirrors of git remotes are in the data directory.
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
		return poller.Git{URL: p.URL, Branch: p.Branch, Dir: datadir.Dir(c.Data).Path("mirrors", p.Name+".git"), Logger: logger}, nil
	case config.Manifests:
		return poller.Manifests{HTTP: client, URL: p.URL}, nil
	case config.GoVersions:
		return poller.GoVersions{HTTP: client, URL: p.URL, Candidates: p.Candidates}, nil
	}
	return nil, fmt.Errorf("poller %s: nothing polls kind %s", p.Name, p.Kind)
}

// Look returns what a first poll of a source would request, the oldest first. It records nothing.
func (h *Host) Look(ctx context.Context, source config.Poller) ([]poller.Artifact, error) {
	from, err := sourceOf(h.Config, source, pollerClient(h.Clock), h.Logger)
	if err != nil {
		return nil, err
	}
	return policyOf(source).Look(ctx, from, h.Clock())
}
