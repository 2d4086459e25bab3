package share

import (
	"slices"
	"strconv"

	"github.com/tachobench/tacho/events"
)

// Pick returns the job that comes next on a lane that serves these classes, and false if there is none. Expect says
// what a choice will be charged, in milliseconds; Pick asks it only for a tier that its floor may bring to the front.
// Pick changes nothing: call Serve and Remove if the job is dispatched.
func (t *Tree) Pick(expect func(Choice) int64, classes ...Class) (Choice, bool) {
	if len(classes) > 1 && !slices.IsSorted(classes) {
		classes = slices.Sorted(slices.Values(classes))
	}
	first := -1
	var able [tiers]bool
	for i, n := range t.tiers {
		able[i] = n.able(classes)
		if able[i] && first < 0 {
			first = i
		}
	}
	if first < 0 {
		return Choice{}, false
	}
	var choice Choice
	chosen := false
	for i := first + 1; i < tiers && !chosen; i++ {
		if able[i] && t.owed[i] > 0 {
			choice = t.choose(i, classes)
			chosen = t.owed[i] >= max(bounded(expect(choice)), 1)*thousand
			choice.Why = "floor of " + string(tierNames[i])
		}
	}
	if !chosen {
		choice = t.choose(first, classes)
	}
	for i, ok := range able {
		if ok && tierNames[i] != choice.Leaf.Tier {
			choice.Waiting = append(choice.Waiting, tierNames[i])
		}
	}
	return choice, true
}

func (n *node) able(classes []Class) bool {
	return slices.ContainsFunc(classes, func(c Class) bool {
		_, ok := n.find(c)
		return ok
	})
}

// choose goes down from a tier that has a job of the classes. At each node it takes the smallest child over the
// classes.
func (t *Tree) choose(tier int, classes []Class) Choice {
	c := Choice{Leaf: Leaf{Tier: tierNames[tier]}, Why: string(tierNames[tier])}
	n, rivals, where := t.tiers[tier], 1, (*node)(nil)
	for n.inner != nil {
		next, among := n.next(classes)
		if among > 1 || where == nil {
			rivals, where = among, n
		}
		if next.inner != nil {
			c.Leaf.Queue = events.QueueName(next.name)
		}
		n = next
	}
	c.Leaf.Account = events.AccountName(n.name)
	var best *item
	for _, class := range classes {
		if _, ok := n.find(class); !ok {
			continue
		}
		if i := n.items.first(class); best == nil || i.item().compare(best.item()) < 0 {
			best = i
		}
	}
	c.Class, c.Item = best.class, best.item()
	if tier != vip {
		c.Why += ", " + reason(rivals, where)
	}
	return c
}

// next returns the smallest child that has a job of the classes, and how many have one of the same class.
func (n *node) next(classes []Class) (child *node, among int) {
	var best entry
	for _, c := range classes {
		i, ok := n.find(c)
		if !ok {
			continue
		}
		if h := n.inner.heaps[i]; best.node == nil || h[0].before(best) {
			best, among = h[0], len(h)
		}
	}
	return best.node, among
}

func reason(rivals int, where *node) string {
	switch {
	case rivals == 1:
		return "no other one waits"
	case where.parent == nil:
		return "first of " + strconv.Itoa(rivals) + " queues"
	}
	name := where.name
	if name == "" {
		name = string(events.MainQueue)
	}
	return "first of " + strconv.Itoa(rivals) + " in queue " + name
}
