package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// layered returns definitions whose requests have about so many jobs, in two layers: each of the second needs width of
// the first.
func layered(jobs, width int) suite.Definitions {
	d := small()
	d.Version, d.Kinds = 2, []suite.Kind{{Name: "a", PerSet: true, PerProfile: true}, {Name: "b", PerSet: true, PerProfile: true, Needs: []suite.KindNeed{
		{Kind: "a", Across: []string{"profile"}},
	}}}
	d.Profiles = nil
	for i := range width {
		d.Profiles = append(d.Profiles, suite.Profile{Name: events.Profile(fmt.Sprint("p", i))})
	}
	d.Targets[0].Sets = jobs / 2 / width
	return d
}

// BenchmarkGraph is a graph of 10,000 jobs and 100,000 needs: its start, with the fold of all its events, and each
// dispatch with its fold. The ratios are to the dispatch of the same jobs without needs: of the graph, and of these jobs
// while ten other graphs have 99,000 blocked jobs.
func BenchmarkGraph(b *testing.B) {
	for b.Loop() {
		plain := layered(10_000, 20)
		plain.Kinds[1].Needs = nil
		without := playGraph(b, plain, 0)
		with := playGraph(b, layered(10_000, 20), 0)
		beside := playGraph(b, plain, 10)
		b.ReportMetric(float64(with.made.Milliseconds()), "ms/start")
		b.ReportMetric(float64(with.needs), "needs")
		b.ReportMetric(float64(with.decided.Nanoseconds()), "ns/decision")
		b.ReportMetric(float64(with.each.Nanoseconds()), "ns/dispatch")
		b.ReportMetric(float64(with.each)/float64(without.each), "ratio")
		b.ReportMetric(float64(beside.each)/float64(without.each), "beside_ratio")
		b.ReportMetric(float64(beside.decided)/float64(without.decided), "beside_decision_ratio")
	}
}

// rooted returns definitions whose requests have 9,901 jobs: 9,900 need the first one.
func rooted() suite.Definitions {
	d := layered(2, 1)
	d.Kinds[0].PerProfile, d.Kinds[0].Profile = false, "p0"
	d.Profiles = nil
	for i := range 100 {
		d.Profiles = append(d.Profiles, suite.Profile{Name: events.Profile(fmt.Sprint("p", i))})
	}
	d.Targets[0].Sets = 99
	d.Kinds[0].PerSet = false
	return d
}

type played struct {
	made, decided, each time.Duration
	needs               int
}

// playGraph starts a request, beside others whose jobs are blocked, and runs all its jobs. It returns how long the start
// took and, as medians, a dispatch with its fold and its decision alone.
func playGraph(b *testing.B, d suite.Definitions, others int) (p played) {
	f := newGraphFarm(b, d)
	f.judge, f.policy.MaxInProgress, f.policy.MaxWaiting = nil, others+1, 1_000_000
	if others > 0 {
		idle := rooted()
		idle.Name = "idle"
		idle.Targets[0].Name, idle.PrimaryTarget = "elsewhere", "elsewhere"
		f.fold(events.DefinitionsPublished{Suite: idle.Name, Digest: idle.Digest(), Content: idle.Canonical()})
		for i := range others {
			tag := events.Tag(fmt.Sprint("i", i))
			f.fold(events.RequestCreated{RequestID: events.RequestID("r" + tag), Kind: events.Master, Suite: "idle", Tag: tag, Key: string(tag), State: events.StateArtifactsReady})
			for f.state.Requests[events.RequestID("r"+tag)].StartedAt.IsZero() {
				f.step()
			}
		}
	}
	id := f.ask("t1", "", events.Master)
	begin := time.Now()
	for f.state.Requests[id].StartedAt.IsZero() {
		f.step()
	}
	p.made = time.Since(begin)
	for _, e := range f.log {
		if g, ok := e.Fact.(events.GraphCreated); ok {
			p.needs = g.Needs
		}
	}
	var decisions, dispatches []time.Duration
	for moved := true; moved; {
		moved = false
		for _, lane := range f.state.LaneOrder {
			if lane.Target != d.Targets[0].Name {
				continue
			}
			begin := time.Now()
			all := decideLane(f.state, lane)
			decided := time.Since(begin)
			for _, d := range all {
				f.fold(d.facts...)
			}
			if n := time.Duration(len(all)); n > 0 {
				decisions, dispatches = append(decisions, decided/n), append(dispatches, time.Since(begin)/n)
			}
		}
		for range f.state.LaneOrder {
			moved = f.work() || moved
		}
	}
	slices.Sort(decisions)
	slices.Sort(dispatches)
	p.decided, p.each = decisions[len(decisions)/2], dispatches[len(dispatches)/2]
	return p
}

// BenchmarkOneRoot is the end of a job that 9,900 others need.
func BenchmarkOneRoot(b *testing.B) {
	d := rooted()
	for b.Loop() {
		b.StopTimer()
		f := newGraphFarm(b, d)
		f.judge = nil
		f.ask("t1", "", events.Master)
		for len(f.state.Lanes[f.state.LaneOrder[0]].Work.Dispatched) == 0 {
			f.step()
		}
		f.work()
		b.StartTimer()
		f.work()
		b.StopTimer()
		if got := f.state.Seats.All; got != 9900 || f.state.Graphs["rt1"][0].States.State(0) != graph.Succeeded {
			b.Fatal(got, "jobs are ready")
		}
		b.StartTimer()
	}
}
