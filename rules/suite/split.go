package suite

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// maxSteps bounds the steps of each search for a better split. A search with up to about a dozen benchmarks runs to its
// end.
const maxSteps = 200_000

// unplaced is the home of a piece that has no set, or whose set no longer exists.
const unplaced = -1

// piece is a benchmark that may move.
type piece struct {
	share  int // its index among the shares
	length time.Duration
	home   int
	// lost is how many results become incomparable when the piece moves.
	lost int
}

// split divides pieces among sets. Its pieces are in the order in which searches take them: those without a home first,
// then the longest first. An assignment holds the set of each piece.
type split struct {
	pieces []piece
	// base is the length that stays in each set in any case. held says which sets hold something that stays.
	base []time.Duration
	held []bool
}

// newSplit returns the split of shares into count sets. Benchmarks that were not measured stay in their sets.
func newSplit(shares []Share, others map[int]bool, count int) *split {
	s := &split{base: make([]time.Duration, count), held: make([]bool, count)}
	for set := range count {
		s.held[set] = others[set]
	}
	for i, sh := range shares {
		home := unplaced
		if sh.From != nil && int(*sh.From) < count {
			home = int(*sh.From)
		}
		if sh.Assumed && home != unplaced {
			s.base[home] += sh.Length
			s.held[home] = true
			continue
		}
		s.pieces = append(s.pieces, piece{share: i, length: sh.Length, home: home, lost: sh.Timing.Results})
	}
	slices.SortStableFunc(s.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(min(a.home, 0), min(b.home, 0)), cmp.Compare(b.length, a.length))
	})
	return s
}

// fillable returns an error if some set would have to stay empty.
func (s *split) fillable() error {
	empty := 0
	for _, held := range s.held {
		if !held {
			empty++
		}
	}
	if empty > len(s.pieces) {
		return fmt.Errorf("%d sets are too many: %d benchmarks can be placed, and %d sets would need one", len(s.base), len(s.pieces), empty)
	}
	return nil
}

func (s *split) lengths(assigned []int) []time.Duration {
	lengths := slices.Clone(s.base)
	for i, set := range assigned {
		lengths[set] += s.pieces[i].length
	}
	return lengths
}

func (s *split) longest(assigned []int) time.Duration { return slices.Max(s.lengths(assigned)) }

// full reports whether every set holds something.
func (s *split) full(assigned []int) bool {
	held := slices.Clone(s.held)
	for _, set := range assigned {
		held[set] = true
	}
	return !slices.Contains(held, false)
}

// without returns how much longer the longest set would be if piece i stayed at home.
func (s *split) without(assigned []int, i int) time.Duration {
	back := slices.Clone(assigned)
	back[i] = s.pieces[i].home
	return s.longest(back) - s.longest(assigned)
}

// bound returns a lower bound for the length of the longest set.
func (s *split) bound() time.Duration {
	total, longest := time.Duration(0), slices.Max(s.base)
	for _, b := range s.base {
		total += b
	}
	least := slices.Min(s.base)
	for _, p := range s.pieces {
		total += p.length
		longest = max(longest, least+p.length)
	}
	count := time.Duration(len(s.base))
	return max(longest, (total+count-1)/count)
}

// shortest returns the assignment with the shortest longest set that it finds, and whether no shorter one exists.
func (s *split) shortest() (best []int, optimal bool) {
	for _, start := range [][]int{s.longestFirst(false), s.longestFirst(true)} {
		s.improve(start)
		if best == nil || s.longest(start) < s.longest(best) {
			best = start
		}
	}
	search := &shortestSearch{
		split: s, best: best, longest: s.longest(best), bound: s.bound(), loads: slices.Clone(s.base), assigned: make([]int, len(s.pieces)), left: maxSteps,
	}
	search.order = sortedIndexes(len(s.pieces), func(a, b int) int { return cmp.Compare(s.pieces[b].length, s.pieces[a].length) })
	search.from(0)
	return search.best, search.left > 0
}

