package graph

import "slices"

// How much a search plays: in all, and counted in jobs and needs. Both are numbers and no time, so that a replay of the log
// finds the same ranks. A graph that is too large for one play is not searched.
const (
	searchPlays = 200
	searchSteps = 100_000
)

// search improves an order that takes some time. Which job of a pool runs first decides which lanes have work, and no weight
// of single jobs tells that. So it moves each of them to another one's place, to near ones first, and keeps what makes the
// graph end earlier, until no move does, or it has played enough. Where no job is bound to a lane, the longest path is nearly
// perfect, and nothing is searched.
func (t *theatre) search(ranks []int, least int64) []int {
	plays := min(searchPlays, searchSteps/max(1, len(t.cost)+len(t.behind)))
	pool := t.pool(ranks)
	if len(pool) == len(t.cost) {
		return ranks
	}
	// The jobs of pools share the places that they have.
	places := make([]int, len(pool))
	for i, job := range pool {
		places[i] = ranks[job]
	}
	try := slices.Clone(ranks)
	for improved := true; improved; {
		improved = false
		for distance := 1; distance < len(pool); distance++ {
			for from := range pool {
				for _, to := range []int{from - distance, from + distance} {
					if to < 0 || to >= len(pool) {
						continue
					}
					if plays--; plays < 0 {
						return ranks
					}
					shift(pool, from, to)
					for i, job := range pool {
						try[job] = places[i]
					}
					if makespan := t.play(try); makespan < least {
						copy(ranks, try)
						least, improved = makespan, true
					} else {
						shift(pool, to, from)
					}
				}
			}
		}
	}
	return ranks
}

// pool returns the jobs that go to any lane and have not ended, in the order of their ranks.
func (t *theatre) pool(ranks []int) (pool []int) {
	for job, class := range t.class {
		if t.pooled[class] && !t.over[job] {
			pool = append(pool, job)
		}
	}
	slices.SortFunc(pool, func(a, b int) int { return ranks[a] - ranks[b] })
	return pool
}

// shift takes one element out of a list and puts it where another one is.
func shift(list []int, from, to int) {
	v := list[from]
	if from < to {
		copy(list[from:to], list[from+1:to+1])
	} else {
		copy(list[to+1:from+1], list[to:from])
	}
	list[to] = v
}
