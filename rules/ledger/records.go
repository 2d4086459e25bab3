package ledger

import (
	"cmp"
	"iter"
	"slices"
)

// records are the jobs of the past by the hash of their ids, in shelves by the first bits of it. So making a list anew, which a
// fold waits for, is short however many jobs there are.
type records struct {
	shelves [1 << shelfBits]shelf
}

const shelfBits = 6

func (r *records) of(hash uint64) *shelf { return &r.shelves[hash>>(64-shelfBits)] }

func (r *records) get(hash uint64) (past, bool) { return r.of(hash).get(hash) }

// put adds a record, or replaces the one of the same hash. Its maker is above 0.
func (r *records) put(hash uint64, at past) { r.of(hash).put(hash, at) }

// forget takes a record out, and reports whether it was there.
func (r *records) forget(hash uint64) bool { return r.of(hash).forget(hash) }

func (r *records) len() (n int) {
	for i := range r.shelves {
		n += r.shelves[i].len()
	}
	return n
}

// all returns the records in the order of their hashes.
func (r *records) all() iter.Seq[pastRecord] {
	return func(yield func(pastRecord) bool) {
		for i := range r.shelves {
			for one := range r.shelves[i].all() {
				if !yield(one) {
					return
				}
			}
		}
	}
}

// shelve fills empty shelves with a list that is sorted by hash.
func (r *records) shelve(sorted []pastRecord) {
	for i := range r.shelves {
		n, _ := slices.BinarySearchFunc(sorted, i+1, func(at pastRecord, next int) int { return cmp.Compare(int(at.Hash>>(64-shelfBits)), next) })
		r.shelves[i].sorted, sorted = slices.Clone(sorted[:n]), sorted[n:]
	}
}

// shelf has most of its records in a sorted list of 24 bytes each; a map of as many takes 27 to 57 bytes each, as it happens to have
// just grown or not. What came since the list was made waits in a small map.
type shelf struct {
	// sorted has no two records of one hash. Maker is 0 in those that were forgotten.
	sorted []pastRecord
	// fresh shares no hash with the records of sorted that are not forgotten.
	fresh map[uint64]past
	// forgotten counts those of sorted.
	forgotten int
}

type pastRecord struct {
	Hash uint64
	past
}

// leastFresh is how many records the small map has at least before the list is made anew. Above it the map has an eighth of the list, so
// making lists copies each record some eight times in all, however many there will be.
const leastFresh = 1 << 5

func (s *shelf) len() int { return len(s.sorted) - s.forgotten + len(s.fresh) }

// find returns the place of a hash in the list, and whether a record is there that was not forgotten.
func (s *shelf) find(hash uint64) (int, bool) {
	i, found := slices.BinarySearchFunc(s.sorted, hash, func(at pastRecord, h uint64) int { return cmp.Compare(at.Hash, h) })
	return i, found && s.sorted[i].Maker != 0
}

func (s *shelf) get(hash uint64) (past, bool) {
	if at, ok := s.fresh[hash]; ok {
		return at, true
	}
	if i, ok := s.find(hash); ok {
		return s.sorted[i].past, true
	}
	return past{}, false
}

func (s *shelf) put(hash uint64, at past) {
	if i, ok := s.find(hash); ok {
		s.sorted[i].past = at
		return
	}
	if s.fresh == nil {
		s.fresh = map[uint64]past{}
	}
	s.fresh[hash] = at
	if len(s.fresh) > max(leastFresh, len(s.sorted)/8) {
		s.sorted, s.fresh, s.forgotten = slices.AppendSeq(make([]pastRecord, 0, s.len()), s.all()), nil, 0
	}
}

func (s *shelf) forget(hash uint64) bool {
	if _, ok := s.fresh[hash]; ok {
		delete(s.fresh, hash)
		return true
	}
	i, ok := s.find(hash)
	if ok {
		s.sorted[i].past = past{}
		s.forgotten++
	}
	return ok
}

func (s *shelf) all() iter.Seq[pastRecord] {
	fresh := make([]pastRecord, 0, len(s.fresh))
	for hash, at := range s.fresh {
		fresh = append(fresh, pastRecord{hash, at})
	}
	slices.SortFunc(fresh, func(a, b pastRecord) int { return cmp.Compare(a.Hash, b.Hash) })
	return func(yield func(pastRecord) bool) {
		for _, old := range s.sorted {
			for ; len(fresh) > 0 && fresh[0].Hash < old.Hash; fresh = fresh[1:] {
				if !yield(fresh[0]) {
					return
				}
			}
			if old.Maker != 0 && !yield(old) {
				return
			}
		}
		for _, one := range fresh {
			if !yield(one) {
				return
			}
		}
	}
}
