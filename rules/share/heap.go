package share

// entry is a child in a heap of its parent, with a copy of its key. The copy saves a look at each child that is
// compared.
type entry struct {
	start, rank int64
	node        *node
}

func (e entry) before(o entry) bool {
	return e.start < o.start || e.start == o.start && e.rank < o.rank
}

// heap is a heap of children, four below each, the next one first. Each child knows its place.
type heap []entry

// idling stands for a class in the heap of the children without work.
const idling Class = -1 << 31

const ary = 4

func (h heap) put(i int, e entry, c Class) {
	h[i] = e
	if c == idling {
		e.node.idle = int32(i)
		return
	}
	k, _ := e.node.find(c)
	e.node.slots[k].at = int32(i)
}

func (h heap) up(i int, e entry, c Class) {
	for i > 0 {
		above := (i - 1) / ary
		if !e.before(h[above]) {
			break
		}
		h.put(i, h[above], c)
		i = above
	}
	h.put(i, e, c)
}

func (h heap) down(i int, e entry, c Class) {
	for {
		first := i*ary + 1
		if first >= len(h) {
			break
		}
		least := first
		for k := first + 1; k < min(first+ary, len(h)); k++ {
			if h[k].before(h[least]) {
				least = k
			}
		}
		if !h[least].before(e) {
			break
		}
		h.put(i, h[least], c)
		i = least
	}
	h.put(i, e, c)
}

// fix puts the entry at i, whose key has changed, where it belongs.
func (h heap) fix(i int, e entry, c Class) {
	if i > 0 && e.before(h[(i-1)/ary]) {
		h.up(i, e, c)
		return
	}
	h.down(i, e, c)
}

func (h heap) push(e entry, c Class) heap {
	h = append(h, e)
	h.up(len(h)-1, e, c)
	return h
}

// remove takes out the entry at i. A heap that has become small gives its memory back.
func (h heap) remove(i int, c Class) heap {
	last := len(h) - 1
	e := h[last]
	h[last] = entry{}
	h = h[:last]
	if i < last {
		h.fix(i, e, c)
	}
	const small = 64
	if cap(h) > small && len(h) < cap(h)/4 {
		h = append(make(heap, 0, cap(h)/2), h...)
	}
	return h
}
