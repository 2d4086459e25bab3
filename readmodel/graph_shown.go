package readmodel

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/graph"
)

// Label returns what the job measures. A job that has left the tables is known by its id alone.
func (n GraphJob) Label() graph.Label {
	if n.Kind == "" {
		return graph.Label{Kind: events.JobKind("job " + n.JobID)}
	}
	return graph.Label{Kind: n.Kind, Target: n.Target, Set: n.Set, Backend: n.Backend, Profile: n.Profile}
}

// Names returns the short names of the jobs, in the order of Nodes. Those of samples say which one it is.
func (g Graph) Names() []string {
	var labels []graph.Label
	of, known := make([]int, len(g.Nodes)), map[graph.Label]int{}
	for i, n := range g.Nodes {
		label := n.Label()
		at, again := known[label]
		if !again || n.Sample == "" { // the samples of a job have one label
			at, labels = len(labels), append(labels, label)
			known[label] = at
		}
		of[i] = at
	}
	names, short := make([]string, len(g.Nodes)), graph.Names(labels)
	for i, n := range g.Nodes {
		if names[i] = short[of[i]]; n.Sample != "" {
			names[i] += " · " + n.sampleName()
		}
	}
	return names
}

// sampleName says which sample the job is, such as "sample 2"; empty for the base series.
func (n GraphJob) sampleName() string {
	if s, ok := ParseSample(n.Sample); ok {
		return fmt.Sprintf("sample %d", s.Copy)
	}
	return ""
}

// Node returns the place of a job in Nodes by its number; -1 if there is none.
func (g Graph) Node(number int) int {
	at, found := slices.BinarySearchFunc(g.Nodes, number, func(n GraphJob, number int) int { return n.Number - number })
	if !found {
		return -1
	}
	return at
}

// Drawn returns the jobs and their needs as graph.Draw takes them. link returns where more is said about a job; nil means
// that nothing is.
func (g Graph) Drawn(link func(events.JobID) string) (jobs []graph.Drawn, needs []graph.Need) {
	names := g.Names()
	jobs = make([]graph.Drawn, len(g.Nodes))
	for i, n := range g.Nodes {
		jobs[i] = graph.Drawn{Label: n.Label(), State: n.State, Optional: n.Optional, Note: strings.TrimSpace(n.sampleName() + " " + g.Because(names, n))}
		if s, ok := ParseSample(n.Sample); ok {
			jobs[i].Copy = s.Copy
		}
		if link != nil {
			jobs[i].Link = link(n.JobID)
		}
		for _, need := range n.Needs {
			needs = append(needs, graph.Need{Job: i, On: g.Node(need.On), Until: need.Until, Output: need.Output})
		}
	}
	return jobs, needs
}

// Drawing returns the drawing of the jobs and their needs, by their names. link is that of Drawn.
func (g Graph) Drawing(link func(events.JobID) string) graph.Drawing {
	d := graph.Draw(g.Drawn(link))
	if !d.Folded {
		for i, name := range g.Names() {
			d.Boxes[i].Name = name
		}
	}
	return d
}

// Because says because of which job another one is skipped, such as "because of smoke"; empty if it is not. names are
// those of the graph.
func (g Graph) Because(names []string, n GraphJob) string {
	if n.State != string(graph.Skipped) || n.SkippedBy == nil || g.Node(*n.SkippedBy) < 0 {
		return ""
	}
	return "because of " + names[g.Node(*n.SkippedBy)]
}

// Expected says how long the job is expected to take, such as "expected 4 min"; empty if it is over, and in a graph in the order
// of creation.
func (n GraphJob) Expected() string {
	waits := n.State == string(graph.Blocked) || n.State == string(events.JobQueued) || n.State == string(events.JobInProgress)
	if n.CostMS == nil || !waits {
		return ""
	}
	return "expected " + phrase.Duration(time.Duration(*n.CostMS)*time.Millisecond)
}

// ByRank sorts those places of Nodes whose jobs may run by rank. The others stay where they are.
func (g Graph) ByRank(places []int) {
	var at, ready []int
	for i, node := range places {
		if n := g.Nodes[node]; n.Rank != nil && n.State == string(events.JobQueued) {
			at, ready = append(at, i), append(ready, node)
		}
	}
	slices.SortStableFunc(ready, func(a, b int) int { return *g.Nodes[a].Rank - *g.Nodes[b].Rank })
	for i, node := range ready {
		places[at[i]] = node
	}
}
