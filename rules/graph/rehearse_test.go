package graph

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anywhere returns a rehearsal in which any of some lanes takes any job.
func anywhere(lanes int, costs []int64, needs ...Need) Rehearsal {
	r := Rehearsal{Needs: needs, Pooled: []bool{true}, Lanes: []Lanes{{Number: lanes, Classes: []int{0}}}}
	for _, c := range costs {
		r.Jobs = append(r.Jobs, Rehearsed{CostMS: c})
	}
	return r
}

// The graphs and the order are those of the unit tests of Cargo's job queue (src/cargo/util/dependency_queue.rs), with its
// costs: what is ready is taken by rank, and then a job ends.
func TestRanksOfTheGraphsOfCargo(t *testing.T) {
	for _, test := range []struct {
		name  string
		costs []int64
		needs []Need
		// steps are the jobs that begin one after another until none is ready; ends is which of them ends before each step but
		// the first.
		steps [][]int
		ends  []int
	}{
		{
			"deep first",
			[]int64{1, 1, 1, 1, 1},
			[]Need{{Job: 1, On: 0}, {Job: 3, On: 1}, {Job: 3, On: 2}, {Job: 4, On: 3}, {Job: 4, On: 2}},
			[][]int{{0, 2}, nil, {1}, {3}, {4}},
			[]int{2, 0, 1, 3},
		},
		{
			"highest cost first",
			[]int64{1, 1, 4, 1},
			[]Need{{Job: 1, On: 0}, {Job: 3, On: 1}, {Job: 3, On: 2}},
			[][]int{{2, 0}, nil, {1}, {3}},
			[]int{2, 0, 1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			ranks := anywhere(2, test.costs, test.needs...).Ranks()
			g := New(len(test.costs), len(test.needs))
			for i := range test.costs {
				g.Add(i, false, "")
			}
			for _, n := range test.needs {
				g.Need(n)
			}
			g.Settle()
			begun := map[int]bool{}
			for i, want := range test.steps {
				if i > 0 {
					g.End(test.ends[i-1], "success")
				}
				var got []int
				for job := range test.costs {
					if g.State(job) == Ready && !begun[job] {
						got, begun[job] = append(got, job), true
					}
				}
				slices.SortFunc(got, func(a, b int) int { return ranks[a] - ranks[b] })
				if !slices.Equal(got, want) {
					t.Errorf("step %d begins %v, want %v", i, got, want)
				}
			}
		})
	}
}

// A chain of three jobs of 10 s beside twenty of 1 s takes 30 s on two lanes; in the order of creation it takes longer.
func TestChainBesideShortJobs(t *testing.T) {
	costs := slices.Repeat([]int64{1000}, 20)
	costs = append(costs, 10_000, 10_000, 10_000)
	r := anywhere(2, costs, Need{Job: 21, On: 20}, Need{Job: 22, On: 21})
	p := r.theatre()
	if got := p.play(r.Ranks()); got != 30_000 {
		t.Errorf("it takes %d ms, want 30,000", got)
	}
	if got := p.play(ranked(p.creation())); got != 40_000 {
		t.Errorf("in the order of creation it takes %d ms, want 40,000", got)
	}
}

