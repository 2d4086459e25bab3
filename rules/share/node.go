package share

import "slices"

// node is a tier, a queue in a tier, or a leaf. Tiers and queues have an inner part. Leaves have items.
type node struct {
	// start and rank are its key among its neighbours.
	start, rank int64
	parent      *node
	name        string
	// slots are the classes of which it has work that may be picked as far as it and what is below it are concerned.
	// They are sorted by class. Up to half of them are vacant.
	slots []slot
	items *item
	inner *inner
	// waiting and running count the jobs below it. Requests that are held count as waiting.
	waiting, running int32
	// held counts the requests of a leaf that are held, missing its waiting jobs that are to come back after Restore.
	held, missing int32
	// idle is its place in the idle heap of its parent, -1 if it is not there.
	idle int32
	// vacancies counts the vacant slots.
	vacancies int32
	// hidden says that it is paused or at a limit: it is in no heap of its parent.
	hidden bool
}

// slot is a class of a node, and its place in the heap of its parent for this class; -1 if it is not there.
type slot struct {
	class Class
	at    int32
}

// vacant is the place of a class that has no work any more. Its slot stays, so that a long list does not move for each class that
// comes and goes.
const vacant int32 = -2

type inner struct {
	virtual int64
	// heaps are the children that may be picked, for each slot.
	heaps []heap
	// idle are the children without work that had more than their part, the one that has repaid first in front.
	idle  heap
	tier  int
	queue *queue
}

func (n *node) entry() entry { return entry{n.start, n.rank, n} }

// resting reports whether nothing below the node waits or runs.
func (n *node) resting() bool { return n.waiting == 0 && n.running == 0 }

func (n *node) tier() int {
	for n.inner == nil {
		n = n.parent
	}
	return n.inner.tier
}

// find returns the slot of a class that has work, or where it belongs: it may be there, and vacant. It looks first where the slot is if no class is missing.
func (n *node) find(c Class) (int, bool) {
	low, high := 0, len(n.slots)
	if high > 0 {
		if guess := int(c) - int(n.slots[0].class); guess >= 0 && guess < high && n.slots[guess].class == c {
			return guess, n.slots[guess].at != vacant
		}
	}
	for low < high {
		middle := int(uint(low+high) / 2)
		if n.slots[middle].class < c {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(n.slots) && n.slots[low].class == c && n.slots[low].at != vacant
}

// open makes the slot of a class at the place that find returned.
func (n *node) open(i int, c Class) {
	if i < len(n.slots) && n.slots[i].class == c {
		n.slots[i].at = -1
		n.vacancies--
		return
	}
	n.slots = slices.Insert(n.slots, i, slot{c, -1})
	if n.inner != nil {
		n.inner.heaps = slices.Insert(n.inner.heaps, i, nil)
	}
}

// shut makes a slot vacant, and drops the vacant ones once they are more than half.
func (n *node) shut(i int) {
	n.slots[i].at = vacant
	n.vacancies++
	if n.inner != nil {
		n.inner.heaps[i] = nil
	}
	if 2*int(n.vacancies) <= len(n.slots) {
		return
	}
	kept := 0
	for k, s := range n.slots {
		if s.at == vacant {
			continue
		}
		n.slots[kept] = s
		if n.inner != nil {
			n.inner.heaps[kept] = n.inner.heaps[k]
		}
		kept++
	}
	n.slots, n.vacancies = n.slots[:kept], 0
	if n.inner != nil {
		clear(n.inner.heaps[kept:])
		n.inner.heaps = n.inner.heaps[:kept]
	}
}

// enter puts the node, which has a slot for the class, into the heap of its parent, and so on upwards.
func (n *node) enter(c Class) {
	for p := n.parent; p != nil && !n.hidden; n, p = p, p.parent {
		i, ok := p.find(c)
		if !ok {
			p.open(i, c)
		}
		p.inner.heaps[i] = p.inner.heaps[i].push(n.entry(), c)
		if ok {
			return
		}
	}
}

// exit shuts the slot of a node that has no work of the class any more, and so on upwards.
func (n *node) exit(c Class) {
	for {
		i, _ := n.find(c)
		at := n.slots[i].at
		n.shut(i)
		if at < 0 {
			return
		}
		n = n.parent
		if !n.without(c, int(at)) {
			return
		}
	}
}

// without takes a child out of a heap, and reports whether it was the last one.
func (n *node) without(c Class, at int) bool {
	i, _ := n.find(c)
	n.inner.heaps[i] = n.inner.heaps[i].remove(at, c)
	return len(n.inner.heaps[i]) == 0
}

// hide takes the node out of the heaps of its parent, or puts it back.
func (n *node) hide(hidden bool) {
	if n.hidden == hidden {
		return
	}
	n.hidden = hidden
	for i := range n.slots {
		s := &n.slots[i]
		if s.at == vacant {
			continue
		}
		if !hidden {
			n.enter(s.class)
			continue
		}
		at := s.at
		s.at = -1
		if at >= 0 && n.parent.without(s.class, int(at)) {
			n.parent.exit(s.class)
		}
	}
}

// moved repairs the heaps that the node is in after its key has changed.
func (n *node) moved() {
	e := n.entry()
	for _, s := range n.slots {
		if s.at >= 0 {
			i, _ := n.parent.find(s.class)
			n.parent.inner.heaps[i].fix(int(s.at), e, s.class)
		}
	}
}

// awake takes a node without work out of the idle heap. One that owes nothing begins where a new one would.
func (n *node) awake() {
	if n.idle >= 0 {
		n.parent.inner.idle = n.parent.inner.idle.remove(int(n.idle), idling)
		n.idle = -1
	}
	if v := n.parent.inner.virtual; n.start <= v {
		n.start, n.rank = v, unserved
	}
}
