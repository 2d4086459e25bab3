package share

import "github.com/tachobench/tacho/events"

// find returns the node of a leaf; nil if there is none.
func (t *Tree) find(l Leaf) *node {
	q := t.nodes[spot{t.tiers[tierOf(l.Tier)], string(l.Queue)}]
	if q == nil {
		return nil
	}
	return t.nodes[spot{q, string(l.Account)}]
}

// leaf returns the node of a leaf, and makes it, and what is above it, if there is none.
func (t *Tree) leaf(l Leaf) *node {
	q := t.queueNode(tierOf(l.Tier), l.Queue)
	at := spot{q, string(l.Account)}
	n := t.nodes[at]
	if n == nil {
		n = t.grow(at, q, nil)
		if a := t.limit(l.Account); a != nil {
			a.leaves = append(a.leaves, n)
			n.hidden = a.blocked()
		}
	}
	return n
}

func (t *Tree) queueNode(tier int, name events.QueueName) *node {
	at := spot{t.tiers[tier], string(name)}
	n := t.nodes[at]
	if n == nil {
		parent := t.tiers[tier]
		if above := t.parent(name); above != "" {
			parent = t.queueNode(tier, above)
		}
		n = t.grow(at, parent, &inner{tier: tier})
		if q := t.queues[name]; q != nil {
			n.inner.queue, q.nodes[tier] = q, n
			n.hidden = q.blocked()
		}
	}
	return n
}

// grow makes a node that has had nothing yet.
func (t *Tree) grow(at spot, parent *node, in *inner) *node {
	n := &node{start: parent.inner.virtual, rank: unserved, parent: parent, name: at.name, inner: in, idle: -1}
	t.nodes[at] = n
	return n
}

// drop forgets a node below which nothing is any more.
func (t *Tree) drop(n *node) {
	if n.inner == nil {
		delete(t.nodes, spot{n.parent, n.name})
		if a := t.limit(events.AccountName(n.name)); a != nil {
			a.leave(n)
		}
		return
	}
	delete(t.nodes, spot{t.tiers[n.inner.tier], n.name})
	if q := n.inner.queue; q != nil {
		q.nodes[n.inner.tier] = nil
	}
}

// settle forgets what has no work and owes nothing, from the leaf n upwards. A queue or tier without any work starts
// over: the accounts in it have nothing left to be compared with.
func (t *Tree) settle(n *node) {
	if !n.resting() {
		return
	}
	for n.parent != nil && n.parent.resting() {
		t.clear(n)
		t.drop(n)
		n = n.parent
	}
	t.clear(n)
	switch {
	case n.parent == nil:
	case n.start <= n.parent.inner.virtual:
		t.drop(n)
	case n.idle < 0:
		in := n.parent.inner
		in.idle = in.idle.push(n.entry(), idling)
	}
}

// clear forgets what is below a node without work.
func (t *Tree) clear(n *node) {
	if n.inner == nil {
		return
	}
	for _, e := range n.inner.idle {
		t.drop(e.node)
	}
	n.inner.idle, n.inner.virtual = nil, 0
}

// expire forgets the children without work that owe nothing any more.
func (t *Tree) expire(n *node) {
	in := n.inner
	for len(in.idle) > 0 && in.idle[0].start <= in.virtual {
		gone := in.idle[0].node
		in.idle = in.idle.remove(0, idling)
		t.drop(gone)
	}
}
