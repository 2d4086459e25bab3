package readmodel

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// Shares is how the machine time of the farm is shared now.
type Shares struct {
	// FloorDefault and FloorIdle are parts of the machine time in thousandths, LagMS is machine time in milliseconds.
	FloorDefault int   `json:"floor_default"`
	FloorIdle    int   `json:"floor_idle"`
	LagMS        int64 `json:"lag_ms"`
	// PolicySince is when these rules were set; nil if they are the usual ones.
	PolicySince *time.Time `json:"policy_since"`
	// ChargedSince is the beginning of yesterday in UTC: the charges of the nodes are those of jobs dispatched since then.
	ChargedSince time.Time `json:"charged_since"`
	// Tiers are the tiers that have work or were charged, the first one first.
	Tiers []ShareNode `json:"tiers"`
}

// NodeKind is the closed set of kinds of a node of the tree.
type NodeKind string

// The kinds of a node.
const (
	NodeTier    NodeKind = "tier"
	NodeQueue   NodeKind = "queue"
	NodeAccount NodeKind = "account"
)

// ShareNode is a tier, queue or account in the tree of shares. Its counts are those of all nodes below it.
type ShareNode struct {
	Kind NodeKind `json:"kind"`
	// Name is the name of the tier, queue or account. The main queue is main; everyone without an account has no name.
	Name string `json:"name"`
	// Weight is its part among its neighbours; 0 for a tier.
	Weight int `json:"weight"`
	// Due is its part in percent among its neighbours that have work now and are not paused; nil if it is none of them, and
	// for a tier.
	Due *float64 `json:"due"`
	// Had is its part in percent of what its neighbours were charged; nil if they were charged nothing.
	Had *float64 `json:"had"`
	// ChargedMS is the machine time of the jobs dispatched since Shares.ChargedSince, in milliseconds: for open places the
	// expected one, else what they took. TotalMS is that of all jobs ever.
	ChargedMS int64 `json:"charged_ms"`
	TotalMS   int64 `json:"total_ms"`
	// Requests counts the requests that have not ended, Waiting the jobs that are not dispatched, Running the open places.
	Requests int `json:"requests"`
	Waiting  int `json:"waiting"`
	Running  int `json:"running"`
	// OldestAt is since when the oldest of its jobs, or of its requests that could start, waits; nil if none waits.
	OldestAt *time.Time `json:"oldest_at"`
	// Paused says that a queue is paused.
	Paused bool `json:"paused,omitempty"`
	// May and Branches are the rights of an account and the patterns of its branches, if it has some of its own.
	May      []events.Right `json:"may,omitempty"`
	Branches []string       `json:"branches,omitempty"`
	// Nodes are the queues and accounts below it, by what is due and then by name.
	Nodes []ShareNode `json:"nodes,omitempty"`
}

// Works reports whether the node has something to do.
func (n ShareNode) Works() bool { return n.Requests+n.Waiting+n.Running > 0 }

// leaf is what an account has and had in a queue and a tier.
type leaf struct {
	Tier      events.Tier        `db:"tier"`
	Queue     events.QueueName   `db:"queue"`
	Account   events.AccountName `db:"account"`
	Requests  int                `db:"requests"`
	Waiting   int                `db:"waiting"`
	Running   int                `db:"running"`
	ChargedMS int64              `db:"charged_ms"`
	TotalMS   int64              `db:"total_ms"`
	Oldest    *time.Time         `db:"oldest"`
	// Weight is 0 if the account was never configured.
	Weight   int            `db:"weight"`
	May      []events.Right `db:"may"`
	Branches []string       `db:"branches"`
}

// Shares returns the tree of shares as it is now. It leaves out who has no work and was charged nothing lately.
func (r *Reader) Shares(ctx context.Context, now time.Time) (Shares, error) {
	since := now.UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour)
	var leaves []leaf
	var queues []NamedQueue
	var policies []SharePolicy
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		var b pgx.Batch
		also(&b, &leaves, "leaves", since.Format(time.DateOnly))
		also(&b, &queues, "named_queues", "", everything)
		also(&b, &policies, "share_policy")
		return tooLong("shares", tx.SendBatch(ctx, &b).Close())
	})
	usual := events.UsualPolicy()
	s := Shares{
		FloorDefault: usual.FloorDefault, FloorIdle: usual.FloorIdle, LagMS: usual.LagMS, ChargedSince: since,
		Tiers: newTree(leaves, queues).tiers(),
	}
	if len(policies) > 0 {
		p := policies[0]
		s.FloorDefault, s.FloorIdle, s.LagMS, s.PolicySince = p.FloorDefault, p.FloorIdle, p.LagMS, &p.SetAt
	}
	return s, err
}

// tree is what the nodes are made from.
type tree struct {
	leaves []leaf
	queues map[events.QueueName]NamedQueue
}

func newTree(leaves []leaf, queues []NamedQueue) tree {
	t := tree{leaves, make(map[events.QueueName]NamedQueue, len(queues))}
	for _, q := range queues {
		t.queues[stored(q.Name)] = q
	}
	return t
}

