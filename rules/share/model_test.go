package share_test

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/share"
)

// model is the rules written down without any heap or count: it looks at everything, each time.
type model struct {
	policy   share.Policy
	queues   map[events.QueueName]share.Queue
	accounts map[events.AccountName]share.Account
	nodes    map[knot]*state
	jobs     map[share.Leaf]map[wish]int
	held     map[share.Leaf]int
	running  map[share.Leaf]int
	owed     map[events.Tier]int64
	number   int64
}

// knot names a node. A tier has neither a queue nor an account.
type knot struct {
	kind    int
	tier    events.Tier
	queue   events.QueueName
	account events.AccountName
}

const (
	isTier = iota
	isQueue
	isLeaf
)

// state is what a node has had. Its parent is nil while it moves.
type state struct {
	start, last, joined, virtual int64
	parent                       *knot
}

type wish struct {
	class share.Class
	item  share.Item
}

var allTiers = []events.Tier{events.TierVIP, events.TierDefault, events.TierIdle}

func newModel() *model {
	m := &model{
		policy: share.DefaultPolicy(), queues: map[events.QueueName]share.Queue{}, accounts: map[events.AccountName]share.Account{},
		nodes: map[knot]*state{}, jobs: map[share.Leaf]map[wish]int{}, held: map[share.Leaf]int{}, running: map[share.Leaf]int{}, owed: map[events.Tier]int64{},
	}
	for _, t := range allTiers {
		m.nodes[knot{tier: t}] = &state{}
	}
	return m
}

func leafKnot(l share.Leaf) knot { return knot{isLeaf, l.Tier, l.Queue, l.Account} }

// parent follows the settings up; more than four queues count as none.
func (m *model) parent(q events.QueueName) events.QueueName {
	above := m.queues[q].Parent
	for at, depth := q, 1; at != ""; at, depth = m.queues[at].Parent, depth+1 {
		if depth > 4 {
			return ""
		}
	}
	return above
}

func (m *model) ensure(k knot) *state {
	if n := m.nodes[k]; n != nil {
		return n
	}
	var above knot
	switch q := m.parent(k.queue); {
	case k.kind == isLeaf:
		above = knot{isQueue, k.tier, k.queue, ""}
	case q == "":
		above = knot{tier: k.tier}
	default:
		above = knot{isQueue, k.tier, q, ""}
	}
	m.nodes[k] = &state{start: m.ensure(above).virtual, parent: &above}
	return m.nodes[k]
}

// path returns a node and what is above it.
func (m *model) path(k knot) (path []knot) {
	for at := &k; at != nil && m.nodes[*at] != nil; at = m.nodes[*at].parent {
		path = append(path, *at)
	}
	return path
}

func (m *model) sum(k knot, count func(share.Leaf) int) (sum int) {
	for n := range m.nodes {
		if n.kind == isLeaf && slices.Contains(m.path(n), k) {
			sum += count(share.Leaf{Tier: n.tier, Queue: n.queue, Account: n.account})
		}
	}
	return sum
}

func (m *model) jobsOf(l share.Leaf) (sum int) {
	for _, n := range m.jobs[l] {
		sum += n
	}
	return sum
}

func (m *model) waiting(k knot) int {
	return m.sum(k, func(l share.Leaf) int { return m.jobsOf(l) + m.held[l] })
}

func (m *model) runs(k knot) int {
	return m.sum(k, func(l share.Leaf) int { return m.running[l] })
}

func (m *model) resting(k knot) bool { return m.waiting(k) == 0 && m.runs(k) == 0 }

func (m *model) weight(k knot) int64 {
	if k.kind == isQueue {
		if w := m.queues[k.queue].Weight; w > 0 {
			return int64(w)
		}
		if k.queue == "" {
			return 10
		}
		k.account = events.AccountName(k.queue)
	}
	return int64(cmp.Or(m.accounts[k.account].Weight, 10))
}

func (m *model) awake(k knot) {
	n := m.nodes[k]
	if v := m.nodes[*n.parent].virtual; n.start <= v {
		n.start, n.last, n.joined = v, 0, 0
	}
}

func (m *model) join(k knot) {
	m.awake(k)
	if n := m.nodes[k]; n.last == 0 {
		n.joined = m.number
	}
}

// wait lets the nodes join that will have something waiting only now.
func (m *model) wait(l share.Leaf) {
	k := leafKnot(l)
	m.ensure(k)
	m.number++
	for _, p := range m.path(k) {
		if p.kind != isTier && m.waiting(p) == 0 {
			m.join(p)
		}
	}
}

func (m *model) add(l share.Leaf, w wish) {
	m.wait(l)
	if m.jobs[l] == nil {
		m.jobs[l] = map[wish]int{}
	}
	m.jobs[l][w]++
}

func (m *model) hold(l share.Leaf) {
	m.wait(l)
	m.held[l]++
}

func (m *model) unhold(l share.Leaf) {
	m.held[l] = max(m.held[l]-1, 0)
	m.settle()
}

