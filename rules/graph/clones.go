package graph

import "github.com/tachobench/tacho/events"

// Clones returns which jobs a retrigger clones: the chosen ones and, depending on d, others that these need or that need
// them. state says how the newest round of each job stands. If a job needs the success of one that is not cloned and has
// not succeeded, it returns both, and ok is false; with d other than none it waits for one that can still succeed.
func Clones(needs []Need, state func(int) State, chosen []bool, d events.Downstream) (clones []bool, missing Need, ok bool) {
	clones = append([]bool(nil), chosen...)
	on, dependants := map[int][]Need{}, map[int][]int{}
	for _, n := range needs {
		on[n.Job], dependants[n.On] = append(on[n.Job], n), append(dependants[n.On], n.Job)
	}
	var next []int
	for i, c := range chosen {
		if c {
			next = append(next, i)
		}
	}
	add := func(i int) {
		if !clones[i] {
			clones[i], next = true, append(next, i)
		}
	}
	if d == events.DownstreamAll {
		for at := 0; at < len(next); at++ {
			for _, i := range dependants[next[at]] {
				add(i)
			}
		}
	}
	for ; len(next) > 0; next = next[1:] {
		for _, n := range on[next[0]] {
			is := state(n.On)
			switch {
			case clones[n.On] || n.Until == events.UntilEnded || is == Succeeded:
			case d == events.DownstreamNone:
				return nil, n, false
			case is.Over():
				add(n.On)
			}
		}
	}
	return clones, Need{}, true
}
