package share

import (
	"cmp"

	"github.com/tachobench/tacho/events"
)

// item is an Item in the treap of its leaf, with the number of its jobs. The treap is ordered by class, then as Item
// says. The height of an item follows from its words, so equal leaves have equal treaps.
type item struct {
	keys        [3]int64
	id          events.RequestID
	left, right *item
	class       Class
	count       int32
	height      uint32
	level       int8
}

func (n *item) item() Item { return Item{n.level, n.keys, n.id} }

// compare compares with an item of a class.
func (n *item) compare(c Class, i Item) int {
	return cmp.Or(cmp.Compare(n.class, c), n.item().compare(i))
}

// heightOf hashes the words of an item (FNV-1a, then mixed).
func heightOf(c Class, i Item) uint32 {
	const prime = 16777619
	h := (2166136261 ^ uint32(c)) * prime
	for k := range len(i.ID) {
		h = (h ^ uint32(i.ID[k])) * prime
	}
	for _, k := range i.Keys {
		h = (h ^ uint32(k) ^ uint32(k>>32)) * prime
	}
	h ^= h >> 16
	h *= 0x85ebca6b
	return h ^ h>>13
}

// first returns the first item of the class; nil if there is none.
func (n *item) first(c Class) (found *item) {
	for n != nil {
		if n.class < c {
			n = n.right
			continue
		}
		if n.class == c {
			found = n
		}
		n = n.left
	}
	return found
}

// get returns the item; nil if it is not there.
func (n *item) get(c Class, i Item) *item {
	for n != nil {
		switch d := n.compare(c, i); {
		case d < 0:
			n = n.right
		case d > 0:
			n = n.left
		default:
			return n
		}
	}
	return nil
}

// with returns the treap with a new item.
func (n *item) with(e *item) *item {
	if n == nil {
		return e
	}
	i := e.item()
	if e.height > n.height {
		e.left, e.right = n.split(e.class, i)
		return e
	}
	if n.compare(e.class, i) < 0 {
		n.right = n.right.with(e)
	} else {
		n.left = n.left.with(e)
	}
	return n
}

// split returns what is before the item and what is after it.
func (n *item) split(c Class, i Item) (before, after *item) {
	if n == nil {
		return nil, nil
	}
	if n.compare(c, i) < 0 {
		n.right, after = n.right.split(c, i)
		return n, after
	}
	before, n.left = n.left.split(c, i)
	return before, n
}

// without returns the treap without the item.
func (n *item) without(e *item) *item {
	if n == e {
		return join(n.left, n.right)
	}
	if n.compare(e.class, e.item()) < 0 {
		n.right = n.right.without(e)
	} else {
		n.left = n.left.without(e)
	}
	return n
}

// join returns the treap of two, of which all of a is before all of b.
func join(a, b *item) *item {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.height > b.height:
		a.right = join(a.right, b)
		return a
	}
	b.left = join(a, b.left)
	return b
}
