package graph

import "slices"

// play plays the graph forward: whenever a lane is free, it takes of the jobs that it may run and that wait for none the one
// of the lowest rank. It returns when the last job ends.
func (t *theatre) play(ranks []int) int64 {
	p := performance{
		theatre: t, ranks: ranks, byRank: make([]int32, len(ranks)), waits: slices.Clone(t.unmet),
		ready: make([]pile[int32], t.classes), free: make([]int, len(t.lanes)),
	}
	for job, rank := range ranks {
		p.byRank[rank] = int32(job)
	}
	for i, l := range t.lanes {
		p.free[i] = l.Number
	}
	for job, n := range t.unmet {
		if n == 0 {
			p.enter(int32(job))
		}
	}
	for {
		for lane := range p.free {
			p.begin(lane)
		}
		if len(p.running) == 0 {
			return p.now
		}
		p.now = p.running[0].at
		for len(p.running) > 0 && p.running[0].at == p.now {
			e := p.running.pop(sooner)
			p.free[e.lane]++
			p.end(e.job)
		}
	}
}

// performance is the state of a play.
type performance struct {
	*theatre
	now   int64
	ranks []int
	// byRank has the job of each rank.
	byRank []int32
	// waits counts what each job waits for, ready has the ranks of the jobs of each class that wait for none, free counts the
	// lanes of each group that run none, running has the ends to come.
	waits   []int32
	ready   []pile[int32]
	free    []int
	running pile[ending]
}

// ending is when a job ends, and which group its lane is of.
type ending struct {
	at   int64
	job  int32
	lane int32
}

func sooner(a, b ending) bool { return a.at < b.at }

func lower(a, b int32) bool { return a < b }

// enter notes that a job waits for none.
func (p *performance) enter(job int32) {
	if p.over[job] {
		p.end(job)
		return
	}
	class := p.class[job]
	p.ready[class] = p.ready[class].push(int32(p.ranks[job]), lower)
}

// end notes that a job has ended.
func (p *performance) end(job int32) {
	for _, next := range p.after(job) {
		if p.waits[next]--; p.waits[next] == 0 {
			p.enter(next)
		}
	}
}

// begin gives jobs to the free lanes of a group.
func (p *performance) begin(lane int) {
	for ; p.free[lane] > 0; p.free[lane]-- {
		best := -1
		for _, class := range p.lanes[lane].Classes {
			if len(p.ready[class]) > 0 && (best < 0 || p.ready[class][0] < p.ready[best][0]) {
				best = class
			}
		}
		if best < 0 {
			return
		}
		job := p.byRank[p.ready[best].pop(lower)]
		p.running = p.running.push(ending{sum(p.now, p.cost[job]), job, int32(lane)}, sooner)
	}
}

// pile is a binary heap: the first one is on top.
type pile[T any] []T

func (h pile[T]) push(v T, before func(a, b T) bool) pile[T] {
	h = append(h, v)
	for i := len(h) - 1; i > 0; {
		above := (i - 1) / 2
		if !before(h[i], h[above]) {
			break
		}
		h[i], h[above] = h[above], h[i]
		i = above
	}
	return h
}

// pop removes the top and returns it.
func (h *pile[T]) pop(before func(a, b T) bool) T {
	list := *h
	top, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if before(list[child], list[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		list[i], list[least] = list[least], list[i]
		i = least
	}
	*h = list
	return top
}
