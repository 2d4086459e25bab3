package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/website/client"
)

type graphListCmd struct {
	Request string `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag."`
	JSON    bool   `help:"Print JSON." name:"json"`
}

// Run lists the graphs of a request.
func (c *graphListCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	found, err := cl.Graphs(ctx, c.Request)
	if err != nil {
		return next(err, "see `tacho request list`")
	}
	if c.JSON {
		return p.json(found)
	}
	if len(found.Graphs) == 0 {
		return p.noGraph(ctx, cl, found.RequestID)
	}
	var rows [][]string
	for _, g := range found.Graphs {
		rows = append(rows, []string{
			graphName(g), string(g.Kind), graphState(g), fmt.Sprint(g.Jobs), fmt.Sprint(g.Needs), graphStates(g), moment(&g.CreatedAt), moment(g.EndedAt),
		})
	}
	return table(p.Stdout, []string{"GRAPH", "KIND", "STATE", "JOBS", "NEEDS", "STATES OF JOBS", "CREATED", "ENDED"}, rows)
}

// noGraph says why a request has no graph.
func (p *Program) noGraph(ctx context.Context, cl *client.Client, id events.RequestID) error {
	r, err := cl.Request(ctx, string(id))
	if err != nil {
		return err
	}
	why := "none of its jobs needs another one"
	if r.Request.StartedAt == nil {
		why = fmt.Sprintf("it has not started (%s), and `tacho request show %s` says why", r.Request.State, id)
		if r.Request.State.Terminal() {
			why = fmt.Sprintf("it is %s, and was never started", r.Request.State)
		}
	}
	_, err = fmt.Fprintf(p.Stdout, "Request %s has no graph: %s.\n", id, why)
	return err
}

func graphName(g readmodel.Graph) string { return fmt.Sprintf("%s/%d", g.RequestID, g.Number) }

func graphState(g readmodel.Graph) string {
	if g.CancelledAt != nil && g.EndedAt == nil {
		return "being cancelled"
	}
	return cmp.Or(string(g.Outcome), "open")
}

// graphStates counts the jobs of a graph by state.
func graphStates(g readmodel.Graph) string {
	jobs, _ := g.Drawn(nil)
	return graph.Tally(jobs)
}

type graphShowCmd struct {
	Request string `arg:"" help:"Id, tag or key of the request, or the beginning of its id or tag; with /N, graph N of the request." placeholder:"REQUEST[/N]"`
	All     bool   `help:"Show each job of a large graph, too."`
	drawn
}

// Help is shown by --help.
func (*graphShowCmd) Help() string {
	return fmt.Sprintf("Without /N it shows all graphs of the request, or draws the first one. More than %d jobs are counted by kind, target and set; --all shows each. ", graph.MaxDrawn) +
		"A blocked job waits for jobs that it needs. A skipped one cannot run, because one of them failed; it is blocked again if that one runs again while the graph is open."
}

// Run shows the graphs.
func (c *graphShowCmd) Run(ctx context.Context, p *Program) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	found, err := graphsNamed(ctx, cl, c.Request)
	switch {
	case err != nil:
		return next(err, "see `tacho request list`")
	case c.JSON:
		return p.json(found)
	case len(found.Graphs) == 0:
		return p.noGraph(ctx, cl, found.RequestID)
	case c.drawing():
		g := found.Graphs[0]
		if more := len(found.Graphs) - 1; more > 0 {
			p.say("this is graph %s of %d; name another one with %s/N", graphName(g), more+1, found.RequestID)
		}
		return c.draw(p, "graph "+graphName(g), g.Drawing(nil))
	}
	for i, g := range found.Graphs {
		if i > 0 {
			fmt.Fprintln(p.Stdout)
		}
		if err := p.showGraph(g, c.All); err != nil {
			return err
		}
	}
	return nil
}

// graphsNamed returns the graphs that REQUEST or REQUEST/N names.
func graphsNamed(ctx context.Context, cl *client.Client, name string) (client.Graphs, error) {
	found, err := cl.Graphs(ctx, name)
	request, last, cut := cutLast(name)
	number, wrong := strconv.Atoi(last)
	var no *client.Error
	if !cut || wrong != nil || request == "" || !errors.As(err, &no) || no.Status != http.StatusNotFound {
		return found, err // a key may have a slash, too
	}
	if found, err = cl.Graphs(ctx, request); err != nil {
		return found, err
	}
	at := slices.IndexFunc(found.Graphs, func(g readmodel.Graph) bool { return g.Number == number })
	if at < 0 {
		return found, &client.Error{
			Status: http.StatusNotFound, Message: fmt.Sprintf("request %s has no graph %d: it has %s", found.RequestID, number, phrase.Count(len(found.Graphs), "graph")),
			Next: fmt.Sprintf("see `tacho graph list %s`", found.RequestID),
		}
	}
	found.Graphs = found.Graphs[at : at+1]
	return found, nil
}

// cutLast cuts a text around its last slash.
func cutLast(s string) (before, after string, found bool) {
	at := strings.LastIndexByte(s, '/')
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+1:], true
}

