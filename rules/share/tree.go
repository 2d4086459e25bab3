package share

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// Tree shares machine time among tiers, queues and accounts. It is not safe for concurrent use.
type Tree struct {
	policy Policy
	tiers  [tiers]*node
	// owed is what each tier is owed by its floor, in thousandths of a millisecond.
	owed [tiers]int64
	// nodes finds queues by their tier, and leaves by their queue.
	nodes    map[spot]*node
	queues   map[events.QueueName]*queue
	accounts map[events.AccountName]*account
	// limited counts the accounts with a limit.
	limited int
	// number counts joins and turns.
	number int64
}

type spot struct {
	under *node
	name  string
}

// New returns an empty tree with the default policy.
func New() *Tree {
	t := &Tree{
		policy: DefaultPolicy(), nodes: map[spot]*node{},
		queues: map[events.QueueName]*queue{}, accounts: map[events.AccountName]*account{},
	}
	for i := range t.tiers {
		t.tiers[i] = &node{inner: &inner{tier: i}, idle: -1}
	}
	return t
}

// Add says that one more job of the item waits in the leaf for a lane of the class.
func (t *Tree) Add(l Leaf, c Class, i Item) {
	n := t.leaf(l)
	if n.missing > 0 {
		n.missing--
	} else {
		t.wait(n)
	}
	if found := n.items.get(c, i); found != nil {
		found.count++
		return
	}
	n.items = n.items.with(&item{keys: i.Keys, id: i.ID, class: c, count: 1, height: heightOf(c, i), level: i.Level})
	if k, ok := n.find(c); !ok {
		n.open(k, c)
		n.enter(c)
	}
}

// Remove says that one job fewer of the item waits. Removing what does not wait changes nothing. Of a job that was
// dispatched, say Serve first: so the leaf is not forgotten in between.
func (t *Tree) Remove(l Leaf, c Class, i Item) {
	n := t.find(l)
	if n == nil {
		return
	}
	found := n.items.get(c, i)
	if found == nil {
		return
	}
	found.count--
	if found.count == 0 {
		n.items = n.items.without(found)
		if n.items.first(c) == nil {
			n.exit(c)
		}
	}
	t.waitNoMore(n)
}

// Hold says that one more request of the leaf waits for its start. The leaf then has its place as if a job waited, so
// that its turn comes in a queue that starts few requests at once; Pick does not see it.
func (t *Tree) Hold(l Leaf) {
	n := t.leaf(l)
	n.held++
	t.wait(n)
}

// Unhold says that one request fewer of the leaf waits for its start. Of a request that starts, say Add first.
func (t *Tree) Unhold(l Leaf) {
	n := t.find(l)
	if n == nil || n.held == 0 {
		return
	}
	n.held--
	t.waitNoMore(n)
}

func (t *Tree) wait(n *node) {
	t.number++
	for ; n.parent != nil; n = n.parent {
		if n.waiting == 0 {
			t.join(n)
		}
		n.waiting++
	}
	n.waiting++
}

// join gives a node its place among those that wait.
func (t *Tree) join(n *node) {
	n.awake()
	if n.rank <= 0 {
		n.rank = unserved + t.number
	}
}

func (t *Tree) waitNoMore(n *node) {
	for p := n; p != nil; p = p.parent {
		p.waiting--
		if p.parent == nil && p.waiting == 0 {
			t.owed[p.inner.tier] = 0
		}
	}
	t.settle(n)
}

// Serve says that a job of the leaf was dispatched and is charged this much machine time. Waiting are the other tiers
// that had a job for the lane, as Pick has said.
func (t *Tree) Serve(l Leaf, chargeMS int64, waiting []events.Tier) {
	n, charge := t.leaf(l), max(bounded(chargeMS), 0)
	t.number++
	for p := n; p.parent != nil; p = p.parent {
		if p.resting() {
			p.awake()
		}
		in, weight := p.parent.inner, t.weight(p)
		start := max(p.start, in.virtual-max(bounded(t.policy.LagMS), 0)*unit/weight)
		in.virtual = max(in.virtual, start)
		p.start, p.rank = add(start, cost(charge, weight)), t.number
		p.moved()
		t.expire(p.parent)
	}
	t.run(n, 1)
	t.owe(tierOf(l.Tier), charge, waiting)
}

// Correct says that a job of the leaf took longer than it was charged, or less long if deltaMS is below 0. Waiting are
// the tiers that its Serve had. Say it before End.
//
// A charge that was too high has moved the virtual time too far, if the leaf was ahead of it. Then it goes back: one who
// joins must not wait until the others have used up what they were charged too much.
func (t *Tree) Correct(l Leaf, deltaMS int64, waiting ...events.Tier) {
	delta := bounded(deltaMS)
	if delta == 0 {
		return
	}
	n := t.leaf(l)
	for p := n; p.parent != nil; p = p.parent {
		if p.resting() {
			p.awake()
		}
		before, in := p.start, p.parent.inner
		p.start = add(p.start, cost(delta, t.weight(p)))
		if p.waiting > 0 && before >= in.virtual {
			in.virtual = max(min(in.virtual, p.start), 0)
		}
		p.moved()
	}
	t.owe(tierOf(l.Tier), delta, waiting)
	t.settle(n)
}

// End says that the place of a job of the leaf is over.
func (t *Tree) End(l Leaf) {
	n := t.find(l)
	if n == nil || n.running == 0 {
		return
	}
	t.run(n, -1)
	t.settle(n)
}

// run counts running jobs, and looks at the limits that they touch.
func (t *Tree) run(n *node, more int32) {
	for p := n; p != nil; p = p.parent {
		p.running += more
		if p.inner != nil && p.inner.queue != nil {
			p.inner.queue.refresh()
		}
	}
	if a := t.limit(events.AccountName(n.name)); a != nil {
		a.running += int(more)
		a.refresh()
	}
}

// owe counts what the tiers are owed after a charge of one of them.
func (t *Tree) owe(served int, charge int64, waiting []events.Tier) {
	for i := normal; i < tiers; i++ {
		floor := t.floor(i)
		switch {
		case i == served:
			floor -= thousand
		case !slices.Contains(waiting, tierNames[i]):
			continue
		}
		if t.tiers[i].waiting > 0 {
			t.owed[i] = max(add(t.owed[i], charge*floor), 0)
		}
	}
}

func (t *Tree) floor(tier int) int64 {
	floor := 0
	switch tier {
	case normal:
		floor = t.policy.FloorDefault
	case idle:
		floor = t.policy.FloorIdle
	}
	return int64(max(min(floor, thousand), 0))
}

// Before compares two leaves of one queue and tier: by the start that each has, or would have if a job came now, then
// by the time of its last turn, then by its name. A leaf without a turn comes before others with the same start.
func (t *Tree) Before(a, b Leaf) int {
	x, y := t.key(a), t.key(b)
	switch {
	case x.before(y):
		return -1
	case y.before(x):
		return 1
	case a.Account < b.Account:
		return -1
	case a.Account > b.Account:
		return 1
	}
	return 0
}

func (t *Tree) key(l Leaf) entry {
	n := t.find(l)
	if n != nil && n.waiting > 0 {
		return n.entry()
	}
	v := int64(0)
	if q := t.nodes[spot{t.tiers[tierOf(l.Tier)], string(l.Queue)}]; q != nil {
		v = q.inner.virtual
	}
	if n == nil || n.start <= v {
		return entry{start: v}
	}
	return entry{start: n.start, rank: max(n.rank, 0)}
}
