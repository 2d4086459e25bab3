package share

import (
	"cmp"

	"github.com/tachobench/tacho/events"
)

// Class is a kind of need that some lanes serve. The caller numbers the classes.
type Class int32

// Leaf is where jobs wait: an account, in a queue, in a tier.
type Leaf struct {
	Tier    events.Tier
	Queue   events.QueueName
	Account events.AccountName
}

// Item is a group of jobs of one request that wait in one leaf for one class. Items are ordered by their level, then
// by their keys, then by the id; the smallest comes first.
type Item struct {
	Level int8
	Keys  [3]int64
	ID    events.RequestID
}

func (i Item) compare(j Item) int {
	return cmp.Or(cmp.Compare(i.Level, j.Level), cmp.Compare(i.Keys[0], j.Keys[0]), cmp.Compare(i.Keys[1], j.Keys[1]),
		cmp.Compare(i.Keys[2], j.Keys[2]), cmp.Compare(i.ID, j.ID))
}

// MaxDepth is how deep queues nest.
const MaxDepth = 4

// Policy says how the farm is shared.
type Policy struct {
	// FloorDefault and FloorIdle are the parts of the machine time, in thousandths, that the tiers have at least while
	// more urgent ones have work; 0 means none.
	FloorDefault, FloorIdle int
	// LagMS is how much machine time a queue or an account may catch up that could not use its part, in milliseconds.
	LagMS int64
}

// DefaultPolicy returns the policy of a tree of which none is set.
func DefaultPolicy() Policy {
	p := events.UsualPolicy()
	return Policy{FloorDefault: p.FloorDefault, FloorIdle: p.FloorIdle, LagMS: p.LagMS}
}

// Queue is what is set of a queue. The zero Queue is that of a queue of which nothing is set.
type Queue struct {
	// Parent is the queue that it is a part of; empty for none. A parent that makes a cycle, or a queue deeper than
	// MaxDepth, counts as none.
	Parent events.QueueName `json:"parent,omitempty"`
	// Weight is its part among its neighbours. 0 means that of the account with the same name.
	Weight int `json:"weight,omitempty"`
	// MaxRunning bounds the jobs that run at once, in it and in its parts, over all tiers; 0 means no limit.
	MaxRunning int `json:"max_running,omitempty"`
	// Paused says that none of its jobs starts.
	Paused bool `json:"paused,omitempty"`
}

// Account is what is set of an account. The zero Account is that of an account of which nothing is set.
type Account struct {
	// Weight is its part among its neighbours; 0 means events.UsualWeight.
	Weight int `json:"weight,omitempty"`
	// MaxRunning bounds its jobs that run at once, over all queues and tiers; 0 means no limit.
	MaxRunning int `json:"max_running,omitempty"`
}

// Choice is the job that comes next.
type Choice struct {
	Leaf  Leaf
	Class Class
	Item  Item
	// Waiting are the other tiers that have a job of these classes. Serve wants them.
	Waiting []events.Tier
	// Why says in words why it is this job's turn.
	Why string
}

// The tiers by number.
const (
	vip = iota
	normal
	idle
	tiers
)

// tierNames are the tiers in their order.
var tierNames = [tiers]events.Tier{events.TierVIP, events.TierDefault, events.TierIdle}

// tierOf returns the number of a tier. An unknown one counts as default.
func tierOf(t events.Tier) int {
	switch t {
	case events.TierVIP:
		return vip
	case events.TierIdle:
		return idle
	case events.TierDefault:
	}
	return normal
}