func TestRehearsalOfOddGraphs(t *testing.T) {
	for _, test := range []struct {
		name     string
		r        Rehearsal
		makespan int64
	}{
		{"none", Rehearsal{}, 0},
		{"one job", anywhere(1, []int64{7}), 7},
		{"costs of nothing", anywhere(2, []int64{0, 0, 0}, Need{Job: 2, On: 0}), 0},
		{"negative costs", anywhere(2, []int64{-5, math.MinInt64, 3}, Need{Job: 2, On: 0}), 3},
		{"costs that overflow", anywhere(1, []int64{math.MaxInt64, math.MaxInt64, 1}, Need{Job: 1, On: 0}), math.MaxInt64},
		{"no lanes", anywhere(0, []int64{4, 5}), 9},
		{"work behind that overflows", Rehearsal{
			Jobs:  []Rehearsed{{CostMS: 1}, {CostMS: math.MaxInt64, Class: 1}, {CostMS: math.MaxInt64, Class: 1}},
			Needs: []Need{{Job: 1, On: 0}, {Job: 2, On: 0}}, Pooled: []bool{true, false},
		}, math.MaxInt64},
		{"one that is over", Rehearsal{
			Jobs:  []Rehearsed{{CostMS: 50, Over: true}, {CostMS: 5}},
			Needs: []Need{{Job: 1, On: 0}}, Pooled: []bool{true}, Lanes: []Lanes{{Number: 1, Classes: []int{0}}},
		}, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			ranks := test.r.Ranks()
			if got := test.r.theatre().play(ranks); got != test.makespan {
				t.Errorf("it takes %d, want %d", got, test.makespan)
			}
			wantPlaces(t, ranks, len(test.r.Jobs))
		})
	}
}

// wantPlaces reports ranks that are not the places from 0 on, each once.
func wantPlaces(t interface {
	Helper()
	Errorf(string, ...any)
}, ranks []int, jobs int,
) {
	t.Helper()
	for i, rank := range slices.Sorted(slices.Values(ranks)) {
		if rank != i {
			t.Errorf("the ranks are %v", ranks)
			return
		}
	}
	if len(ranks) != jobs {
		t.Errorf("%d ranks of %d jobs", len(ranks), jobs)
	}
}

// A play never ends before the bound of any graph; the order that is taken never ends after that of creation; equal graphs
// have equal ranks.
func TestRehearsalsOfAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		g := randomGraph(r, rapid.IntRange(1, 40).Draw(t, "jobs"))
		if rapid.Bool().Draw(t, "pinned") {
			g = pinned(r, rapid.IntRange(1, 3).Draw(t, "builders"), rapid.IntRange(1, 4).Draw(t, "lanes"), rapid.Bool().Draw(t, "even"))
		}
		ranks := g.Ranks()
		wantPlaces(t, ranks, len(g.Jobs))
		if again := g.Ranks(); !slices.Equal(ranks, again) {
			t.Fatalf("%v, and then %v", ranks, again)
		}
		p := g.theatre()
		got, creation := p.play(ranks), p.play(ranked(p.creation()))
		if least := bound(g); got < least || got > creation {
			t.Fatalf("it takes %d, in the order of creation %d, and at least %d", got, creation, least)
		}
	})
}

// randomGraph returns a graph in which each job waits for up to three of those before it; some jobs take much longer than
// most. Number and length of the chains differ.
func randomGraph(r *rand.Rand, jobs int) Rehearsal {
	g := anywhere(4, nil)
	near := 1 + r.IntN(40)
	for i := range jobs {
		g.Jobs = append(g.Jobs, Rehearsed{CostMS: int64(1000 * math.Exp(r.NormFloat64()*1.2+2))})
		seen := map[int]bool{}
		for range r.IntN(4) {
			if on := i - 1 - r.IntN(near); on >= 0 && !seen[on] {
				seen[on] = true
				g.Needs = append(g.Needs, Need{Job: i, On: on})
			}
		}
	}
	return g
}