// shorterFrom searches again for the shortest longest set, starting from assigned: a search of fixed size finds more
// from one start than from another. It returns an assignment if that is shorter by more than the tolerance, because
// balancing assigned again would then move something; else nil.
func (s *split) shorterFrom(assigned []int, shares []Share, others map[int]bool, tolerance float64) []int {
	proposed := slices.Clone(shares)
	for i, p := range s.pieces {
		set := events.Set(assigned[i])
		proposed[p.share].From = &set
	}
	next := newSplit(proposed, others, len(s.base))
	best, _ := next.shortest()
	shortest := next.longest(best)
	if s.longest(assigned) <= shortest+time.Duration(float64(shortest)*tolerance) {
		return nil
	}
	sets := map[int]int{}
	for i, p := range next.pieces {
		sets[p.share] = best[i]
	}
	shorter := slices.Clone(assigned)
	for i, p := range s.pieces {
		// A piece without a known length stays where the first proposal put it.
		if set, found := sets[p.share]; found {
			shorter[i] = set
		}
	}
	return shorter
}

// longestFirst puts one piece after the other, longest first, into the set that is the shortest so far. With stay,
// pieces that have a home stay there.
func (s *split) longestFirst(stay bool) []int {
	assigned := make([]int, len(s.pieces))
	loads := slices.Clone(s.base)
	order := sortedIndexes(len(s.pieces), func(a, b int) int { return cmp.Compare(s.pieces[b].length, s.pieces[a].length) })
	if stay {
		for i, p := range s.pieces {
			if p.home != unplaced {
				assigned[i], loads[p.home] = p.home, loads[p.home]+p.length
			}
		}
	}
	for _, i := range order {
		p := s.pieces[i]
		if stay && p.home != unplaced {
			continue
		}
		to := slices.Index(loads, slices.Min(loads))
		assigned[i], loads[to] = to, loads[to]+p.length
	}
	return assigned
}

// improve moves pieces out of the longest set, or swaps them with shorter ones, while that makes the longer of the two
// sets shorter.
func (s *split) improve(assigned []int) {
	loads := s.lengths(assigned)
	for s.improveOnce(assigned, loads) {
	}
}

func (s *split) improveOnce(assigned []int, loads []time.Duration) bool {
	from := slices.Index(loads, slices.Max(loads))
	best, one, other, to := loads[from], -1, -1, -1
	try := func(i, j, set int, difference time.Duration) {
		if longer := max(loads[from]-difference, loads[set]+difference); longer < best {
			best, one, other, to = longer, i, j, set
		}
	}
	for i, p := range s.pieces {
		if assigned[i] != from {
			continue
		}
		for set := range loads {
			if set != from {
				try(i, -1, set, p.length)
			}
		}
		for j, q := range s.pieces {
			if assigned[j] != from {
				try(i, j, assigned[j], p.length-q.length)
			}
		}
	}
	if one < 0 {
		return false
	}
	difference := s.pieces[one].length
	assigned[one] = to
	if other >= 0 {
		difference -= s.pieces[other].length
		assigned[other] = from
	}
	loads[from], loads[to] = loads[from]-difference, loads[to]+difference
	return true
}

// shortestSearch is a branch and bound over all assignments.
type shortestSearch struct {
	*split
	order    []int // the pieces, the longest first
	best     []int
	longest  time.Duration // the longest set of best
	bound    time.Duration
	loads    []time.Duration
	assigned []int
	left     int // steps until it gives up
}

// from decides the pieces from the n-th in the order.
func (s *shortestSearch) from(n int) {
	if s.longest <= s.bound || s.left <= 0 {
		return
	}
	s.left--
	if n == len(s.order) {
		s.best, s.longest = slices.Clone(s.assigned), slices.Max(s.loads)
		return
	}
	i := s.order[n]
	length := s.pieces[i].length
	for set := range s.loads {
		// Sets of equal length are interchangeable: try only the first.
		if s.loads[set]+length >= s.longest || slices.Contains(s.loads[:set], s.loads[set]) {
			continue
		}
		s.loads[set] += length
		s.assigned[i] = set
		s.from(n + 1)
		s.loads[set] -= length
	}
}

// sortedIndexes returns 0 to n-1 in the order of compare. The sort is stable.
func sortedIndexes(n int, compare func(a, b int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	return order
}
