package projector_test

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	rules "github.com/tachobench/tacho/rules/job"
)

// sampleLane is where samples of the walk run.
var sampleLane = events.Lane{Target: "linux-amd64", Set: 7}

// wish is a graph of samples that the walk has made. next counts the jobs that were begun.
type wish struct {
	request events.RequestID
	graph   int
	jobs    []events.JobSpec
	next    int
	over    bool
}

// samples says something about graphs of samples, honest or not.
func (w *walker) samples() {
	for range 3 {
		if len(w.wishes) == 0 || w.r.IntN(60) == 0 {
			w.wish()
			return
		}
		w.goOn(w.wishes[len(w.wishes)-1])
	}
}

// goOn says the next thing about a graph of samples.
func (w *walker) goOn(g *wish) {
	switch t := w.lane(sampleLane); {
	case g.over && w.r.IntN(3) > 0:
		w.wish()
	case w.r.IntN(30) == 0:
		w.tell(events.GraphCancelled{RequestID: g.request, Graph: g.graph + w.r.IntN(2), Reason: "enough\x00"})
	case w.r.IntN(30) == 0:
		w.tell(events.PriorityChanged{RequestID: g.request, Graph: new(g.graph + w.r.IntN(2)), To: append(events.Priorities, "soon")[w.r.IntN(6)]})
	case w.r.IntN(40) == 0, g.next == len(g.jobs) && t.Phase != rules.Current:
		w.tell(events.GraphEnded{RequestID: g.request, Graph: g.graph, Outcome: []events.Outcome{events.Success, events.Success, events.Cancelled}[w.r.IntN(3)], Jobs: len(g.jobs)})
		g.over = true
	case t.Phase == rules.Current:
		w.sample(t)
	case g.next < len(g.jobs):
		w.tell(dequeued(g.jobs[g.next], 1, 0))
		g.next++
	}
}

// wish makes a graph of samples of the jobs of an artifact.
func (w *walker) wish() {
	tag, ok := w.tag()
	if !ok {
		return
	}
	g := &wish{request: requestID(tag), graph: 3 + 2*w.r.IntN(3)}
	for i := range 2 + w.r.IntN(2) {
		for _, p := range []events.Profile{"debug", "opt"}[:1+w.r.IntN(2)] {
			j := job(tag, sampleLane, p)
			j.Sample = events.NewSample(g.request, g.graph, i+1)
			if w.r.IntN(10) == 0 {
				j.Sample = []string{"odd", "bad\x00", "rother-1-1", string(g.request) + "-3-007", string(g.request) + "-3-99999999999"}[w.r.IntN(5)]
			}
			j.ID, j.Optional, j.Backfill = j.First(), w.r.IntN(4) == 0, w.r.IntN(2) == 0
			g.jobs = append(g.jobs, j)
		}
	}
	w.tell(events.GraphCreated{
		RequestID: g.request, Graph: g.graph, Kind: []events.GraphKind{events.GraphNoise, events.GraphNoise, events.GraphRetrigger, events.GraphRepair}[w.r.IntN(4)],
		Key: "s", Jobs: len(g.jobs), Priority: []events.Priority{"", events.PriorityLow, events.PriorityIdle, events.PriorityVIP, "odd"}[w.r.IntN(5)],
	})
	w.tell(events.JobsCreated{RequestID: g.request, Key: "s", Jobs: g.jobs, Graph: &events.GraphPart{Graph: g.graph}})
	w.jobs, w.wishes = append(w.jobs, g.jobs[0]), append(w.wishes, g)
}

// sample lets the running sample measure, fail or end.
func (w *walker) sample(t *tale) {
	for _, g := range w.wishes {
		for _, j := range g.jobs {
			if j.ID != t.JobID {
				continue
			}
			switch w.r.IntN(5) {
			case 0:
				w.tell(failedCase(j, t.Token, "exit status 2"))
			case 1:
				w.tell(finished(j, t.Token, []events.Outcome{events.Success, events.Success, events.Failure}[w.r.IntN(3)]))
			default:
				f := measured(j, t.Token, events.Benchmark(fmt.Sprint("b", w.r.IntN(2))), "gob")
				for i := range f.Cases {
					for n := range f.Cases[i].Iterations {
						f.Cases[i].Iterations[n].Metrics["wall-time"] = []float64{1, 1.02, 1.5, 1.75, 0, -1, 5e-324, 1.7e308}[w.r.IntN(8)>>w.r.IntN(2)]
						f.Cases[i].Iterations[n].Metrics["odd\x00"] = 1 + float64(w.r.IntN(3))
					}
				}
				w.tell(f)
			}
			return
		}
	}
	w.tell(events.JobFinished{Lane: sampleLane, JobID: t.JobID, Collector: collectorOf(sampleLane), Token: t.Token, Outcome: events.Failure})
}
