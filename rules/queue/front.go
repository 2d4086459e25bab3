package queue

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/tachobench/tacho/events"
)

// Front knows which requests of a queue may start, the first one first, without ordering all of them. It says the same as Order for
// requests of normal priority. Whether a request may start depends on its own parent alone, as long as any request has a turn
// before the tangled ones; else Front does not know, and Order must be asked.
//
// It holds the requests whose artifacts are ready. Keep it with Put and Remove, and tell it with Parent after each change of Tags.
type Front struct {
	all map[events.RequestID]*startable
	// below has the first of the requests below each parent.
	below map[artifactTag]*startable
	// turns are those that may start, by turn.
	turns [tangled]startables
}

// startable is a request whose artifacts are ready.
type startable struct {
	key        key
	id         events.RequestID
	tag        events.Tag
	parent     artifactTag
	state      parentIs
	at         int // in the heap of its turn; -1 for in none
	prev, next *startable
}

// NewFront returns a front without requests.
func NewFront() *Front {
	return &Front{all: map[events.RequestID]*startable{}, below: map[artifactTag]*startable{}}
}

// Put notes a request whose artifacts are ready.
func (f *Front) Put(e Entry, t *Tags) {
	if _, known := f.all[e.ID]; known {
		f.Remove(e.ID)
	}
	w := &startable{id: e.ID, tag: e.Tag, parent: artifactTag{e.Suite, e.Parent}, at: -1}
	w.key = newKey(0, &e, spot{turn: newTurn(&e)})
	if w.key.turn != release { // the turn of the others follows from their parents, and their keys are the same in each
		w.key = newKey(0, &e, spot{turn: ready})
	}
	f.all[e.ID] = w
	f.Parent(e.Suite, e.Parent, t) // it may be its own parent, and so have changed what that is for the others
	if e.Parent != "" && w.key.turn != release {
		w.next = f.below[w.parent]
		if w.next != nil {
			w.next.prev = w
		}
		f.below[w.parent] = w
	}
	f.place(w, t.parent(w.parent))
}

// Remove notes that a request does not wait for its start any more.
func (f *Front) Remove(id events.RequestID) {
	w, known := f.all[id]
	if !known {
		return
	}
	delete(f.all, id)
	f.leave(w)
	if w.next != nil {
		w.next.prev = w.prev
	}
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case f.below[w.parent] == w && w.next != nil:
		f.below[w.parent] = w.next
	case f.below[w.parent] == w:
		delete(f.below, w.parent)
	}
}

// Parent notes what the requests for an artifact mean now for those that have it as parent.
func (f *Front) Parent(suite events.SuiteName, tag events.Tag, t *Tags) {
	of := artifactTag{suite, tag}
	first := f.below[of]
	if first == nil {
		return
	}
	now := t.parent(of)
	if first.state == now { // all of them have the same parent
		return
	}
	for w := first; w != nil; w = w.next {
		f.leave(w)
		f.place(w, now)
	}
}

// place puts a request into the heap of its turn.
func (f *Front) place(w *startable, parent parentIs) {
	w.state = parent
	switch {
	case w.key.turn == release:
	case parent == absent || parent == done || parent == inProgress:
		w.key.turn = ready
	case parent == unknown:
		w.key.turn = orphan
	default:
		return
	}
	heap.Push(&f.turns[w.key.turn], w)
}

func (f *Front) leave(w *startable) {
	if w.at >= 0 {
		heap.Remove(&f.turns[w.key.turn], w.at)
	}
}

// Knows reports whether the front knows which requests may start. If all are tangled, it does not.
func (f *Front) Knows() bool {
	return len(f.all) == 0 || len(f.turns[release])+len(f.turns[ready])+len(f.turns[orphan]) > 0
}

// Each calls yield with the places of the requests that may start, in the order of Order, until it returns false. Places have no
// position.
func (f *Front) Each(yield func(Place) bool) {
	turns := []turn{release, ready}
	if len(f.turns[release])+len(f.turns[ready]) == 0 {
		turns = []turn{orphan}
	}
	for _, t := range turns {
		for w := range f.turns[t].sorted {
			e := Entry{ID: w.id, State: events.StateArtifactsReady, Suite: w.parent.suite, Tag: w.tag, Parent: w.parent.tag}
			if t == release {
				e.ReleasedOn = time.Unix(w.key.numbers[1], 0).UTC()
			}
			if !yield(Place{Entry: e, Startable: true, Reason: reason(&e, spot{turn: t, parent: w.state})}) {
				return
			}
		}
	}
}

// before reports whether a has its turn before b of the same turn.
func (a *startable) before(b *startable) bool {
	for i, n := range a.key.numbers {
		if n != b.key.numbers[i] {
			return n < b.key.numbers[i]
		}
	}
	if a.key.turn == release {
		if c := compareVersions(string(a.tag), string(b.tag)); c != 0 {
			return c < 0
		}
	}
	return cmp.Less(a.id, b.id)
}

// startables is a heap of requests that know their places in it.
type startables []*startable

func (h startables) Len() int           { return len(h) }
func (h startables) Less(a, b int) bool { return h[a].before(h[b]) }
func (h startables) Swap(a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].at, h[b].at = a, b
}

// Push implements heap.Interface.
func (h *startables) Push(x any) {
	w := x.(*startable)
	w.at = len(*h)
	*h = append(*h, w)
}

// Pop implements heap.Interface.
func (h *startables) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h, w.at = (*h)[:last], -1
	return w
}

// sorted calls yield with the requests in their order. It looks only at those that it yields and at those below them in the heap.
func (h startables) sorted(yield func(*startable) bool) {
	if len(h) == 0 || !yield(h[0]) {
		return
	}
	next := places{h, []int{}}
	below := func(i int) {
		for k := 2*i + 1; k <= 2*i+2 && k < len(h); k++ {
			heap.Push(&next, k)
		}
	}
	for below(0); next.Len() > 0; {
		i := heap.Pop(&next).(int)
		if !yield(h[i]) {
			return
		}
		below(i)
	}
}

// places is a heap of places in a heap.
type places struct {
	of startables
	at []int
}

func (p places) Len() int           { return len(p.at) }
func (p places) Less(a, b int) bool { return p.of[p.at[a]].before(p.of[p.at[b]]) }
func (p places) Swap(a, b int)      { p.at[a], p.at[b] = p.at[b], p.at[a] }

// Push implements heap.Interface.
func (p *places) Push(x any) { p.at = append(p.at, x.(int)) }

// Pop implements heap.Interface.
func (p *places) Pop() any {
	last := len(p.at) - 1
	i := p.at[last]
	p.at = p.at[:last]
	return i
}
