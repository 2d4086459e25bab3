package share

import (
	"cmp"
	"slices"

	"github.com/tachobench/tacho/events"
)

// Image is a tree without the items that wait. Equal trees have equal images.
type Image struct {
	Policy Policy
	// Number counts joins and turns.
	Number   int64
	Tiers    []TierImage
	Queues   []QueueImage
	Accounts []AccountImage
	Nodes    []NodeImage
}

// TierImage is a tier: its virtual time and what its floor owes to it, in thousandths of a millisecond.
type TierImage struct {
	Tier    events.Tier
	Virtual int64
	Owed    int64
}

// QueueImage is what is set of a queue.
type QueueImage struct {
	Name events.QueueName
	Queue
}

// AccountImage is what is set of an account.
type AccountImage struct {
	Name events.AccountName
	Account
}

// NodeImage is a queue in a tier, or a leaf.
type NodeImage struct {
	Tier    events.Tier
	Queue   events.QueueName   `json:",omitempty"`
	Leaf    bool               `json:",omitempty"`
	Account events.AccountName `json:",omitempty"`
	// Start, Rank and Virtual are its numbers in fair queueing.
	Start   int64
	Rank    int64
	Virtual int64 `json:",omitempty"`
	// Jobs wait and Running run in a leaf; Held are its requests that wait for their start.
	Jobs    int32 `json:",omitempty"`
	Held    int32 `json:",omitempty"`
	Running int32 `json:",omitempty"`
}

// Image returns the image of the tree.
func (t *Tree) Image() Image {
	i := Image{Policy: t.policy, Number: t.number}
	for k, n := range t.tiers {
		i.Tiers = append(i.Tiers, TierImage{tierNames[k], n.inner.virtual, t.owed[k]})
	}
	for name, q := range t.queues {
		i.Queues = append(i.Queues, QueueImage{name, q.Queue})
	}
	slices.SortFunc(i.Queues, func(a, b QueueImage) int { return cmp.Compare(a.Name, b.Name) })
	for name, a := range t.accounts {
		i.Accounts = append(i.Accounts, AccountImage{name, a.Account})
	}
	slices.SortFunc(i.Accounts, func(a, b AccountImage) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range t.sorted() {
		m := NodeImage{Tier: tierNames[n.tier()], Start: n.start, Rank: n.rank}
		if n.inner != nil {
			m.Queue, m.Virtual = events.QueueName(n.name), n.inner.virtual
		} else {
			m.Leaf, m.Queue, m.Account = true, events.QueueName(n.parent.name), events.AccountName(n.name)
			m.Jobs, m.Held, m.Running = n.waiting-n.held, n.held, n.running
		}
		i.Nodes = append(i.Nodes, m)
	}
	return i
}

// sorted returns the nodes by tier, then by queue; a queue comes before its leaves, and these are sorted by account.
func (t *Tree) sorted() []*node {
	nodes := make([]*node, 0, len(t.nodes))
	for _, n := range t.nodes {
		nodes = append(nodes, n)
	}
	queueOf := func(n *node) *node {
		if n.inner == nil {
			return n.parent
		}
		return n
	}
	slices.SortFunc(nodes, func(a, b *node) int {
		x, y := queueOf(a), queueOf(b)
		if x != y {
			return cmp.Or(cmp.Compare(x.inner.tier, y.inner.tier), cmp.Compare(x.name, y.name))
		}
		if a.inner != nil || b.inner != nil {
			if a.inner != nil {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.name, b.name)
	})
	return nodes
}

// Restore returns the tree of an image. The caller then adds all waiting jobs again, as many as waited; they find
// their leaves where they were. Requests that are held come back by themselves.
func Restore(i Image) *Tree {
	t := New()
	t.policy = i.Policy
	for _, q := range i.Queues {
		t.queues[q.Name] = &queue{Queue: q.Queue}
	}
	for _, a := range i.Accounts {
		t.SetAccount(a.Name, a.Account)
	}
	for _, n := range i.Nodes {
		t.restore(n)
	}
	for _, k := range i.Tiers {
		t.owed[tierOf(k.Tier)], t.tiers[tierOf(k.Tier)].inner.virtual = k.Owed, k.Virtual
	}
	for _, n := range t.nodes {
		if n.resting() {
			in := n.parent.inner
			in.idle = in.idle.push(n.entry(), idling)
		}
	}
	t.number = i.Number
	return t
}

func (t *Tree) restore(i NodeImage) {
	if !i.Leaf {
		n := t.queueNode(tierOf(i.Tier), i.Queue)
		n.start, n.rank, n.inner.virtual = i.Start, i.Rank, i.Virtual
		return
	}
	n := t.leaf(Leaf{i.Tier, i.Queue, i.Account})
	n.start, n.rank, n.held, n.missing = i.Start, i.Rank, i.Held, i.Jobs
	for p := n; p != nil; p = p.parent {
		p.waiting += i.Jobs + i.Held
	}
	t.run(n, i.Running)
}
