package node

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tachobench/tacho/collector/supervisor"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/internal/subprocess"
)

// Supervise keeps the collector running at the wanted version until ctx ends. Versions come from source. arguments start the
// collector.
func (c *Collector) Supervise(ctx context.Context, source supervisor.Source, arguments []string) error {
	if _, _, err := c.access(); err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	unlock, err := c.data().OwnVersions(c.Name)
	if err != nil {
		return err
	}
	defer unlock()
	dir := c.data().Versions(c.Name)
	c.Say("collector %s is supervised; its versions are in %s", c.Name, dir)
	return supervisor.New(supervisor.Config{
		Name: c.Name, Dir: dir, Own: own, Arguments: arguments, Environ: WithoutTokens(os.Environ()), Source: source,
		Open: func(ctx context.Context) (eventlog.Aggregates, func(), error) {
			log, err := c.open(ctx)
			if err != nil {
				return nil, nil, err
			}
			return log, log.Close, nil
		},
		Output: c.Stderr, Bind: subprocess.DieWithParent, Clock: c.Clock, Logger: c.Logger.With("collector", string(c.Name)),
		Pauses: supervisor.Pauses{Look: c.Config.Collector.BeatEvery.Std()},
	}).Run(ctx)
}

// WithoutTokens leaves the secrets out that neither a collector nor a build needs. It changes environ.
func WithoutTokens(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{
			"TACHO_TOKEN", "TACHO_GITHUB_TOKEN", "TACHO_WEBHOOK_SECRET", "TACHO_DATABASE_URL", "TACHO_ALERT_WEBHOOK",
		}, name)
	})
}
