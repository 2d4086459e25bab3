package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/website/client"
)

type graphSubmitCmd struct {
	File     string           `arg:"" help:"File with the graph, in the form that 'tacho graph show REQUEST/N --json' prints; - for the standard input." placeholder:"FILE"`
	Request  events.RequestID `help:"Id, tag or key of the request, or the beginning of its id or tag." required:"" placeholder:"REQUEST"`
	DryRun   bool             `help:"Show the jobs and how they differ from those of the definitions, and record nothing." name:"dry-run"`
	Priority events.Priority  `help:"vip, high, normal, low or idle, but never above that of the request; default: low." placeholder:"P"`
	Key      string           `help:"Name of the wish: the same graph with the same key is submitted once." placeholder:"TEXT"`
	Reason   string           `help:"Reason; it is kept in the log." placeholder:"TEXT"`
	JSON     bool             `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*graphSubmitCmd) Help() string {
	return "What 'tacho graph show REQUEST/N --json' prints is what this takes: change it, and submit it. Of each job count number, tag, kind, target, set, backend, profile, benchmarks, iterations, " +
		"optional, requires, and needs with on and until; states, times and ids are ignored. Jobs measure the artifact of the request, or of its parent (tag). " +
		"What a job leaves out is what the definitions say that the request started with. For a request whose jobs need no others, start from 'tacho request show REQUEST --json'.\n\n" +
		"The jobs are one sample beside what the request measured: they replace nothing, and change neither the request nor any comparison, history or estimate. " +
		"The branch of the request must allow it, with customise = \"any\" in its [[branch]].\n\n" +
		"Example:\n\n  tacho graph show 1a2b3c4d/0 --json > mine.json\n  tacho graph submit mine.json --request 1a2b3c4d --reason 'more iterations' --dry-run"
}

// Run submits the graph.
func (c *graphSubmitCmd) Run(ctx context.Context, p *Program) error {
	data, err := c.read()
	if err != nil {
		return err
	}
	proposed, err := graph.ReadProposed(data)
	switch {
	case err != nil && c.File == "-":
		return usage.Errorf("the graph on the standard input: %w", err)
	case err != nil:
		return usage.Errorf("%s: %w", c.File, err)
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	text, err := json.Marshal(proposed.Written())
	if err != nil {
		return err
	}
	answer, err := cl.SubmitGraph(ctx, c.Request, client.SubmittedGraph{Graph: text, Priority: c.Priority, Reason: c.Reason, Key: c.Key, DryRun: c.DryRun})
	if err != nil {
		return next(err, "see `tacho request list`, or try --dry-run")
	}
	if err := p.graphAnswer(answer, c.JSON); err != nil || c.JSON {
		return err
	}
	return p.customised(answer)
}

// read returns the text of the graph.
func (c *graphSubmitCmd) read() ([]byte, error) {
	file := io.NopCloser(os.Stdin)
	if c.File != "-" {
		opened, err := os.Open(c.File)
		if err != nil {
			return nil, usage.Errorf("%w: write the graph to a file first, with `tacho graph show REQUEST/N --json`", err)
		}
		file = opened
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, graph.MaxProposed+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.File, err)
	}
	return data, nil
}

// customised says how a graph differs from what the definitions make.
func (p *Program) customised(a client.GraphAnswer) error {
	switch {
	case !a.Answered && !a.DryRun:
		return nil
	case !a.Customised:
		p.say("these are the jobs that the definitions make: the graph is not customised")
	case !a.DryRun:
		p.say("the graph is customised: see `tacho graph diff %s/%d template`", a.RequestID, *a.Graph)
	default:
		p.say("the graph would be customised:")
		for _, one := range a.Differences {
			fmt.Fprintf(p.Stdout, "  %s\n", one)
		}
	}
	return nil
}
