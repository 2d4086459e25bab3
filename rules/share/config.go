package share

import (
	"cmp"
	"slices"

	"github.com/tachobench/tacho/events"
)

// queue is a queue of which something is set.
type queue struct {
	Queue
	nodes [tiers]*node
}

func (q *queue) blocked() bool {
	running := 0
	for _, n := range q.nodes {
		if n != nil {
			running += int(n.running)
		}
	}
	return q.Paused || q.MaxRunning > 0 && running >= q.MaxRunning
}

func (q *queue) refresh() {
	blocked := q.blocked()
	for _, n := range q.nodes {
		if n != nil {
			n.hide(blocked)
		}
	}
}

// account is an account of which something is set. Only one with a limit knows its leaves and what runs.
type account struct {
	Account
	running int
	leaves  []*node
}

func (a *account) blocked() bool { return a.MaxRunning > 0 && a.running >= a.MaxRunning }

func (a *account) refresh() {
	blocked := a.blocked()
	for _, n := range a.leaves {
		n.hide(blocked)
	}
}

func (a *account) leave(n *node) {
	if i := slices.Index(a.leaves, n); i >= 0 {
		a.leaves = slices.Delete(a.leaves, i, i+1)
	}
}

// limit returns an account if it has a limit, else nil.
func (t *Tree) limit(name events.AccountName) *account {
	if t.limited == 0 {
		return nil
	}
	a := t.accounts[name]
	if a == nil || a.MaxRunning <= 0 {
		return nil
	}
	return a
}

// SetPolicy sets the policy from the next decision on.
func (t *Tree) SetPolicy(p Policy) {
	t.policy = p
	for i := range t.owed {
		if t.floor(i) == 0 {
			t.owed[i] = 0
		}
	}
}

// SetQueue sets a queue from the next decision on. Starts stay, except that a queue with a new parent joins there.
func (t *Tree) SetQueue(name events.QueueName, set Queue) {
	q := t.queues[name]
	if q == nil {
		q = &queue{}
		for i := range t.tiers {
			q.nodes[i] = t.nodes[spot{t.tiers[i], string(name)}]
			if q.nodes[i] != nil {
				q.nodes[i].inner.queue = q
			}
		}
		t.queues[name] = q
	}
	elsewhere := q.Parent != set.Parent
	q.Queue = set
	q.refresh()
	if set == (Queue{}) {
		for _, n := range q.nodes {
			if n != nil {
				n.inner.queue = nil
			}
		}
		delete(t.queues, name)
	}
	if elsewhere {
		t.move()
	}
}

// SetAccount sets an account from the next decision on. Starts stay. The first limit of an account looks for its
// leaves among all.
func (t *Tree) SetAccount(name events.AccountName, set Account) {
	a := t.accounts[name]
	if a == nil {
		a = &account{}
		t.accounts[name] = a
	}
	limited := a.MaxRunning > 0
	a.Account = set
	if limited {
		t.limited--
	}
	if set.MaxRunning > 0 {
		t.limited++
	}
	if set.MaxRunning > 0 && !limited {
		for _, n := range t.nodes {
			if n.inner == nil && n.name == string(name) {
				a.leaves = append(a.leaves, n)
				a.running += int(n.running)
			}
		}
	}
	a.refresh()
	if set.MaxRunning <= 0 {
		a.leaves, a.running = nil, 0
	}
	if set == (Account{}) {
		delete(t.accounts, name)
	}
}

// weight returns the weight of a queue or a leaf.
func (t *Tree) weight(n *node) int64 {
	if n.inner != nil {
		if q := n.inner.queue; q != nil && q.Weight > 0 {
			return int64(q.Weight)
		}
		if n.name == "" {
			return events.UsualWeight
		}
	}
	if len(t.accounts) > 0 {
		if a := t.accounts[events.AccountName(n.name)]; a != nil && a.Weight > 0 {
			return int64(a.Weight)
		}
	}
	return events.UsualWeight
}

// parent returns the queue that a queue is a part of; empty for none.
func (t *Tree) parent(name events.QueueName) events.QueueName {
	q := t.queues[name]
	if q == nil || t.depth(name) > MaxDepth {
		return ""
	}
	return q.Parent
}

// depth counts a queue and those that it is a part of, at most to MaxDepth + 1.
func (t *Tree) depth(name events.QueueName) (depth int) {
	for depth = 1; depth <= MaxDepth; depth++ {
		q := t.queues[name]
		if q == nil || q.Parent == "" {
			break
		}
		name = q.Parent
	}
	return depth
}

// move puts the queues whose parent is another one now where they belong.
func (t *Tree) move() {
	var moving []*node
	for at, n := range t.nodes {
		if n.inner != nil && !t.inPlace(at, n) {
			moving = append(moving, n)
		}
	}
	// Parents come before their children.
	slices.SortFunc(moving, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.inner.tier, b.inner.tier),
			cmp.Compare(t.depth(events.QueueName(a.name)), t.depth(events.QueueName(b.name))), cmp.Compare(a.name, b.name))
	})
	touched := slices.Clone(moving)
	for _, n := range moving {
		touched = append(touched, n.parent)
		t.detach(n)
	}
	for _, n := range moving {
		t.attach(n)
	}
	for _, n := range touched {
		if n.parent == nil || t.nodes[spot{t.tiers[n.inner.tier], n.name}] == n {
			t.settle(n)
		}
	}
	for _, q := range t.queues {
		q.refresh()
	}
}

func (t *Tree) inPlace(at spot, n *node) bool {
	parent := at.under
	if above := t.parent(events.QueueName(n.name)); above != "" {
		parent = t.nodes[spot{at.under, string(above)}]
	}
	return n.parent == parent
}

// detach takes a node, with what is below it, out of its parent, and hides it until it is attached.
func (t *Tree) detach(n *node) {
	old := n.parent
	n.hide(true)
	if n.idle >= 0 {
		old.inner.idle = old.inner.idle.remove(int(n.idle), idling)
		n.idle = -1
	}
	n.parent = nil
	for p := old; p != nil; p = p.parent {
		p.waiting -= n.waiting
		p.running -= n.running
	}
}

// attach puts a node below the parent that it should have. It joins there as a new one.
func (t *Tree) attach(n *node) {
	tier := n.inner.tier
	n.parent = t.tiers[tier]
	if above := t.parent(events.QueueName(n.name)); above != "" {
		n.parent = t.queueNode(tier, above)
	}
	n.start, n.rank = n.parent.inner.virtual, unserved
	if n.waiting > 0 {
		t.number++
		n.rank += t.number
	}
	for p := n.parent; p != nil; p = p.parent {
		if p.parent != nil && p.waiting == 0 && n.waiting > 0 {
			t.join(p)
		} else if p.parent != nil && p.resting() {
			p.awake()
		}
		p.waiting += n.waiting
		p.running += n.running
	}
	n.hide(n.inner.queue != nil && n.inner.queue.blocked())
}
