package graph

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Rehearsal is a graph that is about to be made, with what it runs on. Playing it forward with several orders tells which of
// them ends first. No order is the best for every graph: the longest path first is, where any lane takes any job; where jobs
// are bound to lanes it starts long builds first and leaves lanes without work.
type Rehearsal struct {
	// Jobs are the jobs by number.
	Jobs []Rehearsed
	// Needs are the pairs of a job and one that it waits for. There is no cycle.
	Needs []Need
	// Pooled says of each class whether its jobs go to any lane that fits. The jobs of another class have one lane.
	Pooled []bool
	// Lanes are the groups of equal lanes. A class that none of them takes runs on a lane of its own.
	Lanes []Lanes
}

// Rehearsed is a job of a rehearsal.
type Rehearsed struct {
	// CostMS is how long it is expected to take; a negative length counts as 0.
	CostMS int64
	// Class numbers the jobs that the same lanes take.
	Class int
	// Over says that it has ended already.
	Over bool
}

// Lanes are lanes that take the same classes.
type Lanes struct {
	Number  int
	Classes []int
}

// Ranks returns the place of each job in the order that the jobs are to run in, whenever several may. It begins with the
// best of three: of the longest path, of the most work behind and of creation the one with which the graph ends first, and of
// equals the first. Where jobs are bound to lanes, it then moves those of pools (see search).
func (r Rehearsal) Ranks() []int {
	t := r.theatre()
	best, least := []int(nil), int64(-1)
	for _, order := range []func(*theatre) []int64{(*theatre).paths, (*theatre).feeding, (*theatre).creation} {
		ranks := ranked(order(t))
		if makespan := t.play(ranks); least < 0 || makespan < least {
			best, least = ranks, makespan
		}
	}
	return t.search(best, least)
}

// ranked returns the places of jobs by weight, the largest first, then by number.
func ranked(weights []int64) []int {
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	ranks := make([]int, len(weights))
	for rank, job := range order {
		ranks[job] = rank
	}
	return ranks
}

// theatre is a rehearsal in the form in which it is played.
type theatre struct {
	cost    []int64
	class   []int32
	over    []bool
	pooled  []bool
	lanes   []Lanes
	classes int
	// behind has the jobs that wait for each job: those of job i are behind[from[i]:from[i+1]]. unmet counts what each job
	// waits for. order has the jobs after all that they wait for.
	behind, from, unmet, order []int32
}

func (r Rehearsal) theatre() *theatre {
	n := len(r.Jobs)
	t := &theatre{
		cost: make([]int64, n), class: make([]int32, n), over: make([]bool, n), pooled: r.Pooled, lanes: slices.Clone(r.Lanes), classes: len(r.Pooled),
		behind: make([]int32, len(r.Needs)), from: make([]int32, n+1), unmet: make([]int32, n),
	}
	for i, j := range r.Jobs {
		t.class[i], t.over[i] = int32(j.Class), j.Over
		if !j.Over {
			t.cost[i] = max(j.CostMS, 0)
		}
	}
	for _, need := range r.Needs {
		t.from[need.On+1]++
		t.unmet[need.Job]++
	}
	for i := range n {
		t.from[i+1] += t.from[i]
	}
	next := slices.Clone(t.from)
	for _, need := range r.Needs {
		t.behind[next[need.On]] = int32(need.Job)
		next[need.On]++
	}
	t.sort()
	taken := make([]bool, t.classes)
	for _, l := range t.lanes {
		for _, c := range l.Classes {
			taken[c] = taken[c] || l.Number > 0
		}
	}
	for c, is := range taken {
		if !is {
			t.lanes = append(t.lanes, Lanes{Number: 1, Classes: []int{c}})
		}
	}
	return t
}

// sort finds an order in which each job comes after those that it waits for.
func (t *theatre) sort() {
	unmet := slices.Clone(t.unmet)
	t.order = make([]int32, 0, len(t.cost))
	for i, n := range unmet {
		if n == 0 {
			t.order = append(t.order, int32(i))
		}
	}
	for at := 0; at < len(t.order); at++ {
		for _, job := range t.after(t.order[at]) {
			if unmet[job]--; unmet[job] == 0 {
				t.order = append(t.order, job)
			}
		}
	}
}

func (t *theatre) after(job int32) []int32 { return t.behind[t.from[job]:t.from[job+1]] }

// sum adds two lengths. It stays at the largest one.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// creation weighs all jobs alike: the order is that of their numbers.
func (t *theatre) creation() []int64 { return make([]int64, len(t.cost)) }

// paths weighs each job by the longest path from its beginning to the end of the graph.
func (t *theatre) paths() []int64 {
	path := make([]int64, len(t.cost))
	for _, job := range slices.Backward(t.order) {
		longest := int64(0)
		for _, next := range t.after(job) {
			longest = max(longest, path[next])
		}
		path[job] = sum(t.cost[job], longest)
	}
	return path
}

// batch is how many jobs feeding follows at once: one for each bit.
const batch = 64

// feeding weighs each job of a pool by how long it keeps a lane busy: the largest work on one lane that waits for it, minus
// its own cost. The others have their path.
func (t *theatre) feeding() []int64 {
	weights := t.paths()
	var pool []int32
	for i := range t.cost {
		if t.pooled[t.class[i]] {
			pool = append(pool, int32(i))
		}
	}
	waits := make([]uint64, len(t.cost)) // which jobs of the batch each job waits for, or is
	work := make([]int64, t.classes*batch)
	for jobs := range slices.Chunk(pool, batch) {
		clear(waits)
		clear(work)
		for i, job := range jobs {
			waits[job] = 1 << i
		}
		for _, job := range t.order {
			mask := waits[job]
			if mask == 0 {
				continue
			}
			if class := int(t.class[job]); !t.pooled[class] {
				for rest := mask; rest != 0; rest &= rest - 1 {
					at := &work[class*batch+bits.TrailingZeros64(rest)]
					*at = sum(*at, t.cost[job])
				}
			}
			for _, next := range t.after(job) {
				waits[next] |= mask
			}
		}
		for i, job := range jobs {
			most := int64(0)
			for class := range t.classes {
				most = max(most, work[class*batch+i])
			}
			weights[job] = most - t.cost[job]
		}
	}
	return weights
}
