package projector

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// mostMS is the longest time in milliseconds that a time.Duration can hold.
const mostMS = int64(math.MaxInt64 / time.Millisecond)

// rank notes what a job of a graph is expected to cost, and its place in the order of the graph.
func (g *openGraph) rank(number int, costMS int64, rank int) {
	if !g.has(number) {
		return
	}
	if g.ranks == nil {
		g.costs, g.ranks = make([]int64, len(g.jobs)), slices.Repeat([]int{-1}, len(g.jobs))
	}
	g.costs[number], g.ranks[number] = min(max(costMS, 0), mostMS), min(max(rank, 0), math.MaxInt32)
}

// place returns what a job of the graph is expected to cost and its place in the order; nil in an order of creation, and for a
// job that existed before.
func (g *openGraph) place(number int) (costMS *int64, rank *int) {
	if g.ranks == nil || !g.has(number) || g.ranks[number] < 0 {
		return nil, nil
	}
	return &g.costs[number], &g.ranks[number]
}

// rankJob notes the cost and rank of a new job of a graph, by its place in the event. A later event does not change them.
func (g *openGraph) rankJob(part *events.GraphPart, i int) {
	if i >= len(part.Rank) {
		return
	}
	cost := int64(0)
	if i < len(part.CostMS) {
		cost = part.CostMS[i]
	}
	g.rank(part.First+i, cost, part.Rank[i])
}

// seat notes in a job where it stands in the graph that it was made in.
func (s *state) seat(g *openGraph, number int, id events.JobID) {
	j := s.jobs[id]
	if j == nil || !g.has(number) {
		return
	}
	j.Graph = pointer(g.row.Number)
	if cost, rank := g.place(number); rank != nil {
		j.CostMS, j.Rank = pointer(*cost), pointer(*rank)
	}
	s.dirtyJobs[id] = true
}

// byTurn sorts jobs of one request by the order in which they are dispatched, as the scheduler does (rules/ledger/line.go):
// samples last, backfill first, then by graph, by rank, and as they were made. Jobs that were made in no graph come after
// those of graphs.
func byTurn(jobs []*jobRow) {
	at := func(n *int, none int) int {
		if n == nil {
			return none
		}
		return *n
	}
	own := func(j *jobRow) int {
		if j.Backfill && j.Graph != nil && j.Sample == "" {
			return 0
		}
		return 1
	}
	slices.SortFunc(jobs, func(a, b *jobRow) int {
		return cmp.Or(
			min(len(a.Sample), 1)-min(len(b.Sample), 1), own(a)-own(b), cmp.Compare(at(a.Graph, math.MaxInt), at(b.Graph, math.MaxInt)),
			cmp.Compare(at(a.Rank, 0), at(b.Rank, 0)), cmp.Compare(a.CreatedSeq, b.CreatedSeq), cmp.Compare(a.Ordinal, b.Ordinal),
		)
	})
}

// waits returns which of some jobs each blocked one of them waits for, by their places in the list from 1 on. What is not in
// the list is not waited for: it has ended, or never will.
func (s *state) waits(jobs []*jobRow) map[events.JobID][]int {
	var graphs []*openGraph
	seen, number := map[*openGraph]bool{}, map[events.JobID]int{}
	for i, j := range jobs {
		number[j.ID] = i + 1
		if j.Held != graph.Blocked {
			continue
		}
		for _, p := range s.places[j.ID] {
			if !seen[p.graph] {
				seen[p.graph], graphs = true, append(graphs, p.graph)
			}
		}
	}
	after := map[events.JobID][]int{}
	for _, g := range graphs {
		g.rules.Needs(func(n graph.Need, met bool) {
			job, on := g.jobs[n.Job], number[g.jobs[n.On]]
			if at := number[job]; !met && on > 0 && at > 0 && jobs[at-1].Held == graph.Blocked {
				after[job] = append(after[job], on)
			}
		})
	}
	return after
}
