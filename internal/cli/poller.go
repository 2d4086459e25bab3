package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/poller"
)

type pollerCmd struct {
	List pollerListCmd `cmd:"" help:"List the configured sources."`
	Look pollerLookCmd `cmd:"" help:"Look at a source once, and request and publish nothing."`
}

type pollerListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run lists the pollers of the configuration.
func (c *pollerListCmd) Run(_ context.Context, p *Program) error {
	if c.JSON {
		return p.json(append([]config.Poller{}, p.config.Pollers...))
	}
	if len(p.config.Pollers) == 0 {
		fmt.Fprintln(p.Stdout, "No source is configured: add a [[poller]] to the configuration, and name the file with --config.")
		return nil
	}
	var rows [][]string
	for _, one := range p.config.Pollers {
		limit := fmt.Sprintf("newest %d", one.Keep)
		switch {
		case one.Kind == config.Definitions:
			limit = "for " + cmp.Or(one.ServedBranch(), "all branches")
		case one.Commits():
			limit = fmt.Sprintf("up to %g days old, first %d", one.Horizon.Std().Hours()/24, one.Backlog)
		}
		rows = append(rows, []string{one.Name, string(one.Kind), string(one.Suite), one.Interval.Std().String(), limit, one.Place()})
	}
	return table(p.Stdout, []string{"NAME", "KIND", "SUITE", "INTERVAL", "TAKES", "FROM"}, rows)
}

type pollerLookCmd struct {
	Name string `arg:"" help:"Name of the source, as configured."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (c *pollerLookCmd) Help() string {
	return "Shows what a first poll of the source would request, the oldest first, or which definitions it would publish. It fails if the definitions would be refused. " +
		"No running Tacho is needed."
}

// Run looks at a source and shows what is in it.
func (c *pollerLookCmd) Run(ctx context.Context, p *Program) error {
	var names []string
	for _, one := range p.config.Pollers {
		names = append(names, one.Name)
		switch {
		case one.Name == c.Name && one.Kind == config.Definitions:
			return c.lookAtDefinitions(ctx, p, one)
		case one.Name == c.Name:
			return c.look(ctx, p, one)
		}
	}
	if len(names) == 0 {
		return usage.Errorf("no source is configured: add a [[poller]] to the configuration, and name the file with --config")
	}
	return usage.Errorf("there is no source %q: use %s", c.Name, strings.Join(names, ", "))
}

func (c *pollerLookCmd) look(ctx context.Context, p *Program, one config.Poller) error {
	found, err := p.host().Look(ctx, one)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.json(append([]poller.Artifact{}, found...))
	}
	if len(found) == 0 {
		p.say("The source works, but everything in it is too old.")
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
	return table(p.Stdout, []string{"KIND", "TAG", "PARENT", "PR", "DATE"}, rows)
}

// lookAtDefinitions shows what a poll would publish.
func (c *pollerLookCmd) lookAtDefinitions(ctx context.Context, p *Program, one config.Poller) error {
	read, err := p.host().LookAtDefinitions(ctx, one)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		err = p.json(read)
	case len(read.Problems) == 0:
		_, err = fmt.Fprintf(p.Stdout, "revision %s has definitions %s of suite %s, for %s\n", short(read.Revision), read.Digest, read.Suite,
			cmp.Or(read.Branch, "all branches that have none of their own"))
	}
	if err == nil && len(read.Problems) > 0 {
		err = fmt.Errorf("revision %s would be refused:\n%w", short(read.Revision), errors.New(strings.Join(read.Problems, "\n")))
	}
	return err
}
