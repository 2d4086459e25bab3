package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// PlannedTemplate is a Template as plans show it.
type PlannedTemplate struct {
	// Branch is the one that was asked for, Match the pattern of the [[branch]] that applies to it.
	Branch      string            `json:"branch,omitempty"`
	Match       string            `json:"match,omitempty"`
	Graph       string            `json:"graph,omitempty"`
	Options     map[string]string `json:"options,omitempty"`
	OnFailure   string            `json:"on_failure"`
	Deadline    string            `json:"deadline,omitempty"`
	Customise   string            `json:"customise"`
	Priority    events.Priority   `json:"priority,omitempty"`
	MaxPriority events.Priority   `json:"max_priority,omitempty"`
}

// Planned returns the template as the plan of a request for a branch shows it.
func (t Template) Planned(branch string) PlannedTemplate {
	p := PlannedTemplate{
		Branch: branch, Match: t.Branch, Graph: t.Graph, Options: t.Options, OnFailure: cmp.Or(t.OnFailure, KeepGoing), Customise: t.Customise,
		Priority: t.Usual(), MaxPriority: t.MaxPriority,
	}
	if t.Deadline > 0 {
		p.Deadline = t.Deadline.String()
	}
	return p
}

// Settings returns the options in words, such as "pgo = on", in the order of their names.
func (t Template) Settings() []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(t.Options)) {
		pairs = append(pairs, name+" = "+t.Options[name])
	}
	return pairs
}

// PlannedJob is a job of a plan.
type PlannedJob struct {
	Number int          `json:"number"`
	ID     events.JobID `json:"job_id,omitempty"`
	Name   string       `json:"name"`
	graph.Label
	Optional bool `json:"optional,omitempty"`
	// Step counts from 1: a job needs only jobs of earlier steps.
	Step  int           `json:"step"`
	Needs []PlannedNeed `json:"needs"`
}

// PlannedNeed is a job that another one needs.
type PlannedNeed struct {
	On    int          `json:"on"`
	Until events.Until `json:"until,omitempty"`
	// Output is the output of the other job that meets it; empty for its end.
	Output string `json:"output,omitempty"`
}

// PlannedOff is a job that is switched off.
type PlannedOff struct {
	ID   events.JobID `json:"job_id,omitempty"`
	Name string       `json:"name"`
	graph.Label
	Reason string `json:"reason"`
}

// PlannedJobs returns jobs of an expansion as a plan shows them: those that are made, in an order in which they could run,
// with the needs between them, and those that are switched off. named says whether their ids are those of a request. The
// error says why they cannot be one graph.
func (d Definitions) PlannedJobs(jobs []events.JobSpec, off []OffJob, named bool) (made []PlannedJob, needs []graph.Need, without []PlannedOff, err error) {
	labels := make([]graph.Label, 0, len(jobs)+len(off))
	for _, j := range jobs {
		labels = append(labels, graph.LabelOf(j))
	}
	for _, o := range off {
		labels = append(labels, graph.LabelOf(o.Job))
	}
	names := graph.Names(labels)
	needs = d.Edges(jobs)
	err = graph.Check(len(jobs), needs, func(i int) string { return names[i] })
	if err != nil {
		return nil, nil, nil, err
	}
	made = make([]PlannedJob, len(jobs))
	steps := graph.Steps(len(jobs), needs)
	for i, j := range jobs {
		made[i] = PlannedJob{Number: i, Name: names[i], Label: labels[i], Optional: j.Optional, Step: steps[i] + 1, Needs: []PlannedNeed{}}
		if named {
			made[i].ID = j.ID
		}
	}
	for _, n := range needs {
		made[n.Job].Needs = append(made[n.Job].Needs, PlannedNeed{n.On, n.Until, n.Output})
	}
	for i, o := range off {
		one := PlannedOff{Name: names[len(jobs)+i], Label: labels[len(jobs)+i], Reason: o.Reason}
		if named {
			one.ID = o.Job.ID
		}
		without = append(without, one)
	}
	slices.SortStableFunc(made, func(a, b PlannedJob) int { return cmp.Compare(a.Step, b.Step) })
	return made, needs, without, nil
}

// BoundedExpansion is ExpansionWith for definitions that may not have been checked: it refuses to make more jobs than checked
// ones have, with those that are switched off.
func (d Definitions) BoundedExpansion(t Template, r Request) (Expansion, error) {
	n, err := d.count(t, r.Artifact.Kind, r.Parameters)
	if err != nil {
		return Expansion{}, err
	}
	if n > maxExpanded {
		return Expansion{}, fmt.Errorf("%d jobs, with those that are switched off, are too many: at most %d are possible", n, maxExpanded)
	}
	return d.ExpansionWith(t, r)
}