// stored returns the name of a queue as requests have it.
func stored(name events.QueueName) events.QueueName {
	if name == events.MainQueue {
		return ""
	}
	return name
}

// tiersInOrder are the tiers, the first one first.
var tiersInOrder = []events.Tier{events.TierVIP, events.TierDefault, events.TierIdle}

// tiers returns the tiers with all nodes below them.
func (t tree) tiers() []ShareNode {
	list := []ShareNode{}
	for _, tier := range tiersInOrder {
		s := spots{accounts: map[events.QueueName][]ShareNode{}, parts: map[events.QueueName][]events.QueueName{}}
		for _, l := range t.leaves {
			if l.Tier == tier {
				t.place(&s, l.Queue, 1)
				s.accounts[l.Queue] = append(s.accounts[l.Queue], l.node())
			}
		}
		if len(s.tops) > 0 {
			list = append(list, joined(ShareNode{Kind: NodeTier, Name: string(tier)}, t.nodes(s, s.tops)))
		}
	}
	shareAmong(list)
	for i := range list {
		list[i].Due = nil // a tier comes before the next one, whatever it had
	}
	return list
}

// spots says where the queues of a tier stand.
type spots struct {
	// tops are the queues without a parent, parts the queues below a queue.
	tops  []events.QueueName
	parts map[events.QueueName][]events.QueueName
	// accounts are the accounts in each queue that has a spot.
	accounts map[events.QueueName][]ShareNode
}

// maxDepth bounds how deep queues are nested.
const maxDepth = 4

// place gives a queue a spot below its parent, and first its parent one.
func (t tree) place(s *spots, name events.QueueName, depth int) {
	if _, placed := s.accounts[name]; placed {
		return
	}
	s.accounts[name] = nil
	parent := t.queues[name].Parent
	if parent == "" || depth == maxDepth {
		s.tops = append(s.tops, name)
		return
	}
	t.place(s, parent, depth+1)
	s.parts[parent] = append(s.parts[parent], name)
}

// nodes returns queues with all nodes below them.
func (t tree) nodes(s spots, names []events.QueueName) []ShareNode {
	var list []ShareNode
	for _, name := range names {
		below := append(t.nodes(s, s.parts[name]), s.accounts[name]...)
		list = append(list, joined(t.queue(name, below), below))
	}
	return list
}

// queue returns the node of a queue. An account's own queue has the weight of the account.
func (t tree) queue(name events.QueueName, below []ShareNode) ShareNode {
	n := ShareNode{Kind: NodeQueue, Name: cmp.Or(string(name), string(events.MainQueue)), Weight: events.UsualWeight}
	if q, configured := t.queues[name]; configured {
		n.Weight, n.Paused = q.Weight, q.Paused
		return n
	}
	for _, b := range below {
		if b.Kind == NodeAccount && b.Name == string(name) && name != "" {
			n.Weight = b.Weight
		}
	}
	return n
}

func (l leaf) node() ShareNode {
	return ShareNode{
		Kind: NodeAccount, Name: string(l.Account), Weight: cmp.Or(l.Weight, events.UsualWeight), ChargedMS: l.ChargedMS, TotalMS: l.TotalMS,
		Requests: l.Requests, Waiting: l.Waiting, Running: l.Running, OldestAt: l.Oldest, May: l.May, Branches: l.Branches,
	}
}

// joined returns the node with what is below it.
func joined(n ShareNode, below []ShareNode) ShareNode {
	shareAmong(below)
	for _, b := range below {
		n.ChargedMS, n.TotalMS = n.ChargedMS+b.ChargedMS, n.TotalMS+b.TotalMS
		n.Requests, n.Waiting, n.Running = n.Requests+b.Requests, n.Waiting+b.Waiting, n.Running+b.Running
		if b.OldestAt != nil && (n.OldestAt == nil || b.OldestAt.Before(*n.OldestAt)) {
			n.OldestAt = b.OldestAt
		}
	}
	slices.SortStableFunc(below, func(a, b ShareNode) int {
		return cmp.Or(cmp.Compare(due(b), due(a)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	n.Nodes = below
	return n
}

func due(n ShareNode) float64 {
	if n.Due == nil {
		return 0
	}
	return *n.Due
}

// shareAmong fills in what is due to neighbours, and what they had.
func shareAmong(list []ShareNode) {
	weights, charged := 0, int64(0)
	for _, n := range list {
		charged += n.ChargedMS
		if n.Works() && !n.Paused {
			weights += n.Weight
		}
	}
	for i := range list {
		n := &list[i]
		if n.Works() && !n.Paused && weights > 0 {
			n.Due = percent(float64(n.Weight) / float64(weights))
		}
		if charged > 0 {
			n.Had = percent(float64(n.ChargedMS) / float64(charged))
		}
	}
}

// percent returns a part in percent, with one decimal.
func percent(part float64) *float64 {
	p := float64(int(part*1000+0.5)) / 10
	return &p
}
