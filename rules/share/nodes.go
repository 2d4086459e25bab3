package share

import "github.com/tachobench/tacho/events"

// Node is what a page shows of a queue in a tier, or of a leaf.
type Node struct {
	Tier  events.Tier
	Queue events.QueueName
	// Leaf says that it is the account in the queue.
	Leaf    bool
	Account events.AccountName
	// Parent is the queue that a queue is a part of; empty for none.
	Parent events.QueueName
	Weight int
	// Waiting and Running count jobs. Held counts requests that wait for their start.
	Waiting, Running, Held int
	// Start is how much machine time it has had, in milliseconds at weight 1, as far as that still matters. Virtual is
	// that of the neighbours: who has a smaller start has had less than its part.
	Start, Virtual int64
}

// Nodes returns all queues and leaves that have work or have had more than their part: by tier, by queue, a queue
// before its leaves, these by account.
func (t *Tree) Nodes() []Node {
	nodes := t.sorted()
	list := make([]Node, len(nodes))
	held := make(map[*node]int32)
	for _, n := range nodes {
		for p := n; n.held > 0 && p != nil; p = p.parent {
			held[p] += n.held
		}
	}
	for i, n := range nodes {
		m := Node{
			Tier: tierNames[n.tier()], Weight: int(t.weight(n)), Waiting: int(n.waiting - held[n]), Running: int(n.running), Held: int(held[n]),
			Start: n.start / unit, Virtual: n.parent.inner.virtual / unit,
		}
		if n.inner != nil {
			m.Queue, m.Parent = events.QueueName(n.name), events.QueueName(n.parent.name)
		} else {
			m.Leaf, m.Queue, m.Account = true, events.QueueName(n.parent.name), events.AccountName(n.name)
		}
		list[i] = m
	}
	return list
}
