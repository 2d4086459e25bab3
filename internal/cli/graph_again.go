package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

// again are the arguments of commands that measure jobs again.
type again struct {
	Request events.RequestID `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag; set:NAME for each request of a set."`
	Select  []string         `help:"Only jobs with this property: kind, target, set, backend, profile, state or name (a glob of the whole label). Values with commas between them are alternatives; give it once for each property." sep:"none" placeholder:"K=V"`
	Job     []events.JobID   `help:"Only these jobs." sep:"," placeholder:"JOB"`
	DryRun  bool             `help:"Show which jobs, and record nothing." name:"dry-run"`
	Expect  string           `help:"Token of a dry run: refuse if it would be other jobs by now." placeholder:"TOKEN"`
	Key     string           `help:"Name of the wish: the same command with the same key is carried out once." placeholder:"TEXT"`
	Reason  string           `help:"Reason; it is kept in the log." placeholder:"TEXT"`
	JSON    bool             `help:"Print JSON." name:"json"`
}

// samples are the arguments of commands that take samples beside what was measured.
type samples struct {
	Benchmarks []string        `help:"Only benchmarks with these names or patterns; default: those of the jobs." sep:"," placeholder:"NAME"`
	Priority   events.Priority `help:"vip, high, normal, low or idle, but never above that of the request; default: low, and idle for noise." placeholder:"P"`
}

const selectHelp = " " + setHelp + "With --dry-run it shows the jobs and a token; with --expect TOKEN the command is refused (exit code 3) if it would be other jobs by then.\n\n"

type graphRetriggerCmd struct {
	again
	Copies     *int     `help:"How many samples of each job, 1 to 20; default: 1." placeholder:"N"`
	Downstream string   `help:"Which jobs are measured, too: none, those that are needed and did not succeed (needed), or these and all that need a selected one (all)." enum:"none,needed,all" default:"none"`
	Set        []string `help:"Change what the samples are: iterations=N, benchmarks=GLOB,GLOB or priority=P. Other iterations need a [[branch]] with customise = \"any\"." sep:"none" placeholder:"NAME=VALUE"`
	samples
}

// Help is shown by --help.
func (*graphRetriggerCmd) Help() string {
	return "Jobs are measured again, whatever became of them, as samples beside what was measured: results stay, and so does the request." + selectHelp +
		"--set iterations=N lets the samples measure each test case N times. Such a graph is shown as customised, because its jobs are not those of the definitions.\n\n" +
		"Examples:\n\n  tacho graph retrigger 1a2b3c4d --select kind=compile --select profile=opt,debug\n\n  tacho graph retrigger 1a2b3c4d --select state=success --copies 3 --dry-run\n\n" +
		"  tacho graph retrigger 1a2b3c4d --select kind=compile --set iterations=30"
}

// Run asks for the samples.
func (c *graphRetriggerCmd) Run(ctx context.Context, p *Program) error {
	n := client.NewGraph{
		Kind: events.GraphRetrigger, Copies: c.Copies, Downstream: c.Downstream, Benchmarks: c.Benchmarks, Priority: c.Priority,
	}
	for _, setting := range c.Set {
		if err := set(&n, setting); err != nil {
			return err
		}
	}
	return c.ask(ctx, p, n)
}

type graphNoiseCmd struct {
	again
	Copies *int `help:"How many samples, 2 to 20; default: 5." placeholder:"N"`
	samples
}

// Help is shown by --help.
func (*graphNoiseCmd) Help() string {
	return "The artifact of the parent is measured several times more, as the request measures its own. What differs between the samples is noise. Selectors and --job name jobs of the request." +
		selectHelp + "Examples:\n\n  tacho graph noise 1a2b3c4d\n\n  tacho graph noise 1a2b3c4d --copies 10 --benchmarks 'regex*' --select profile=opt"
}

// Run asks for the samples.
func (c *graphNoiseCmd) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, client.NewGraph{Kind: events.GraphNoise, Copies: c.Copies, Benchmarks: c.Benchmarks, Priority: c.Priority})
}

type graphRepairCmd struct{ again }

// Help is shown by --help.
func (*graphRepairCmd) Help() string {
	return "Jobs that did not succeed get another round, which measures what has no result yet, with the jobs that they need and that did not succeed either. The request stays as it ended." +
		selectHelp + "Examples:\n\n  tacho graph repair 1a2b3c4d\n\n  tacho graph repair 1a2b3c4d --select state=failure --select target=linux-arm64"
}

// Run asks for the next rounds.
func (c *graphRepairCmd) Run(ctx context.Context, p *Program) error {
	return c.ask(ctx, p, client.NewGraph{Kind: events.GraphRepair})
}

// ask asks for the jobs, and prints which there are.
func (c again) ask(ctx context.Context, p *Program, n client.NewGraph) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	n.Jobs, n.Select, n.DryRun, n.Expect, n.Key, n.Reason = c.Job, c.Select, c.DryRun, c.Expect, c.Key, c.Reason
	if name, is := setOf(c.Request); is {
		return c.askSet(ctx, p, cl, name, n)
	}
	answer, err := cl.WantGraph(ctx, c.Request, n)
	if err != nil {
		return next(err, "see `tacho request list`, or `tacho request show` for its jobs")
	}
	return p.graphAnswer(answer, c.JSON)
}

