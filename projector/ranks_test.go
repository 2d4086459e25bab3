package projector_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	defs "github.com/tachobench/tacho/rules/suite"
)

// rankedGraph makes a request whose jobs have lanes, ranks and costs of as many minutes; the last one needs the first one.
func rankedGraph(s *story, tag events.Tag, at []events.Lane, ranks []int) (specs []events.JobSpec) {
	id, last := requestID(tag), len(ranks)-1
	s.tell(created(tag, "", 0))
	s.tell(events.RequestStarted{RequestID: id, Definitions: "d1", Jobs: len(ranks), Graphs: 1})
	s.tell(events.GraphCreated{RequestID: id, Graph: 0, Kind: events.GraphInitial, Jobs: len(ranks), Needs: 1})
	part := &events.GraphPart{Needs: []events.JobNeeds{{Job: last, On: []int{0}}}, Rank: ranks}
	for i, rank := range ranks {
		specs = append(specs, job(tag, at[i], events.Profile(fmt.Sprintf("p%d", i))))
		part.CostMS = append(part.CostMS, int64(rank)*60_000)
	}
	s.tell(events.JobsCreated{RequestID: id, Jobs: specs, Graph: part})
	return specs
}

// TestRanksInTheTables: the jobs of a graph know what they cost and who of them goes first, in all their rounds.
func TestRanksInTheTables(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	s.tell(events.CollectorOnline{Name: collectorOf(lanes[0]), Instance: "i1"})
	specs := rankedGraph(s, "sha1", []events.Lane{lanes[0], lanes[0], lanes[0], lanes[0]}, []int{2, 0, 1, 3})
	ahead := func(want ...int) {
		t.Helper()
		r := open(t, project(t, s.stored, 7))
		for i, n := range want {
			w, err := r.WhyJob(t.Context(), specs[i].ID, match.Waits{})
			if err != nil || w.Ahead != n {
				t.Errorf("%d jobs are before job %d, %v, want %d: %s", w.Ahead, i, err, n, w.Words)
			}
		}
	}
	ahead(2, 0, 1)
	s.ran(specs[0], events.Failure)
	specs[0] = specs[0].Again()
	s.tell(events.JobsCreated{RequestID: requestID("sha1"), Key: "again", Jobs: specs[:1], Graph: &events.GraphPart{Again: []int{0}}})
	ahead(2, 0, 1)
	r := open(t, project(t, s.stored, 1000))
	round, err := r.Job(t.Context(), specs[0].ID)
	if err != nil || round.Rank == nil || *round.Rank != 2 || round.CostMS == nil || *round.CostMS != 120_000 || round.Graph == nil || *round.Graph != 0 {
		t.Errorf("%+v %v", round.Job, err)
	}
	graphs, err := r.Graphs(t.Context(), requestID("sha1"))
	if err != nil || len(graphs) != 1 {
		t.Fatal(graphs, err)
	}
	var words []string
	for _, n := range graphs[0].Nodes {
		words = append(words, fmt.Sprint(n.State, " ", *n.Rank, " ", n.Expected()))
	}
	if diff := cmp.Diff([]string{"queued 2 expected 2 min", "queued 0 expected 0 ms", "queued 1 expected 1 min", "blocked 3 expected 3 min"}, words); diff != "" {
		t.Error(diff)
	}
	places := []int{3, 0, 1, 2}
	graphs[0].ByRank(places)
	if diff := cmp.Diff([]int{3, 1, 2, 0}, places); diff != "" {
		t.Errorf("the ready jobs are not in the order of their ranks:\n%s", diff)
	}
}

// TestTheFirstRankOfAJobStays, in whatever batches the events come: a second event for the same numbers of a graph ranks nothing.
func TestTheFirstRankOfAJobStays(t *testing.T) {
	s := newStory(t)
	specs := rankedGraph(s, "sha1", []events.Lane{lanes[0], lanes[0]}, []int{1, 0})
	s.tell(events.JobsCreated{RequestID: requestID("sha1"), Jobs: specs, Graph: &events.GraphPart{Rank: []int{3, 4}, CostMS: []int64{5, 6}}})
	s.tell(events.RequestCancelled{RequestID: requestID("sha1"), Reason: "asked"}) // the graph is written once more
	url := project(t, s.stored, 1)
	if diff := cmp.Diff(contents(t, project(t, s.stored, 1000)), contents(t, url)); diff != "" {
		t.Errorf("in one batch (-) and in many (+):\n%s", diff)
	}
	graphs, err := open(t, url).Graphs(t.Context(), requestID("sha1"))
	if err != nil || len(graphs) != 1 || *graphs[0].Nodes[0].Rank != 1 || *graphs[0].Nodes[1].Rank != 0 {
		t.Errorf("%+v, %v", graphs, err)
	}
}

// TestEstimatesPlayNeeds: a job that waits for one on another lane begins after it.
func TestEstimatesPlayNeeds(t *testing.T) {
	s := newStory(t)
	s.man(lanes[0])
	s.man(lanes[1])
	known := []events.JobSpec{job("sha0", lanes[0], "p0"), job("sha0", lanes[1], "p1")}
	s.begin(created("sha0", "", 0), known...)
	s.run(known[0], 10*time.Minute)
	s.run(known[1], 20*time.Minute)
	s.tell(events.RequestCompleted{RequestID: requestID("sha0"), Jobs: 2})
	rankedGraph(s, "sha1", lanes[:2], []int{0, 1})
	q := s.queueOf()
	if len(q) != 1 || q[0].EstimatedEnd == nil {
		t.Fatalf("%+v", q)
	}
	if got := q[0].EstimatedEnd.Sub(s.at).Round(time.Minute); got != 30*time.Minute {
		t.Errorf("it takes %s, want 30 min", got)
	}
}

// TestCommandsTellHowLongTheyTake, although they measure no case.
func TestCommandsTellHowLongTheyTake(t *testing.T) {
	s := newStory(t)
	d, err := defs.Parse(definitions())
	if err != nil {
		t.Fatal(err)
	}
	d.Version = 2
	d.Kinds = append(d.Kinds, defs.Kind{Name: "lint", Does: defs.DoesCommand, Steps: [][]string{{"true"}}})
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: d.Digest(), Content: d.Canonical()})
	lint := func(tag events.Tag) events.JobSpec {
		j := job(tag, lanes[0], "p0")
		j.Kind, j.Definitions = "lint", d.Digest()
		j.ID = j.First()
		s.begin(created(tag, "", 0), j)
		return j
	}
	s.man(lanes[0])
	j := lint("sha0")
	f := finished(j, s.tell(dequeued(j, 1, 0)), events.Success)
	f.Measured, f.DurationMS, f.Phases = 0, 90_000, &events.Phases{Wait: 30_000}
	s.tell(f)
	s.tell(events.RequestCompleted{RequestID: requestID("sha0"), Jobs: 1})
	lint("sha1")
	q := s.queueOf()
	if len(q) != 1 || q[0].EstimatedEnd == nil || q[0].Guessed {
		t.Fatalf("%+v", q)
	}
	if got := q[0].EstimatedEnd.Sub(s.at); got < 55*time.Second || got > 65*time.Second {
		t.Errorf("it takes %s, want a minute: what it waited for its turn does not count", got)
	}
}
