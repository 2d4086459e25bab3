package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// noTag stands for the tag of a plan that names none.
const noTag events.Tag = "plan"

type graphPlanCmd struct {
	Suite      string             `arg:"" help:"Name of a shipped suite, or a file."`
	Request    events.RequestKind `help:"Kind of the request: master, try or release; default: master." default:"master" enum:"master,try,release" placeholder:"KIND"`
	Targets    []events.Target    `help:"Targets; default: those of the suite." sep:"," placeholder:"NAME,..."`
	Backends   []events.Backend   `help:"Backends; default: those of the suite." sep:"," placeholder:"NAME,..."`
	Profiles   []events.Profile   `help:"Profiles; default: those of the suite." sep:"," placeholder:"NAME,..."`
	Benchmarks []string           `help:"Benchmarks, as names or patterns with *; default: all." sep:"," placeholder:"NAME,..."`
	chosen
	Tag    events.Tag `help:"Tag of the artifact; with it, JSON has the ids of the jobs." placeholder:"TAG"`
	Parent events.Tag `help:"Tag of the artifact to compare with; with it, the plan has the jobs of the parent too." placeholder:"TAG"`
	drawn
}

// Help is shown by --help.
func (*graphPlanCmd) Help() string {
	return "It asks no server and records nothing. A job of a step can run when those jobs of earlier steps that it needs have succeeded, or ended where the plan says so. " +
		"A drawing shows the jobs of the request itself, without those of its parent. " +
		"If the suite has options, graphs or branches, the plan says which jobs are switched off, and why."
}

// Run shows the jobs that a request would make.
func (c *graphPlanCmd) Run(_ context.Context, p *Program) error {
	d, err := loadSuite(c.Suite)
	if err != nil {
		return err
	}
	plan, err := c.plan(d)
	if err != nil {
		return usage.Error{Err: err}
	}
	if c.JSON {
		return p.json(plan)
	}
	if c.drawing() {
		jobs, needs := plan.Graphs[0].drawn(d)
		return c.draw(p, fmt.Sprintf("plan of a %s request of suite %s", c.Request, d.Name), graph.Draw(jobs, needs))
	}
	for i, g := range plan.Graphs {
		if i > 0 {
			fmt.Fprintln(p.Stdout)
		}
		if err := g.print(p, plan); err != nil {
			return err
		}
	}
	return nil
}

// plannedRequest is what a request would make, as JSON.
type plannedRequest struct {
	Suite   events.SuiteName   `json:"suite"`
	Digest  events.Digest      `json:"digest"`
	Request events.RequestKind `json:"request"`
	Tag     events.Tag         `json:"tag,omitempty"`
	Parent  events.Tag         `json:"parent_tag,omitempty"`
	// Template is what the request is expanded with; nil if the suite leaves nothing to choose.
	Template *plannedTemplate `json:"template,omitempty"`
	// Graphs are the jobs of the request itself and then, if it has a parent, those of the parent.
	Graphs []plannedGraph `json:"graphs"`
}

type plannedGraph struct {
	Number int              `json:"number"`
	Kind   events.GraphKind `json:"kind"`
	// Needs counts the pairs of a job and one that it needs.
	Needs int `json:"needs"`
	// JobList is in an order in which the jobs could run.
	JobList []suite.PlannedJob `json:"jobs"`
	// Off are the jobs that are switched off.
	Off []suite.PlannedOff `json:"switched_off,omitempty"`
	// specs are all jobs, with those that are switched off behind the others.
	specs []events.JobSpec
}