func (m *model) remove(l share.Leaf, w wish) {
	if m.jobs[l][w] > 0 {
		m.jobs[l][w]--
	}
	m.settle()
}

func (m *model) end(l share.Leaf) {
	m.running[l] = max(m.running[l]-1, 0)
	m.settle()
}

func costOf(c, w int64) int64 {
	if c < 0 {
		return -costOf(-c, w)
	}
	return max(c*1024/w, 1)
}

func (m *model) serve(l share.Leaf, charge int64, waiting []events.Tier) {
	k := leafKnot(l)
	m.ensure(k)
	m.number++
	for _, p := range m.path(k) {
		if p.kind == isTier {
			break
		}
		if m.resting(p) {
			m.awake(p)
		}
		n, w := m.nodes[p], m.weight(p)
		above := m.nodes[*n.parent]
		start := max(n.start, above.virtual-m.policy.LagMS*1024/w)
		above.virtual = max(above.virtual, start)
		n.start, n.last, n.joined = start+costOf(charge, w), m.number, 0
	}
	m.running[l]++
	m.owe(l.Tier, charge, waiting)
	m.settle()
}

func (m *model) correct(l share.Leaf, delta int64, waiting []events.Tier) {
	if delta == 0 {
		return
	}
	k := leafKnot(l)
	m.ensure(k)
	for _, p := range m.path(k) {
		if p.kind == isTier {
			break
		}
		if m.resting(p) {
			m.awake(p)
		}
		n := m.nodes[p]
		above, before := m.nodes[*n.parent], n.start
		n.start += costOf(delta, m.weight(p))
		if m.waiting(p) > 0 && before >= above.virtual {
			above.virtual = max(min(above.virtual, n.start), 0)
		}
	}
	m.owe(l.Tier, delta, waiting)
	m.settle()
}

func (m *model) owe(served events.Tier, charge int64, waiting []events.Tier) {
	for t, floor := range map[events.Tier]int{events.TierDefault: m.policy.FloorDefault, events.TierIdle: m.policy.FloorIdle} {
		if t == served {
			m.owed[t] += charge * int64(floor-1000)
		} else if slices.Contains(waiting, t) {
			m.owed[t] += charge * int64(floor)
		}
		if m.owed[t] < 0 || m.waiting(knot{tier: t}) == 0 {
			m.owed[t] = 0
		}
	}
}

// settle starts over what has no work at all, and forgets who has no work and owes nothing: also if the virtual time
// goes back later.
func (m *model) settle() {
	for k, n := range m.nodes {
		if k.kind != isLeaf && m.resting(k) {
			n.virtual = 0
			maps.DeleteFunc(m.nodes, func(_ knot, n *state) bool { return n.parent != nil && *n.parent == k })
		}
		if k.kind == isTier && m.waiting(k) == 0 {
			m.owed[k.tier] = 0
		}
	}
	for k, n := range m.nodes {
		path := m.path(k)
		if path[len(path)-1].kind != isTier || k.kind != isTier && m.resting(k) && n.start <= m.nodes[*n.parent].virtual {
			delete(m.nodes, k)
		}
	}
}

func (m *model) setQueue(name events.QueueName, set share.Queue) {
	m.queues[name] = set
	depth := func(k knot) (depth int) {
		for q := k.queue; depth < 5 && (q != "" || depth == 0); depth++ {
			q = m.queues[q].Parent
		}
		return depth
	}
	var moving []knot
	for k, n := range m.nodes {
		want := knot{tier: k.tier}
		if q := m.parent(k.queue); q != "" {
			want = knot{isQueue, k.tier, q, ""}
		}
		if k.kind == isQueue && *n.parent != want {
			moving = append(moving, k)
		}
	}
	slices.SortFunc(moving, func(a, b knot) int {
		return cmp.Or(cmp.Compare(slices.Index(allTiers, a.tier), slices.Index(allTiers, b.tier)), cmp.Compare(depth(a), depth(b)), cmp.Compare(a.queue, b.queue))
	})
	for _, k := range moving {
		m.nodes[k].parent = nil
	}
	for _, k := range moving {
		n, above := m.nodes[k], knot{tier: k.tier}
		if q := m.parent(k.queue); q != "" {
			above = knot{isQueue, k.tier, q, ""}
		}
		*n = state{start: m.ensure(above).virtual, virtual: n.virtual}
		waits := m.waiting(k) > 0
		if waits {
			m.number++
			n.joined = m.number
		}
		for _, p := range m.path(above) {
			switch {
			case p.kind == isTier:
			case waits && m.waiting(p) == 0:
				m.join(p)
			case m.resting(p):
				m.awake(p)
			}
		}
		n.parent = &above
	}
	m.settle()
}

func (m *model) blocked(k knot) bool {
	if k.kind == isLeaf {
		limit := m.accounts[k.account].MaxRunning
		running := 0
		for l, n := range m.running {
			if l.Account == k.account {
				running += n
			}
		}
		return limit > 0 && running >= limit
	}
	running := 0
	for _, t := range allTiers {
		running += m.runs(knot{isQueue, t, k.queue, ""})
	}
	q := m.queues[k.queue]
	return q.Paused || q.MaxRunning > 0 && running >= q.MaxRunning
}