// pinned returns a graph of builds, which any builder takes, and of measurements of what they yield. If it is even, builders
// and lanes have about equal work: each build has two to nine measurements, on lanes at random. Else it has one or two on each
// lane, and the lanes have most work.
func pinned(r *rand.Rand, builders, lanes int, even bool) Rehearsal {
	g := Rehearsal{Pooled: append([]bool{true}, make([]bool, lanes)...), Lanes: []Lanes{{Number: builders, Classes: []int{0}}}}
	length := func(mean float64) int64 { return int64(1000 * mean * math.Exp(r.NormFloat64()*0.8)) }
	for range 8 + r.IntN(8) {
		build := len(g.Jobs)
		g.Jobs = append(g.Jobs, Rehearsed{CostMS: length(60)})
		if build > 0 && r.IntN(4) == 0 { // on an earlier one, such as for a later stage
			if on := r.IntN(build); g.Jobs[on].Class == 0 {
				g.Needs = append(g.Needs, Need{Job: build, On: on})
			}
		}
		measure := func(lane int) {
			g.Needs = append(g.Needs, Need{Job: len(g.Jobs), On: build})
			g.Jobs = append(g.Jobs, Rehearsed{CostMS: length(40), Class: 1 + lane})
		}
		if even {
			for range 2 + r.IntN(8) {
				measure(r.IntN(lanes))
			}
			continue
		}
		for lane := range lanes {
			for range 1 + r.IntN(2) {
				measure(lane)
			}
		}
	}
	return g
}

// bound returns a time before which no order ends: the longest path, and what the lanes of each class need (see busy).
func bound(g Rehearsal) int64 {
	p := g.theatre()
	paths := p.paths()
	least := slices.Max(append([]int64{0}, paths...))
	before := make([]int64, len(g.Jobs))
	for _, job := range p.order {
		for _, next := range p.after(job) {
			before[next] = max(before[next], before[job]+p.cost[job])
		}
	}
	for class := range p.pooled {
		number := int64(0)
		for _, l := range p.lanes {
			if slices.Contains(l.Classes, class) {
				number += int64(l.Number)
			}
		}
		var jobs []task
		for i := range p.cost {
			if int(p.class[i]) == class && p.cost[i] > 0 {
				jobs = append(jobs, task{before[i], p.cost[i], paths[i] - p.cost[i]})
			}
		}
		least = max(least, busy(jobs, number))
	}
	return least
}

// task is a job that cannot begin before head, and after which tail must pass.
type task struct{ head, cost, tail int64 }

// busy returns a time before which lanes cannot have done jobs. Of several lanes: the shortest head, their work in equal parts,
// the shortest tail. Of one lane: the end of Jackson's preemptive schedule, in which the job with the longest tail runs of
// those that can, and no schedule ends before it (J. R. Jackson, Scheduling a production line to minimize maximum tardiness,
// 1955; J. Carlier, E. Pinson, An algorithm for solving the job-shop problem, Management Science 35, 1989).
func busy(jobs []task, lanes int64) (end int64) {
	if lanes > 1 {
		work, head, tail := int64(0), int64(math.MaxInt64), int64(math.MaxInt64)
		for _, j := range jobs {
			work, head, tail = work+j.cost, min(head, j.head), min(tail, j.tail)
		}
		if work == 0 {
			return 0
		}
		return head + tail + (work+lanes-1)/lanes
	}
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, func(a, b task) int { return cmp.Compare(a.head, b.head) })
	var open pile[task]
	longest := func(a, b task) bool { return a.tail > b.tail }
	for now := int64(0); len(jobs)+len(open) > 0; {
		if len(open) == 0 {
			now = max(now, jobs[0].head)
		}
		for len(jobs) > 0 && jobs[0].head <= now {
			open, jobs = open.push(jobs[0], longest), jobs[1:]
		}
		runs := open[0].cost
		if len(jobs) > 0 {
			runs = min(runs, jobs[0].head-now)
		}
		now += runs
		if open[0].cost -= runs; open[0].cost == 0 {
			end = max(end, now+open.pop(longest).tail)
		}
	}
	return end
}

// figures are means over many graphs: how long a graph takes for its bound. most is the longest one, with exact costs.
type figures struct{ exact, off, constant, creation, most float64 }

