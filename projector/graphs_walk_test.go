package projector_test

import (
	"math"

	"github.com/tachobench/tacho/events"
)

// node is a job that the walk has put into a graph.
type node struct {
	graph, number int
	job           events.JobSpec
}

// graph says something about graphs, honest or not.
func (w *walker) graph() {
	tag, ok := w.tag()
	if !ok {
		return
	}
	switch id := requestID(tag); w.r.IntN(8) {
	case 0:
		w.graphOf(id, events.Tag(string(tag)+"r"), events.GraphRepair, 2+w.r.IntN(3))
	case 1, 2:
		w.roundAgain()
	case 3:
		w.tell(events.GraphEnded{RequestID: id, Graph: w.r.IntN(3), Outcome: []events.Outcome{events.Success, events.Failure, "odd"}[w.r.IntN(3)], Failed: 1, Skipped: w.r.IntN(3)})
	case 4:
		w.tell(events.GraphCreated{
			RequestID: []events.RequestID{id, "nobody", "bad\x00"}[w.r.IntN(3)], Graph: w.r.IntN(4) - 1,
			Kind: []events.GraphKind{events.GraphInitial, events.GraphRepair, events.GraphRerun, "odd"}[w.r.IntN(4)], Key: "k\x00",
			Jobs: []int{2, 0, -1, math.MaxInt}[w.r.IntN(4)], Needs: []int{0, 1, -1, math.MaxInt}[w.r.IntN(4)],
		})
	case 5:
		w.tell(events.JobsCreated{RequestID: id, Graph: w.oddPart()})
	case 6:
		if j, ok := w.job(); ok {
			w.tell(events.JobForced{
				RequestID: []events.RequestID{id, j.RequestID, "nobody"}[w.r.IntN(3)], JobID: []events.JobID{j.ID, j.ID, "nobody", "bad\x00"}[w.r.IntN(4)],
				Key: "k\x00", Reason: []string{"why not", "", "\x00"}[w.r.IntN(3)],
			})
		}
	default:
		w.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Jobs: 4, Graphs: 1})
		w.graphOf(id, tag, events.GraphInitial, w.r.IntN(2))
	}
}

// graphOf makes a graph of jobs of an artifact and of one that exists already.
func (w *walker) graphOf(id events.RequestID, tag events.Tag, kind events.GraphKind, number int) {
	var jobs []events.JobSpec
	for _, l := range lanes {
		for _, p := range []events.Profile{"check", "bench"} {
			j := job(tag, l, p)
			j.RequestID, j.Optional = id, w.r.IntN(4) == 0
			jobs = append(jobs, j)
		}
	}
	part := events.GraphPart{Graph: number, Needs: []events.JobNeeds{{Job: 1, On: []int{0}}, {Job: 3, On: []int{1, 2}, Until: events.UntilEnded}, {Job: 2, On: []int{4}}}}
	if w.r.IntN(6) == 0 {
		part.Needs[2] = events.JobNeeds{Job: 0, On: []int{[]int{1, 0, 9}[w.r.IntN(3)]}} // a cycle, and needs that cannot be
	}
	if known, ok := w.job(); ok {
		part.Shared = []events.SharedJob{{Number: 4, ID: known.ID, Outcome: []events.Outcome{"", "", events.Success, events.Failure}[w.r.IntN(4)]}}
	}
	rest := events.GraphPart{Graph: number, First: 2}
	if number%2 == 0 {
		part.Rank, part.CostMS = []int{2, math.MaxInt}, []int64{-4, math.MaxInt64}
		rest.Rank, rest.CostMS = []int{1, -1, 7}, []int64{60_000}
	}
	w.tell(events.GraphCreated{RequestID: id, Graph: number, Kind: kind, OnFailure: []events.OnFailure{events.FailFast, "", "odd"}[number%3], Jobs: 4 + len(part.Shared), Needs: 4})
	w.tell(events.JobsCreated{RequestID: id, Jobs: jobs[:2], Graph: &part})
	w.tell(events.JobsCreated{RequestID: id, Jobs: jobs[2:], Graph: &rest})
	for i, j := range jobs {
		w.jobs, w.graphed = append(w.jobs, j), append(w.graphed, node{number, i, j})
	}
}

// roundAgain makes the next round of a job of a graph, whether it has ended or not.
func (w *walker) roundAgain() {
	if len(w.graphed) == 0 {
		return
	}
	n := w.graphed[max(len(w.graphed)-1-w.r.IntN(6), 0)]
	n.job = n.job.Again()
	w.tell(events.JobsCreated{
		RequestID: n.job.RequestID, Key: "again", Jobs: []events.JobSpec{n.job},
		Graph: &events.GraphPart{Graph: n.graph, Again: []int{n.number}},
	})
	w.jobs, w.graphed = append(w.jobs, n.job), append(w.graphed, n)
}

// oddPart returns a part that no scheduler writes.
func (w *walker) oddPart() *events.GraphPart {
	p := &events.GraphPart{Rank: []int{0, 1, 2}, Graph: w.r.IntN(3) - 1, First: math.MaxInt, Again: []int{-1, math.MaxInt}[:w.r.IntN(3)]}
	for range w.r.IntN(3) {
		p.Shared = append(p.Shared, events.SharedJob{
			Number: w.r.IntN(6) - 1, ID: []events.JobID{"", "nobody", "bad\x00"}[w.r.IntN(3)], Outcome: []events.Outcome{"", "odd", events.Success}[w.r.IntN(3)],
		})
		p.Needs = append(p.Needs, events.JobNeeds{Job: w.r.IntN(6) - 1, On: []int{w.r.IntN(6) - 1, math.MinInt}, Until: []events.Until{"", "odd"}[w.r.IntN(2)]})
	}
	return p
}
