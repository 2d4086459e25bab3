package ledger

import (
	"cmp"
	"iter"
	"slices"
)

// records are the jobs of the past by the hash of their ids. Most lie in a sorted list of 24 bytes each; a map of as many takes 27 to
// 57 bytes each, as it happens to have just grown or not. What came since the list was made waits in a small map.
type records struct {
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
const leastFresh = 1 << 10

func (r *records) len() int { return len(r.sorted) - r.forgotten + len(r.fresh) }

// find returns the place of a hash in the list, and whether a record is there that was not forgotten.
func (r *records) find(hash uint64) (int, bool) {
	i, found := slices.BinarySearchFunc(r.sorted, hash, func(at pastRecord, h uint64) int { return cmp.Compare(at.Hash, h) })
	return i, found && r.sorted[i].Maker != 0
}

func (r *records) get(hash uint64) (past, bool) {
	if at, ok := r.fresh[hash]; ok {
		return at, true
	}
	if i, ok := r.find(hash); ok {
		return r.sorted[i].past, true
	}
	return past{}, false
}

// put adds a record, or replaces the one of the same hash. Its maker is above 0.
func (r *records) put(hash uint64, at past) {
	if i, ok := r.find(hash); ok {
		r.sorted[i].past = at
		return
	}
	if r.fresh == nil {
		r.fresh = map[uint64]past{}
	}
	r.fresh[hash] = at
	if len(r.fresh) > max(leastFresh, len(r.sorted)/8) {
		r.sorted, r.fresh, r.forgotten = slices.AppendSeq(make([]pastRecord, 0, r.len()), r.all()), nil, 0
	}
}

// forget takes a record out, and reports whether it was there.
func (r *records) forget(hash uint64) bool {
	if _, ok := r.fresh[hash]; ok {
		delete(r.fresh, hash)
		return true
	}
	i, ok := r.find(hash)
	if ok {
		r.sorted[i].past = past{}
		r.forgotten++
	}
	return ok
}

// all returns the records in the order of their hashes.
func (r *records) all() iter.Seq[pastRecord] {
	fresh := make([]pastRecord, 0, len(r.fresh))
	for hash, at := range r.fresh {
		fresh = append(fresh, pastRecord{hash, at})
	}
	slices.SortFunc(fresh, func(a, b pastRecord) int { return cmp.Compare(a.Hash, b.Hash) })
	return func(yield func(pastRecord) bool) {
		for _, old := range r.sorted {
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