// plan expands the request that the flags describe.
func (c *graphPlanCmd) plan(d suite.Definitions) (plannedRequest, error) {
	plan := plannedRequest{Suite: d.Name, Digest: d.Digest(), Request: c.Request, Tag: c.Tag, Parent: c.Parent}
	r := suite.Request{
		Artifact:   events.Artifact{Suite: d.Name, Tag: cmp.Or(c.Tag, noTag), Kind: c.Request},
		Parameters: events.Parameters{Targets: c.Targets, Backends: c.Backends, Profiles: c.Profiles, Benchmarks: c.Benchmarks}, ParentTag: c.Parent,
	}
	if c.Parent != "" {
		r.Parent = &events.Artifact{Suite: d.Name, Tag: c.Parent, Kind: events.Master}
	}
	r.Choice = c.choice()
	x, err := d.Expansion(r)
	if err != nil {
		return plan, err
	}
	if d.HasChoices() {
		plan.Template = newPlannedTemplate(c.Branch, x.Template)
	}
	for number, part := range []struct {
		kind events.GraphKind
		jobs []events.JobSpec
		off  []suite.OffJob
	}{{events.GraphInitial, x.Own, x.Off}, {events.GraphBackfill, x.Backfill, x.OffBackfill}} {
		if number > 0 && len(part.jobs)+len(part.off) == 0 {
			continue
		}
		g, err := newPlannedGraph(number, part.kind, d, part.jobs, part.off, c.Tag != "")
		if err != nil {
			return plan, err
		}
		plan.Graphs = append(plan.Graphs, g)
	}
	return plan, nil
}

func newPlannedGraph(number int, kind events.GraphKind, d suite.Definitions, jobs []events.JobSpec, off []suite.OffJob, named bool) (plannedGraph, error) {
	made, needs, without, err := d.PlannedJobs(jobs, off, named)
	all := slices.Clone(jobs)
	for _, o := range off {
		all = append(all, o.Job)
	}
	return plannedGraph{Number: number, Kind: kind, Needs: len(needs), JobList: made, Off: without, specs: all}, err
}

// drawn returns the jobs by number, behind them those that are switched off, and the needs of all.
func (g plannedGraph) drawn(d suite.Definitions) ([]graph.Drawn, []graph.Need) {
	jobs := make([]graph.Drawn, len(g.JobList), len(g.specs))
	for _, j := range g.JobList {
		jobs[j.Number] = graph.Drawn{Label: j.Label, Optional: j.Optional}
	}
	for i, o := range g.Off {
		jobs = append(jobs, graph.Drawn{Label: o.Label, Optional: g.specs[len(g.JobList)+i].Optional, State: "switched_off", Note: o.Reason})
	}
	return jobs, d.Edges(g.specs)
}

// print prints the jobs for a person.
func (g plannedGraph) print(p *Program, plan plannedRequest) error {
	whose := fmt.Sprintf("A %s request of suite %s%s makes", plan.Request, plan.Suite, plan.Template.words())
	if g.Kind == events.GraphBackfill {
		whose = fmt.Sprintf("It also wants of its parent %s, as far as they do not exist yet,", short(plan.Parent))
	}
	fmt.Fprintf(p.Stdout, "%s %s with %s.\n", whose, phrase.Count(len(g.JobList), "job"), phrase.Count(g.Needs, "need"))
	if g.Kind != events.GraphBackfill {
		plan.Template.print(p, plan.Request)
	}
	if len(g.JobList) > 0 {
		if err := g.jobs(p); err != nil {
			return err
		}
	}
	if len(g.Off) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout)
	var rows [][]string
	for _, o := range g.Off {
		rows = append(rows, []string{o.Name, o.Reason})
	}
	return table(p.Stdout, []string{"SWITCHED OFF", "WHY"}, rows)
}

// jobs prints the jobs that are not switched off.
func (g plannedGraph) jobs(p *Program) error {
	names := make([]string, len(g.JobList))
	for _, j := range g.JobList {
		names[j.Number] = j.Name
	}
	var rows [][]string
	for _, j := range g.JobList {
		var needs []string
		for _, n := range j.Needs {
			needs = append(needs, needed(names[n.On], n.Until)+when(n.Output != "", " (output "+n.Output+")"))
		}
		rows = append(rows, []string{fmt.Sprint(j.Step), fmt.Sprint(j.Number), j.Name + when(j.Optional, " (optional)"), fewOf(needs)})
	}
	return table(p.Stdout, []string{"STEP", "NUMBER", "JOB", "NEEDS"}, rows)
}

// needed says which job is needed, and whether any end of it is enough.
func needed(name string, until events.Until) string {
	return name + when(until == events.UntilEnded, " (any end)")
}

// fewShown is how many names of a list a cell shows.
const fewShown = 4

// fewOf joins names. It counts those that make the list too long.
func fewOf(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "-"
	case n > fewShown:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:fewShown-1], ", "), n-fewShown+1)
	}
	return strings.Join(names, ", ")
}