// graphAnswer prints which jobs were made, or would be.
func (p *Program) graphAnswer(a client.GraphAnswer, asJSON bool) error {
	jobs := phrase.Count(len(a.Jobs), "job")
	switch {
	case asJSON:
		return p.json(a)
	case a.DryRun && a.GraphKind == events.GraphAdded:
		p.say("nothing is recorded: %s would be added", jobs)
	case a.DryRun && a.Copies > 0:
		p.say("nothing is recorded: %s would be measured %s", jobs, phrase.Count(a.Copies, "more time"))
	case a.DryRun && a.GraphKind == events.GraphExternal:
		p.say("nothing is recorded: %s would be measured, as one sample beside the request", jobs)
	case a.DryRun:
		p.say("nothing is recorded: %s would run again", jobs)
	case !a.Answered:
		return p.unanswered(a.RequestID)
	case a.Graph == nil:
		p.say("request %s stays %s; %s run%s again:", a.RequestID, a.State, jobs, when(len(a.Jobs) == 1, "s"))
	default:
		p.say("request %s stays %s; graph %s/%d has %s:", a.RequestID, a.State, a.RequestID, *a.Graph, jobs)
	}
	heads, rows := []string{"JOB", "TAG", "NAME"}, [][]string{}
	if a.DryRun && a.GraphKind != events.GraphExternal {
		heads = append(heads, "STATE")
	} else if a.GraphKind.Sampled() && !a.DryRun {
		heads = append(heads, "SAMPLE")
	}
	if len(a.Shared) > 0 {
		p.say("it shares %s of other requests: `tacho graph show %s/%d` lists all", phrase.Count(len(a.Shared), "job"), a.RequestID, *a.Graph)
	}
	for _, j := range a.Jobs {
		row := []string{string(j.JobID), short(j.Tag), j.Label, j.Sample + j.State} // one of them
		rows = append(rows, row[:len(heads)])
	}
	if err := table(p.Stdout, heads, rows); err != nil || !a.DryRun || a.Token == "" {
		return err
	}
	p.say("to have exactly these: --expect %s", a.Token)
	return nil
}

// unanswered says that a wish has no answer yet.
func (p *Program) unanswered(id events.RequestID) error {
	p.say("request %s: the wish is recorded, but no scheduler has answered yet: see `tacho trace %s`", id, id)
	return nil
}

type graphCancelCmd struct {
	Graph  string `arg:"" help:"Id, tag or key of the request, and the number of the graph." placeholder:"REQUEST/N"`
	Reason string `help:"Reason; it is kept in the log." placeholder:"TEXT"`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// Help is shown by --help.
func (*graphCancelCmd) Help() string {
	return "Only graphs that somebody asked for can be cancelled alone: those of a repair, a retrigger, noise or added jobs, and those that were submitted. Their jobs stop, but for those that another request waits for; what was measured stays.\n\n" +
		"Example:\n\n  tacho graph cancel 1a2b3c4d/2 --reason 'one sample is enough'"
}

// Run withdraws the graph.
func (c *graphCancelCmd) Run(ctx context.Context, p *Program) error {
	request, number, err := graphNamed(c.Graph)
	if err != nil {
		return err
	}
	cl, err := p.client()
	if err != nil {
		return err
	}
	answer, err := cl.CancelGraph(ctx, request, number, c.Reason)
	switch {
	case err != nil:
		return next(err, "see `tacho request list`")
	case c.JSON:
		return p.json(answer)
	}
	_, err = fmt.Fprintf(p.Stdout, "graph %s/%d is cancelled; request %s stays %s\n", answer.RequestID, number, answer.RequestID, answer.State)
	return err
}

// graphNamed returns the request and the number of a graph that somebody wrote as REQUEST/N.
func graphNamed(text string) (events.RequestID, int, error) {
	request, last, cut := cutLast(text)
	number, err := strconv.Atoi(last)
	if !cut || err != nil || number < 0 || strings.TrimSpace(request) == "" {
		return "", 0, usage.Errorf("%q names no graph: write REQUEST/N, as `tacho graph list REQUEST` does", text)
	}
	return events.RequestID(request), number, nil
}

// repairAnswer prints which jobs run again.
func (p *Program) repairAnswer(ctx context.Context, cl *client.Client, id events.RequestID, r control.Repair, asJSON bool) error {
	answer, err := cl.RepairRequest(ctx, id, r)
	switch {
	case err != nil:
		return next(err, fmt.Sprintf("`tacho request show %s` lists its jobs", id))
	case asJSON:
		return p.json(answer)
	case !answer.Answered:
		return p.unanswered(answer.RequestID)
	}
	p.say("request %s stays %s; %s run%s again:", answer.RequestID, answer.State, phrase.Count(len(answer.Jobs), "job"), when(len(answer.Jobs) == 1, "s"))
	for _, id := range answer.Jobs {
		fmt.Fprintf(p.Stdout, "  %s\n", id)
	}
	return nil
}