// able reports whether a node has a job of the classes that may start.
func (m *model) able(k knot, classes []share.Class) bool {
	if k.kind != isTier && m.blocked(k) {
		return false
	}
	if k.kind == isLeaf {
		for w, n := range m.jobs[share.Leaf{Tier: k.tier, Queue: k.queue, Account: k.account}] {
			if n > 0 && slices.Contains(classes, w.class) {
				return true
			}
		}
		return false
	}
	for child, n := range m.nodes {
		if n.parent != nil && *n.parent == k && m.able(child, classes) {
			return true
		}
	}
	return false
}

func (m *model) pick(expect func(share.Choice) int64, classes []share.Class) (share.Choice, bool) {
	var able []events.Tier
	for _, t := range allTiers {
		if m.able(knot{tier: t}, classes) {
			able = append(able, t)
		}
	}
	if len(able) == 0 {
		return share.Choice{}, false
	}
	choice := m.choose(able[0], classes)
	for _, t := range able[1:] {
		if c := m.choose(t, classes); m.owed[t] >= max(expect(c), 1)*1000 {
			choice = c
			break
		}
	}
	for _, t := range able {
		if t != choice.Leaf.Tier {
			choice.Waiting = append(choice.Waiting, t)
		}
	}
	return choice, true
}

func (m *model) choose(tier events.Tier, classes []share.Class) share.Choice {
	at := knot{tier: tier}
	for at.kind != isLeaf {
		var best *knot
		for k, n := range m.nodes {
			if n.parent == nil || *n.parent != at || !m.able(k, classes) {
				continue
			}
			if best == nil || cmp.Or(cmp.Compare(n.start, m.nodes[*best].start), cmp.Compare(n.last, m.nodes[*best].last),
				cmp.Compare(n.joined, m.nodes[*best].joined)) < 0 {
				best = &k
			}
		}
		at = *best
	}
	c := share.Choice{Leaf: share.Leaf{Tier: tier, Queue: at.queue, Account: at.account}}
	var best *wish
	for w, n := range m.jobs[c.Leaf] {
		if n > 0 && slices.Contains(classes, w.class) && (best == nil || compareWishes(w, *best) < 0) {
			best = &w
		}
	}
	c.Class, c.Item = best.class, best.item
	return c
}

func compareWishes(a, b wish) int {
	return cmp.Or(cmp.Compare(a.item.Level, b.item.Level), slices.Compare(a.item.Keys[:], b.item.Keys[:]), cmp.Compare(a.item.ID, b.item.ID),
		cmp.Compare(a.class, b.class))
}

func (m *model) before(a, b share.Leaf) int {
	key := func(l share.Leaf) (start, last, joined int64) {
		k := leafKnot(l)
		v := int64(0)
		if q := m.nodes[knot{isQueue, l.Tier, l.Queue, ""}]; q != nil {
			v = q.virtual
		}
		n := m.nodes[k]
		switch {
		case n == nil:
			return v, 0, 1 << 62
		case m.waiting(k) > 0:
			return n.start, n.last, n.joined
		case n.start <= v:
			return v, 0, 1 << 62
		case n.last == 0:
			return n.start, 0, 1 << 62
		}
		return n.start, n.last, 0
	}
	s1, l1, j1 := key(a)
	s2, l2, j2 := key(b)
	return cmp.Or(cmp.Compare(s1, s2), cmp.Compare(l1, l2), cmp.Compare(j1, j2), cmp.Compare(a.Account, b.Account))
}

// image returns the nodes that a tree keeps: those with work, and those that had more than their part.
func (m *model) image() (list []share.NodeImage) {
	for k, n := range m.nodes {
		if k.kind == isTier {
			continue
		}
		i := share.NodeImage{Tier: k.tier, Queue: k.queue, Leaf: k.kind == isLeaf, Account: k.account, Start: n.start, Rank: n.last, Virtual: n.virtual}
		if n.last == 0 {
			i.Rank = n.joined - 1<<62
		}
		if i.Leaf {
			l := share.Leaf{Tier: k.tier, Queue: k.queue, Account: k.account}
			i.Jobs, i.Held, i.Running = int32(m.jobsOf(l)), int32(m.held[l]), int32(m.running[l])
		}
		list = append(list, i)
	}
	bit := map[bool]int{true: 1}
	slices.SortFunc(list, func(a, b share.NodeImage) int {
		return cmp.Or(cmp.Compare(slices.Index(allTiers, a.Tier), slices.Index(allTiers, b.Tier)), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(bit[a.Leaf], bit[b.Leaf]), cmp.Compare(a.Account, b.Account))
	})
	return list
}

func (m *model) setPolicy(p share.Policy) {
	m.policy = p
	if p.FloorDefault == 0 {
		m.owed[events.TierDefault] = 0
	}
	if p.FloorIdle == 0 {
		m.owed[events.TierIdle] = 0
	}
}
