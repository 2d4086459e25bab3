package readmodel

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// GraphDifferences says how the jobs of a graph differ from those that the definitions make for its request.
type GraphDifferences struct {
	RequestID events.RequestID `json:"request_id"`
	Graph     int              `json:"graph"`
	// Customised is what the scheduler found when it made the graph.
	Customised bool `json:"customised"`
	// Definitions are those that the request started with.
	Definitions events.Digest      `json:"definitions"`
	Differences []suite.Difference `json:"differences"`
	// Why says why nothing can be compared; empty if it is.
	Why string `json:"why,omitempty"`
}

// Differs compares a graph of a request with what the definitions that it started with make of it. Of a graph with several
// samples the first one is compared. It fails with ErrNotFound if there is no such graph.
func (r *Reader) Differs(ctx context.Context, id events.RequestID, number int) (GraphDifferences, error) {
	out := GraphDifferences{RequestID: id, Graph: number, Differences: []suite.Difference{}}
	var found []Request
	var graphs []Graph
	var nodes []GraphJob
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		var b pgx.Batch
		also(&b, &found, "requests", RequestFilter{ID: id}.args())
		also(&b, &graphs, "graphs", id)
		also(&b, &nodes, "graph_jobs", id, []int{number})
		return tx.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return out, fmt.Errorf("query graph %d of request %s: %w", number, id, tooLong("graphs", err))
	}
	at := slices.IndexFunc(graphs, func(g Graph) bool { return g.Number == number })
	if len(found) == 0 || at < 0 {
		return out, fmt.Errorf("graph %d of request %s: %w", number, id, ErrNotFound)
	}
	out.Customised, out.Definitions = graphs[at].Customised, found[0].Definitions
	jobs, needs, whole := Graph{Nodes: nodes}.specs(found[0].Suite)
	if !whole {
		out.Why = "some of its jobs have left the tables"
		return out, nil
	}
	definition, err := r.Definition(ctx, out.Definitions)
	if err != nil {
		return out, err
	}
	d, err := suite.Parse(definition.Content)
	if err != nil {
		return out, err
	}
	asked, err := r.forExpansion(ctx, found[0])
	if err != nil {
		return out, err
	}
	differences, err := d.Customised(asked, jobs, needs)
	if err != nil {
		out.Why = "the definitions that the request started with cannot be used: " + err.Error()
	}
	if graphs[at].Kind == events.GraphRetrigger { // which clones some of the jobs
		differences = slices.DeleteFunc(differences, func(one suite.Difference) bool { return one.Key == "" && one.Change == suite.Removed })
	}
	out.Differences = append(out.Differences, differences...)
	return out, nil
}

// forExpansion returns what definitions must know about a request that has started.
func (r *Reader) forExpansion(ctx context.Context, q Request) (suite.Request, error) {
	asked := suite.Request{
		ID: q.ID, Artifact: events.Artifact{Suite: q.Suite, Tag: q.Tag, Kind: q.Kind}, Parameters: q.Parameters, ParentTag: q.ParentTag, Requires: q.Requires,
		Definitions: q.Definitions, Choice: suite.Choice(q.Takes()),
	}
	if q.ParentTag == "" {
		return asked, nil
	}
	parents, err := r.Requests(ctx, RequestFilter{Suite: q.Suite, Tag: q.ParentTag, Limit: 1})
	if len(parents) > 0 {
		asked.Parent = &events.Artifact{Suite: q.Suite, Tag: q.ParentTag, Kind: parents[0].Kind}
	}
	return asked, err
}

// specs returns the jobs of the graph, or of its first sample, and what they need by their places; whole is false if some of them
// have left the tables.
func (g Graph) specs(name events.SuiteName) (jobs []events.JobSpec, needs []graph.Need, whole bool) {
	place := map[int]int{}
	for _, n := range g.Nodes {
		if n.Kind == "" {
			return nil, nil, false
		}
		if s, ok := ParseSample(n.Sample); ok && s.Copy > 1 {
			continue
		}
		place[n.Number] = len(jobs)
		jobs = append(jobs, events.JobSpec{
			ID: n.JobID, Artifact: events.Artifact{Suite: name, Tag: n.Tag, Kind: n.ArtifactKind}, Kind: n.Kind, Target: n.Target, Set: n.Set, Backend: n.Backend,
			Profile: n.Profile, Benchmarks: n.Benchmarks, Optional: n.Optional, Measures: n.Measures, Matched: n.Matched, Requires: n.Requires, Caches: n.Caches,
			Sample: n.Sample, Iterations: n.Iterations,
		})
	}
	for _, n := range g.Nodes {
		job, known := place[n.Number]
		if !known {
			continue
		}
		for _, need := range n.Needs {
			if on, known := place[need.On]; known {
				needs = append(needs, graph.Need{Job: job, On: on, Until: need.Until, Output: need.Output})
			}
		}
	}
	return jobs, needs, true
}
