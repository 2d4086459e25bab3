package graph

import (
	"encoding/json"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// image is the form of a graph in a snapshot.
type image struct {
	Jobs  []Job  `json:"jobs"`
	Needs []Held `json:"needs,omitempty"`
	// LeftJobs and LeftNeeds are how many were not named yet.
	LeftJobs  int  `json:"left_jobs,omitempty"`
	LeftNeeds int  `json:"left_needs,omitempty"`
	FailFast  bool `json:"fail_fast,omitempty"`
}

// Job is a job of a graph with its state. State is empty if the job was not named yet.
type Job struct {
	State    State `json:"state,omitempty"`
	Optional bool  `json:"optional,omitempty"`
	Forced   bool  `json:"forced,omitempty"`
	Begun    bool  `json:"begun,omitempty"`
	// Outputs are those that its newest round has stored.
	Outputs []string `json:"outputs,omitempty"`
}

// Held is a need, and whether it is met.
type Held struct {
	Need
	Met bool `json:"met,omitempty"`
}

// Restore returns a settled graph whose jobs are in these states. It is the graph that had them: what a job is skipped
// for follows from the states.
func Restore(rule events.OnFailure, jobs []Job, needs []Held) *Graph {
	g := New(len(jobs), len(needs))
	g.failFast = rule == events.FailFast
	for number, j := range jobs {
		g.Add(number, j.Optional, "")
		g.keep(number, j.Outputs)
	}
	for _, n := range needs {
		g.Need(n.Need)
		if last := len(g.edges) - 1; last >= 0 && g.edges[last].is(n.Need) {
			g.edges[last].met = n.Met
		}
	}
	g.jobs, g.needs, g.settled = 0, 0, true
	g.sortEdges()
	for i := range g.nodes {
		g.nodes[i].state, g.nodes[i].forced, g.nodes[i].begun = jobs[i].State, jobs[i].Forced, jobs[i].Begun
		if g.failFast && g.stop == none && jobs[i].State == Failed && !jobs[i].Optional {
			g.stop = int32(i)
		}
		g.left += isOpen(jobs[i].State)
		if !g.nodes[i].optional {
			g.open += isOpen(jobs[i].State)
		}
	}
	for _, e := range g.edges {
		if !e.met {
			g.nodes[e.job].unmet++
			g.nodes[e.job].dead += e.dies(g.nodes[e.on].state)
		}
	}
	w := newWalk(g)
	for i, n := range g.nodes {
		if n.state == Skipped {
			w.look(i)
		}
	}
	w.changes()
	return g
}

func (e edge) is(n Need) bool {
	return int(e.on) == n.On && int(e.job) == n.Job && e.ended == (n.Until == events.UntilEnded) && e.output == n.Output
}

// MarshalJSON implements json.Marshaler.
func (g *Graph) MarshalJSON() ([]byte, error) {
	i := image{Jobs: make([]Job, len(g.nodes)), LeftJobs: g.jobs, LeftNeeds: g.needs, FailFast: g.failFast}
	for number, n := range g.nodes {
		if n.known {
			i.Jobs[number] = Job{n.state, n.optional, n.forced, n.begun, g.stored[number]}
		}
	}
	g.Needs(func(n Need, met bool) { i.Needs = append(i.Needs, Held{n, met}) })
	return json.Marshal(i)
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Graph) UnmarshalJSON(data []byte) error {
	var i image
	if err := json.Unmarshal(data, &i); err != nil {
		return err
	}
	if len(i.Jobs) > MaxJobs || len(i.Needs) > MaxNeeds {
		return fmt.Errorf("a graph of %d jobs and %d needs", len(i.Jobs), len(i.Needs))
	}
	if i.LeftJobs == 0 && i.LeftNeeds == 0 {
		rule := events.KeepGoing
		if i.FailFast {
			rule = events.FailFast
		}
		*g = *Restore(rule, i.Jobs, i.Needs)
		return nil
	}
	half := New(len(i.Jobs), len(i.Needs)+i.LeftNeeds)
	half.failFast = i.FailFast
	for number, j := range i.Jobs {
		if j.State != "" {
			half.Add(number, j.Optional, ended(j.State))
		}
		half.nodes[number].begun = j.Begun
		half.keep(number, j.Outputs)
	}
	for _, n := range i.Needs {
		half.Need(n.Need)
	}
	half.jobs, half.needs = i.LeftJobs, i.LeftNeeds
	*g = *half
	return nil
}

// ended returns the end that a state is; empty for none.
func ended(s State) events.Outcome {
	if s == Succeeded || s == Failed || s == Cancelled {
		return events.Outcome(s)
	}
	return ""
}
