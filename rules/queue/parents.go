package queue

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// spot is what findSpots learns about one entry before sorting.
type spot struct {
	turn   turn
	level  int32
	parent parentIs
	// tag and parentTag are indices of known tags, or none.
	tag, parentTag int32
	// sibling is the next entry below the same parent, or none.
	sibling int32
	reached bool
}

const none = int32(-1)

// parentIs is the state of an entry's parent.
type parentIs int8

const (
	absent     parentIs = iota // the request has no parent
	done                       // it has ended
	inProgress                 // counts as done
	unready                    // pending, waits for its artifacts
	unknown                    // neither pending nor ended
	pending                    // it is ready itself
)

// tagNode is what is known about the requests that have one tag.
type tagNode struct {
	ended, running, ready bool
	// child is the first of the entries below the tag, or none. It is also none after a walk has reached a request with
	// this tag, and with it the entries below.
	child int32
}

// family is the graph of parents: entries point to tags, tags to the entries that have them as parent.
type family struct {
	entries []Entry
	spots   []spot
	tags    []tagNode
	// index finds tags by suite and name. Nested maps are faster than one map with both in the key.
	index map[events.SuiteName]map[events.Tag]int32
}

// findSpots finds the turn, the level and the state of the parent for every entry.
func findSpots(entries []Entry, isDone func(events.SuiteName, events.Tag) bool) []spot {
	f := &family{
		entries: entries,
		spots:   make([]spot, len(entries)),
		tags:    make([]tagNode, 0, len(entries)),
		index:   make(map[events.SuiteName]map[events.Tag]int32),
	}
	for i := range entries {
		f.spots[i] = spot{turn: newTurn(&entries[i]), tag: none, parentTag: none, sibling: none}
		f.addTag(i)
	}

	// Releases ignore their parents, so they are roots, like all requests whose parent is done.
	var roots, orphans, unreadies []int32
	for i := range entries {
		e, s := &entries[i], &f.spots[i]
		switch s.turn {
		case ended, running, waiting:
			continue
		case release:
			roots = append(roots, int32(i))
			continue
		case ready, orphan, tangled:
		}
		f.findParent(e, s, isDone)
		switch s.parent {
		case absent, done, inProgress:
			roots = append(roots, int32(i))
		case unknown:
			orphans = append(orphans, int32(i))
		case unready:
			unreadies = append(unreadies, int32(i))
		case pending:
			n := &f.tags[s.parentTag]
			s.sibling, n.child = n.child, int32(i)
		}
	}

	f.walk(roots, ready)
	f.walk(orphans, orphan)
	f.walk(unreadies, tangled)
	f.walk(f.cycles(), tangled)
	return f.spots
}

// addTag notes what entry i says about its tag.
func (f *family) addTag(i int) {
	e, s := &f.entries[i], &f.spots[i]
	if e.Tag == "" {
		return
	}
	tags := f.index[e.Suite]
	if tags == nil {
		size := 0
		if len(f.index) == 0 { // most queues hold one suite; of many suites, each is small
			size = len(f.entries)
		}
		tags = make(map[events.Tag]int32, size)
		f.index[e.Suite] = tags
	}
	t, ok := tags[e.Tag]
	if !ok {
		t = int32(len(f.tags))
		tags[e.Tag] = t
		f.tags = append(f.tags, tagNode{child: none})
	}
	s.tag = t
	n := &f.tags[t]
	switch s.turn {
	case ended:
		n.ended = true
	case running:
		n.running = true
	case release, ready, orphan, tangled:
		n.ready = true
	case waiting:
	}
}

// findParent finds the state of e's parent.
func (f *family) findParent(e *Entry, s *spot, isDone func(events.SuiteName, events.Tag) bool) {
	if e.Parent == "" {
		s.parent = absent
		return
	}
	t, ok := f.index[e.Suite][e.Parent]
	switch {
	case ok && f.tags[t].ended, isDone != nil && isDone(e.Suite, e.Parent):
		s.parent = done
	case !ok:
		s.parent = unknown
	case f.tags[t].running:
		s.parent = inProgress
	case f.tags[t].ready:
		s.parent, s.parentTag = pending, t
	default:
		s.parent = unready
	}
}

// walk gives the roots level 0 in turn t, and their descendants the levels below, breadth first.
func (f *family) walk(roots []int32, t turn) {
	for _, i := range roots {
		f.reach(i, t, 0)
	}
	list := slices.Clone(roots)
	for next := 0; next < len(list); next++ {
		s := f.spots[list[next]]
		if s.tag == none {
			continue
		}
		child := f.tags[s.tag].child
		f.tags[s.tag].child = none
		for c := child; c != none; c = f.spots[c].sibling {
			if !f.spots[c].reached { // a member of a cycle is both root and child
				f.reach(c, t, s.level+1)
				list = append(list, c)
			}
		}
	}
}

func (f *family) reach(i int32, t turn, level int32) {
	s := &f.spots[i]
	s.level, s.reached = level, true
	if s.turn != release {
		s.turn = t
	}
}

// cycles returns the entries that are in a cycle of parents and that no walk has reached.
//
// Every entry that was not reached has a parent that was not reached either. Each has one parent, so every path of
// parents ends in a cycle. Remove the entries that are no entry's parent, again and again: exactly the cycles remain.
// If several requests have the tag of the parent, the oldest one counts as the parent.
func (f *family) cycles() []int32 {
	var rest []int32
	oldest := make(map[int32]int32) // by tag
	for i := range f.spots {
		s := &f.spots[i]
		if s.reached || s.turn != tangled {
			continue
		}
		rest = append(rest, int32(i))
		if o, ok := oldest[s.tag]; !ok || f.older(int32(i), o) {
			oldest[s.tag] = int32(i)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	children := make(map[int32]int, len(rest))
	for _, i := range rest {
		children[oldest[f.spots[i].parentTag]]++
	}
	outside := make(map[int32]bool)
	for _, i := range rest {
		for children[i] == 0 && !outside[i] {
			outside[i] = true
			i = oldest[f.spots[i].parentTag]
			children[i]--
		}
	}
	var members []int32
	for _, i := range rest {
		if !outside[i] {
			members = append(members, i)
		}
	}
	return members
}

// older reports whether entry a was created before b, or at the same time and has the smaller id.
func (f *family) older(a, b int32) bool {
	x, y := &f.entries[a], &f.entries[b]
	if c := x.CreatedAt.Compare(y.CreatedAt); c != 0 {
		return c < 0
	}
	return x.ID < y.ID
}
