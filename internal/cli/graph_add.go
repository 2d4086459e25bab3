package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

type graphAddCmd struct {
	Request events.RequestID `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag."`
	Job     []string         `help:"Labels of the jobs, such as compile/linux-amd64/0/gc/opt." sep:"," placeholder:"LABEL"`
	Select  []string         `help:"Only jobs with this property: kind, target, set, backend, profile or name (a glob of the whole label). Values with commas between them are alternatives; give it once for each property." sep:"none" placeholder:"K=V"`
	DryRun  bool             `help:"Show which jobs, and record nothing." name:"dry-run"`
	Expect  string           `help:"Token of a dry run: refuse if it would be other jobs by now." placeholder:"TOKEN"`
	Key     string           `help:"Name of the wish: the same command with the same key is carried out once." placeholder:"TEXT"`
	Reason  string           `help:"Reason; it is kept in the log." placeholder:"TEXT"`
	JSON    bool             `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*graphAddCmd) Help() string {
	return "The jobs are made as the definitions have them, which the request was started with, in a graph of their own. What they need of the request's jobs counts; a job that needs another " +
		"one that is switched off must be named with it. If the kind has backfill, the same jobs are made for the parent. A request in progress waits for the jobs; one that has ended stays as it ended." +
		selectHelp + "Examples:\n\n  tacho graph add 1a2b3c4d --select name='*' --dry-run\n\n  tacho graph add 1a2b3c4d --job doc/linux-amd64/0/gc/opt"
}

// Run asks for the jobs.
func (c *graphAddCmd) Run(ctx context.Context, p *Program) error {
	if len(c.Job)+len(c.Select) == 0 {
		return usage.Errorf("name the jobs: use --job LABEL or --select K=V; with --select name='*' --dry-run all that are switched off are listed")
	}
	all := again{Request: c.Request, Select: c.Select, DryRun: c.DryRun, Expect: c.Expect, Key: c.Key, Reason: c.Reason, JSON: c.JSON}
	return all.ask(ctx, p, client.NewGraph{Kind: events.GraphAdded, Labels: c.Job})
}

// set sets what a NAME=VALUE says of the samples of a retrigger.
func set(n *client.NewGraph, setting string) error {
	name, value, ok := strings.Cut(setting, "=")
	if !ok {
		return usage.Errorf("--set %q: write NAME=VALUE, where the name is iterations, benchmarks or priority", setting)
	}
	switch name {
	case "iterations":
		number, err := strconv.Atoi(value)
		if err != nil {
			return usage.Errorf("--set %s: iterations is a number, such as 30", setting)
		}
		n.Iterations = &number
	case "benchmarks":
		n.Benchmarks = strings.Split(value, ",")
	case "priority":
		n.Priority = events.Priority(value)
	default:
		return usage.Errorf("--set %s: the names are iterations, benchmarks and priority", setting)
	}
	return nil
}
