package graph

// Reach returns those of the needs of so many jobs that count for a graph of the first ones, its roots, and which jobs are in
// it: the roots, those that they need, and what these need in turn if follow says so. The needs of a job that has ended say
// nothing any more.
func Reach(needs []Need, jobs int, follow func(int) bool, roots int) (within []Need, in []bool) {
	in = make([]bool, jobs)
	on := make([][]int, jobs)
	for _, n := range needs {
		on[n.Job] = append(on[n.Job], n.On)
	}
	next := make([]int, 0, roots)
	for i := range min(roots, jobs) {
		in[i], next = true, append(next, i)
	}
	for at := 0; at < len(next); at++ {
		if !follow(next[at]) {
			continue
		}
		for _, i := range on[next[at]] {
			if !in[i] {
				in[i], next = true, append(next, i)
			}
		}
	}
	for _, n := range needs {
		if in[n.Job] && follow(n.Job) {
			within = append(within, n)
		}
	}
	return within, in
}
