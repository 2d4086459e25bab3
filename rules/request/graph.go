package request

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// Graph says what the jobs of a command need of each other. The jobs have the numbers from 0, in their order.
type Graph struct {
	Number int
	Kind   events.GraphKind
	// Shared are further jobs, which exist already. Their numbers follow those of the others.
	Shared []events.SharedJob
	// Needs are sorted by job.
	Needs []events.JobNeeds
	// Priority is that of samples; empty for that of the request.
	Priority events.Priority
	// Customised says that its jobs differ from those of the definitions.
	Customised bool
	// OnFailure says what the failure of a required job means for the others.
	OnFailure events.OnFailure
	// Deadline is by when its jobs should have ended; zero for none.
	Deadline time.Time
	// CostMS and Rank are as in events.GraphPart, of the jobs of the command; empty for a graph in the order of creation.
	CostMS []int64
	Rank   []int
}

// MayBegin reports whether a request in this state can be given the graph of a fact now. Those that people wish for come in any
// state. A fact that no decider makes begins none, in no fold.
func MayBegin(state events.RequestState, f events.GraphCreated) bool {
	if f.Graph < 0 || f.Jobs < 1 || f.Jobs > graph.MaxJobs || f.Needs < 0 || f.Needs > graph.MaxNeeds {
		return false
	}
	switch f.Kind {
	case events.GraphInitial, events.GraphBackfill:
		return state == events.StateInProgress
	case events.GraphRepair, events.GraphRetrigger, events.GraphNoise, events.GraphAdded, events.GraphExternal:
		return true
	case events.GraphRerun, events.GraphForce: // no graph of their own
	}
	return false
}

// Need adds a need. Those of one job come one after the other.
func (g *Graph) Need(n graph.Need) {
	last := len(g.Needs) - 1
	if last < 0 || g.Needs[last].Job != n.Job || g.Needs[last].Until != n.Until || g.Needs[last].Output != n.Output {
		g.Needs = append(g.Needs, events.JobNeeds{Job: n.Job, Until: n.Until, Output: n.Output})
		last++
	}
	g.Needs[last].On = append(g.Needs[last].On, n.On)
}

// Again are the next rounds of jobs of an open graph, and their numbers there.
type Again struct {
	Graph   int
	Numbers []int
	Jobs    []events.JobSpec
}

// needsPerEvent bounds the needs of one JobsCreated event.
const needsPerEvent = 20_000

// created returns the fact that begins the graph.
func (g *Graph) created(id events.RequestID, key string, jobs int) events.Fact {
	needs := 0
	for _, n := range g.Needs {
		needs += len(n.On)
	}
	deadline := ""
	if !g.Deadline.IsZero() {
		deadline = g.Deadline.UTC().Format(time.RFC3339)
	}
	return events.GraphCreated{
		RequestID: id, Graph: g.Number, Kind: g.Kind, Key: key, Jobs: jobs + len(g.Shared), Needs: needs, Priority: g.Priority, OnFailure: g.OnFailure, Deadline: deadline, Customised: g.Customised,
	}
}

// jobs returns the facts that make the jobs of the graph, each with what its jobs need.
func (g *Graph) jobs(id events.RequestID, jobs []events.JobSpec, key string) (facts []events.Fact) {
	next, shared := 0, g.Shared
	for at := 0; at < len(jobs) || next < len(g.Needs) || len(shared) > 0; {
		f := events.JobsCreated{
			RequestID: id, Key: key, Jobs: jobs[at:min(at+jobsPerEvent, len(jobs))],
			Graph: &events.GraphPart{Graph: g.Number, First: at, Shared: shared[:min(jobsPerEvent, len(shared))]},
		}
		if len(g.Rank) > 0 && len(f.Jobs) > 0 {
			f.Graph.CostMS, f.Graph.Rank = g.CostMS[at:at+len(f.Jobs)], g.Rank[at:at+len(f.Jobs)]
		}
		shared = shared[len(f.Graph.Shared):]
		at += len(f.Jobs)
		for pairs := 0; next < len(g.Needs) && (g.Needs[next].Job < at || at == len(jobs)); next++ {
			if pairs += len(g.Needs[next].On); pairs > needsPerEvent && len(f.Graph.Needs) > 0 {
				break
			}
			f.Graph.Needs = append(f.Graph.Needs, g.Needs[next])
		}
		facts = append(facts, f)
	}
	return facts
}

// runAgain returns the facts that make jobs of an open graph run again.
func runAgain(id events.RequestID, key string, rounds []Again) (facts []events.Fact) {
	for _, a := range rounds {
		for at := 0; at < len(a.Jobs); at += jobsPerEvent {
			end := min(at+jobsPerEvent, len(a.Jobs))
			facts = append(facts, events.JobsCreated{
				RequestID: id, Key: key, Jobs: a.Jobs[at:end], Graph: &events.GraphPart{Graph: a.Graph, Again: a.Numbers[at:end]},
			})
		}
	}
	return facts
}

// graphs counts the graphs that there are.
func graphs(all ...*Graph) (n int) {
	for _, g := range all {
		if g != nil {
			n++
		}
	}
	return n
}

// made returns the facts that make jobs, in a graph if there is one. It begins with the fact that begins the graph.
func made(id events.RequestID, jobs []events.JobSpec, key string, g *Graph) []events.Fact {
	if g == nil {
		return jobsCreated(id, jobs, key)
	}
	return append([]events.Fact{g.created(id, key, len(jobs))}, g.jobs(id, jobs, key)...)
}
