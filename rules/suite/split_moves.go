package suite

import (
	"cmp"
	"slices"
	"time"
)

// price is what an assignment costs. Fields are compared in their order.
type price struct {
	moves, lost int
	longest     time.Duration
}

func (p price) compare(q price) int {
	return cmp.Or(cmp.Compare(p.moves, q.moves), cmp.Compare(p.lost, q.lost), cmp.Compare(p.longest, q.longest))
}

// priceOf counts the moves of an assignment. A piece without a home does not move.
func (s *split) priceOf(assigned []int) price {
	p := price{longest: s.longest(assigned)}
	for i, set := range assigned {
		if home := s.pieces[i].home; home != unplaced && home != set {
			p.moves, p.lost = p.moves+1, p.lost+s.pieces[i].lost
		}
	}
	return p
}

// fewest returns the cheapest assignment within the limit that it finds, and whether none has fewer moves, or as many
// moves and loses fewer results. short is any assignment whose longest set is within the limit.
func (s *split) fewest(limit time.Duration, short []int) (assigned []int, proven bool) {
	best := s.fill(short)
	s.takeBack(best, limit)
	if mended := s.longestFirst(true); s.mend(mended, limit) {
		mended = s.fill(mended)
		s.takeBack(mended, limit)
		if s.longest(mended) <= limit && s.priceOf(mended).compare(s.priceOf(best)) < 0 {
			best = mended
		}
	}
	search := &fewestSearch{split: s, limit: limit, best: best, price: s.priceOf(best), loads: slices.Clone(s.base), assigned: make([]int, len(s.pieces)), left: maxSteps}
	for i, p := range s.pieces {
		search.assigned[i] = p.home
		if p.home != unplaced {
			search.loads[p.home] += p.length
		} else {
			search.homeless = i + 1
		}
	}
	for !search.found && search.left > 0 {
		search.from(0, price{})
		search.most++
	}
	// A search that was cut off in its last round has shown that fewer moves are not enough.
	return search.best, search.left > 0 || search.most > search.price.moves && search.price.lost == 0
}

// fill gives every empty set a piece: of the sets with more than one, the piece that loses the fewest results.
func (s *split) fill(assigned []int) []int {
	filled := slices.Clone(assigned)
	for !s.full(filled) {
		count := make([]int, len(s.base))
		for set, held := range s.held {
			if held {
				count[set]++
			}
		}
		for _, set := range filled {
			count[set]++
		}
		spare := unplaced
		for i, p := range s.pieces {
			if count[filled[i]] > 1 && (spare == unplaced || p.lost < s.pieces[spare].lost || p.lost == s.pieces[spare].lost && p.length < s.pieces[spare].length) {
				spare = i
			}
		}
		filled[spare] = slices.Index(count, 0)
	}
	return filled
}

// takeBack takes back moves that the limit does not need, those that lose the most results first.
func (s *split) takeBack(assigned []int, limit time.Duration) {
	order := sortedIndexes(len(s.pieces), func(a, b int) int { return cmp.Compare(s.pieces[b].lost, s.pieces[a].lost) })
	for _, i := range order {
		set, home := assigned[i], s.pieces[i].home
		if home == unplaced || home == set {
			continue
		}
		if assigned[i] = home; s.longest(assigned) > limit || !s.full(assigned) {
			assigned[i] = set
		}
	}
}

// mend moves and swaps pieces until no set is over the limit. Each step is the one that reduces the excess most per
// move. It reports whether it succeeded.
func (s *split) mend(assigned []int, limit time.Duration) bool {
	loads := s.lengths(assigned)
	over := func(load time.Duration) time.Duration { return max(load-limit, 0) }
	for slices.Max(loads) > limit {
		best, one, other, to := time.Duration(0), -1, -1, -1
		try := func(i, j, set int, difference time.Duration, moves int) {
			from := assigned[i]
			off := over(loads[from]) + over(loads[set]) - over(loads[from]-difference) - over(loads[set]+difference)
			if off /= time.Duration(moves); off > best {
				best, one, other, to = off, i, j, set
			}
		}
		for i, p := range s.pieces {
			if loads[assigned[i]] <= limit {
				continue
			}
			for set := range loads {
				if set != assigned[i] {
					try(i, -1, set, p.length, 1)
				}
			}
			for j, q := range s.pieces {
				if assigned[j] != assigned[i] {
					try(i, j, assigned[j], p.length-q.length, 2)
				}
			}
		}
		if one < 0 {
			return false
		}
		if other >= 0 {
			assigned[other] = assigned[one]
		}
		assigned[one] = to
		loads = s.lengths(assigned)
	}
	return true
}

// fewestSearch looks for the cheapest assignment within the limit that has at most this many moves. It begins with
// every piece at home and decides one piece after the other.
type fewestSearch struct {
	*split
	limit time.Duration
	most  int
	best  []int
	price price // of best
	found bool
	// loads and assigned have undecided pieces at home. The first homeless pieces have no home.
	loads    []time.Duration
	assigned []int
	homeless int
	left     int
}

// from decides the pieces from index n; so far says what the decisions cost.
func (s *fewestSearch) from(n int, soFar price) {
	if s.left <= 0 || s.worse(soFar) {
		return
	}
	s.left--
	need, ok := s.needed(n)
	if !ok || soFar.moves+need > s.most {
		return
	}
	if n >= s.homeless {
		if need == 0 && s.full(s.assigned) {
			s.take(soFar)
			return // further moves only cost more
		}
		if soFar.moves == s.most || n == len(s.pieces) {
			return
		}
	}
	p := s.pieces[n]
	if p.home == unplaced {
		for _, set := range s.shortestSets() {
			s.put(n, set, p)
			s.from(n+1, soFar)
			s.loads[set] -= p.length
		}
		s.assigned[n] = unplaced
		return
	}
	moved := price{moves: soFar.moves + 1, lost: soFar.lost + p.lost}
	if moved.moves <= s.most {
		s.loads[p.home] -= p.length
		for _, set := range s.shortestSets() {
			if set != p.home {
				s.put(n, set, p)
				s.from(n+1, moved)
				s.loads[set] -= p.length
			}
		}
		s.put(n, p.home, p)
	}
	s.from(n+1, soFar)
}

func (s *fewestSearch) put(n, set int, p piece) {
	s.assigned[n] = set
	s.loads[set] += p.length
}

// worse reports whether the branch already costs more than the best.
func (s *fewestSearch) worse(soFar price) bool {
	return soFar.moves > s.price.moves || soFar.moves == s.price.moves && soFar.lost > s.price.lost
}

func (s *fewestSearch) take(p price) {
	p.longest = slices.Max(s.loads)
	if p.compare(s.price) <= 0 {
		s.found = true
	}
	if p.compare(s.price) < 0 {
		s.best, s.price = slices.Clone(s.assigned), p
	}
}

// needed returns how many of the pieces from index n must at least leave their sets, and false when even moving all of
// them is not enough.
func (s *fewestSearch) needed(n int) (moves int, ok bool) {
	for set, load := range s.loads {
		if load <= s.limit {
			continue
		}
		for i := max(n, s.homeless); i < len(s.pieces) && load > s.limit; i++ {
			if p := s.pieces[i]; p.home == set {
				load -= p.length
				moves++
			}
		}
		if load > s.limit {
			return 0, false
		}
	}
	return moves, true
}

// shortestSets returns the sets, shortest first.
func (s *fewestSearch) shortestSets() []int {
	return sortedIndexes(len(s.loads), func(a, b int) int { return cmp.Compare(s.loads[a], s.loads[b]) })
}