// showGraph prints a graph with its jobs, those first that could run first. Too many are counted, unless each is wanted.
func (p *Program) showGraph(g readmodel.Graph, each bool) error {
	samples := ""
	if g.Copies > 0 {
		samples = ", " + phrase.Count(g.Copies, "sample")
	}
	p.heading("graph %s (%s%s): %s, %s with %s%s", graphName(g), g.Kind, when(g.OnFailure != "", ", "+string(g.OnFailure))+when(g.Customised, ", customised"), graphState(g), phrase.Count(g.Jobs, "job"), phrase.Count(g.Needs, "need"), samples)
	if g.Deadline != nil && g.EndedAt == nil {
		p.heading("  to be done by %s", moment(g.Deadline))
	}
	if g.Customised {
		p.heading("  its jobs are not those of the definitions: see `tacho graph diff %s template`", graphName(g))
	}
	if g.Diagnostics != nil {
		p.heading("  diagnostics: %s; see `tacho job diagnostics JOB`", g.Diagnostics.Words())
	}
	jobs, needs := g.Drawn(nil)
	if len(jobs) > graph.MaxDrawn && !each {
		return p.showFolded(g, graph.FoldWithin(jobs, needs, foldsPrinted, foldsPrinted*foldsPrinted))
	}
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	steps, names := graph.Steps(len(jobs), needs), g.Names()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(steps[a], steps[b]) })
	g.ByRank(order)
	var rows [][]string
	for _, i := range order {
		n := g.Nodes[i]
		var all, unmet []string
		for _, need := range n.Needs {
			if at := g.Node(need.On); at >= 0 {
				all = append(all, needed(names[at], need.Until)+when(need.Output != "", " (output "+need.Output+")"))
				if !need.Met {
					unmet = append(unmet, names[at])
				}
			}
		}
		why := g.Because(names, n)
		if n.State == string(graph.Blocked) {
			why = "waits for " + fewOf(unmet)
		}
		rows = append(rows, []string{fmt.Sprint(n.Number), names[i] + when(n.Optional, " (optional)") + when(n.Forced != "", " (forced)") + when(n.StaleInput, " (stale input)"), string(n.JobID), n.State, fewOf(all), cmp.Or(also(why, n.Expected()), firstLine(n.Reason))})
	}
	err := table(p.Stdout, []string{"NUMBER", "NAME", "JOB", "STATE", "NEEDS", "REASON"}, rows)
	if err != nil || len(g.Measured) == 0 {
		return err
	}
	fmt.Fprintln(p.Stdout)
	return p.measuredTable(g)
}

// also joins two texts, of which each may be empty.
func also(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// foldsPrinted is how many lines the jobs of a large graph are counted in, and failuresPrinted how many of those that failed are
// named.
const (
	foldsPrinted    = 40
	failuresPrinted = 20
)

// showFolded prints how many jobs of a graph are in which state, and which failed.
func (p *Program) showFolded(g readmodel.Graph, d graph.Drawing) error {
	needs := make([][]string, len(d.Boxes))
	for _, l := range d.Lines {
		needs[l.Job] = append(needs[l.Job], needed(d.Boxes[l.On].Name, l.Until))
	}
	var rows [][]string
	for i, b := range d.Boxes {
		rows = append(rows, []string{b.Name + when(b.Optional, " (optional)"), b.Words(), fewOf(needs[i])})
	}
	if err := table(p.Stdout, []string{"JOBS", "STATES", "NEEDS"}, rows); err != nil {
		return err
	}
	if err := p.failedOf(g); err != nil {
		return err
	}
	p.say("to see each job: `tacho graph show %s --all`, or --json", graphName(g))
	if len(g.Measured) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout)
	return p.measuredTable(g)
}

// failedOf prints the first jobs of a large graph that failed, and how many are skipped for each.
func (p *Program) failedOf(g readmodel.Graph) error {
	skips := map[int]int{}
	for _, n := range g.Nodes {
		if n.State == string(graph.Skipped) && n.SkippedBy != nil {
			skips[*n.SkippedBy]++
		}
	}
	names := g.Names()
	var rows [][]string
	failed := 0
	for i, n := range g.Nodes {
		if n.State != string(graph.Failed) {
			continue
		}
		if failed++; failed <= failuresPrinted {
			rows = append(rows, []string{names[i], string(n.JobID), fmt.Sprint(skips[n.Number]), firstLine(n.Reason)})
		}
	}
	if failed == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout)
	if err := table(p.Stdout, []string{"FAILED", "JOB", "SKIPS", "REASON"}, rows); err != nil {
		return err
	}
	if more := failed - len(rows); more > 0 {
		fmt.Fprintf(p.Stdout, "and %s more\n", phrase.Count(more, "job"))
	}
	return nil
}

// measuredTable prints what the samples of a graph measured; of a retrigger also each of them, beside the base series.
func (p *Program) measuredTable(g readmodel.Graph) error {
	head := []string{"TEST CASE", "METRIC", "SAMPLES", "SMALLEST", "LARGEST", "SPREAD"}
	beside := g.Kind == events.GraphRetrigger || g.Kind == events.GraphExternal // the base series measured the same
	if beside {
		head = append(head, "BASE", "EACH")
	}
	var rows [][]string
	for _, m := range g.Measured {
		format := compare.MetricInfo{Unit: m.Unit}.Format
		spread := "-"
		if m.Spread != nil {
			spread = compare.Percent(*m.Spread)
		}
		row := []string{m.TestCase.String() + when(m.Machine != "", " on "+m.Machine), string(m.Metric), fmt.Sprint(len(m.Minima)), format(m.Smallest), format(m.Largest), spread}
		if beside {
			base, each := "-", make([]string, len(m.Minima))
			if m.Base != nil {
				base = format(*m.Base)
			}
			for i, one := range m.Minima {
				each[i] = format(one.Value)
			}
			row = append(row, base, strings.Join(each, ", "))
		}
		rows = append(rows, row)
	}
	return table(p.Stdout, head, rows)
}