// measure plays graphs with exact costs, with costs that are wrong by up to 30 %, with constant ones, and in the order of
// creation.
func measure(count int, draw func(*rand.Rand) Rehearsal) (mean figures) {
	for seed := range count {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		g := draw(r)
		p, least := g.theatre(), float64(bound(g))
		play := func(change func(int64) int64) float64 {
			wrong := g
			wrong.Jobs = slices.Clone(g.Jobs)
			for i := range wrong.Jobs {
				wrong.Jobs[i].CostMS = change(wrong.Jobs[i].CostMS)
			}
			return float64(p.play(wrong.Ranks())) / least / float64(count)
		}
		exact := play(func(c int64) int64 { return c })
		mean.exact, mean.most = mean.exact+exact, max(mean.most, exact*float64(count))
		mean.off += play(func(c int64) int64 { return int64(float64(c) * (0.7 + 0.6*r.Float64())) })
		mean.constant += play(func(int64) int64 { return 1000 })
		mean.creation += float64(p.play(ranked(p.creation()))) / least / float64(count)
	}
	return mean
}

func TestMakespanOfRandomGraphs(t *testing.T) {
	for _, workers := range []int{4, 8} {
		mean := measure(400, func(r *rand.Rand) Rehearsal {
			g := randomGraph(r, 120)
			g.Lanes[0].Number = workers
			return g
		})
		t.Logf("%d workers: %.4f of the bound, %.4f with costs that are wrong by 30 %%, %.4f with constant costs, %.4f in the order of creation",
			workers, mean.exact, mean.off, mean.constant, mean.creation)
		if mean.exact > 1.01 || mean.off > 1.02 || mean.constant < mean.off {
			t.Errorf("%d workers: %+v", workers, mean)
		}
	}
}

func TestMakespanOfPinnedFarms(t *testing.T) {
	for _, even := range []bool{false, true} {
		for _, builders := range []int{2, 4} {
			for _, lanes := range []int{4, 8} {
				mean := measure(30, func(r *rand.Rand) Rehearsal { return pinned(r, builders, lanes, even) })
				t.Logf("even %v, %d builders, %d lanes: %.4f of the bound, at most %.3f, %.4f with costs that are wrong by 30 %%, %.4f with constant costs, %.4f in the order of creation",
					even, builders, lanes, mean.exact, mean.most, mean.off, mean.constant, mean.creation)
				if mean.exact > mean.creation || mean.off > mean.creation || mean.exact > 1.02 || mean.off > 1.03 {
					t.Errorf("even %v, %d builders, %d lanes: %+v", even, builders, lanes, mean)
				}
			}
		}
	}
}

// BenchmarkRehearse ranks the largest graph, and reports how many times longer that takes than to visit its jobs once after
// all that they wait for ("x-walk").
func BenchmarkRehearse(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	pools := Rehearsal{Pooled: append([]bool{true, true}, make([]bool, 8)...), Lanes: []Lanes{{Number: 16, Classes: []int{0}}, {Number: 4, Classes: []int{0, 1}}}}
	for i := range MaxJobs {
		pools.Jobs = append(pools.Jobs, Rehearsed{CostMS: r.Int64N(100_000), Class: r.IntN(len(pools.Pooled))})
		for range min(i, MaxNeeds/MaxJobs) {
			pools.Needs = append(pools.Needs, Need{Job: i, On: max(0, i-1-r.IntN(400))})
		}
	}
	one := pools
	one.Pooled, one.Lanes = []bool{true}, []Lanes{{Number: 16, Classes: []int{0}}}
	one.Jobs = slices.Clone(pools.Jobs)
	for i := range one.Jobs {
		one.Jobs[i].Class = 0
	}
	some := pinned(r, 2, 8, true)
	for name, g := range map[string]Rehearsal{"anywhere": one, "pinned": pools, fmt.Sprintf("searched, %d jobs", len(some.Jobs)): some} {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			for b.Loop() {
				g.Ranks()
			}
			rehearse := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(rehearse)/float64(walked(g)), "x-walk")
		})
	}
}

// walked returns the median of the times that a walk of a graph takes.
func walked(g Rehearsal) time.Duration {
	var times [5]time.Duration
	for i := range times {
		start := time.Now()
		g.theatre()
		times[i] = time.Since(start)
	}
	slices.Sort(times[:])
	return times[len(times)/2]
}
