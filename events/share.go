package events

import (
	"fmt"
	"slices"
	"strings"
)

// The words and facts of a farm that many people share: who asks, in which queue, how urgently.

// AccountName names who asks and is charged: a person, or the robot of a project. The empty name stands for everyone
// who has no account.
type AccountName string

// QueueName names a share of the farm: an account's own queue, which has its name, or a configured one. The empty name
// is the main queue.
type QueueName string

// MainQueue is how people write the main queue.
const MainQueue QueueName = "main"

// CheckAccount reports whether s may name an account. main, vip and idle have a meaning of their own.
func CheckAccount(s AccountName) error { return checkShare("account", string(s)) }

// CheckQueue reports whether s may name a queue besides the main one. vip and idle are priorities.
func CheckQueue(s QueueName) error { return checkShare("queue", string(s)) }

func checkShare(what, s string) error {
	switch s {
	case string(MainQueue), string(PriorityVIP), string(PriorityIdle):
		return fmt.Errorf("%s %q: this name has a meaning of its own; choose another one", what, s)
	}
	return CheckToken(what, s)
}

// Priority says how urgent a request is. The empty priority is normal.
type Priority string

// The priorities. vip comes before all others and idle after them. high, normal and low order the work of one account
// in one queue.
const (
	PriorityVIP    Priority = "vip"
	PriorityHigh   Priority = "high"
	PriorityNormal Priority = "normal"
	PriorityLow    Priority = "low"
	PriorityIdle   Priority = "idle"
)

// Priorities are all priorities, the most urgent first.
var Priorities = []Priority{PriorityVIP, PriorityHigh, PriorityNormal, PriorityLow, PriorityIdle}

// ParsePriority returns the priority that s names; empty for normal, so that equal priorities are stored equally.
func ParsePriority(s string) (Priority, error) {
	p := Priority(s)
	switch {
	case s == "" || p == PriorityNormal:
		return "", nil
	case !slices.Contains(Priorities, p):
		names := make([]string, len(Priorities))
		for i, p := range Priorities {
			names[i] = string(p)
		}
		return "", fmt.Errorf("unknown priority %q: use one of %s", s, strings.Join(names, ", "))
	}
	return p, nil
}

// Level counts the priorities that are more urgent: 0 for vip, 4 for idle.
func (p Priority) Level() int {
	if i := slices.Index(Priorities, p); i >= 0 {
		return i
	}
	return 2
}

// String returns the priority by name.
func (p Priority) String() string { return string(Priorities[p.Level()]) }

// Tier returns the tier of the priority.
func (p Priority) Tier() Tier {
	switch p {
	case PriorityVIP:
		return TierVIP
	case PriorityIdle:
		return TierIdle
	case PriorityHigh, PriorityNormal, PriorityLow:
	}
	return TierDefault
}

// Tier is a part of the farm's work that comes before the next one, except for the floor of each.
type Tier string

// The tiers, the first one first.
const (
	TierVIP     Tier = "vip"
	TierDefault Tier = "default"
	TierIdle    Tier = "idle"
)

// UsualWeight is the weight of an account or a queue of which none was set.
const UsualWeight = 10

// UsualAccount returns the settings of an account that was never configured.
func UsualAccount(name AccountName) AccountConfigured {
	return AccountConfigured{Account: name, Weight: UsualWeight, MaxPriority: PriorityHigh, MaxVIP: 3}
}

// UsualPolicy returns the rules by which the farm is shared while none were set.
func UsualPolicy() SharePolicySet {
	return SharePolicySet{FloorDefault: 100, FloorIdle: 5, LagMS: 3_600_000}
}

// Limits bound what an account or a queue may have at once; 0 means no limit.
type Limits struct {
	// MaxRunning bounds the places open at once, MaxQueued the jobs that wait, MaxPending the requests that have not
	// ended.
	MaxRunning int `json:"max_running,omitempty"`
	MaxQueued  int `json:"max_queued,omitempty"`
	MaxPending int `json:"max_pending,omitempty"`
}

// ---- account.<name> ----

// AccountConfigured: an account has these settings from here on. Each event has all of them.
type AccountConfigured struct {
	Account AccountName `json:"account"`
	// Weight is its part among its neighbours, 1 to 1000.
	Weight int `json:"weight"`
	// MaxPriority is the most urgent priority that it may give its requests.
	MaxPriority Priority `json:"max_priority"`
	Limits
	// MaxVIP bounds its requests in the vip tier that are in progress at once.
	MaxVIP int `json:"max_vip"`
	// May has the rights of the account; empty for the usual ones. Branches are patterns of the branches that it may ask for;
	// empty for all.
	May      []Right  `json:"may,omitempty"`
	Branches []string `json:"branches,omitempty"`
}

// limited reports whether the account has rights of its own. Programs that do not know rights would give it the usual ones.
func (f AccountConfigured) limited() bool { return len(f.May)+len(f.Branches) > 0 }

// Right is the closed set of what an account may do.
type Right string

// The rights.
const (
	// RightNone stands alone: the account may do nothing.
	RightNone Right = "none"
	// RightRequest is to ask for requests, and to change their artifact.
	RightRequest Right = "request"
	// RightRerun is to run jobs again that did not succeed: rerun and repair, and to add jobs that were switched off.
	RightRerun Right = "rerun"
	// RightRetrigger is to measure more samples: retrigger and noise.
	RightRetrigger  Right = "retrigger"
	RightCancel     Right = "cancel"
	RightPrioritise Right = "prioritise"
	// RightForce is to let jobs run although their needs are not met, and to run jobs again that succeeded.
	RightForce Right = "force"
	// RightCustomise is to submit graphs, and to change what clones measure.
	RightCustomise Right = "customise"
	// RightPromote is to move a branch to other definitions, RightPublish to publish definitions.
	RightPromote Right = "promote"
	RightPublish Right = "publish"
)

// Rights are all rights, in the order in which they are stored and shown. RightNone is the lack of them.
var Rights = []Right{
	RightRequest, RightRerun, RightRetrigger, RightCancel, RightPrioritise, RightForce, RightCustomise, RightPromote, RightPublish,
}

// UsualRights are those of an account whose settings name none.
var UsualRights = []Right{RightRequest, RightRerun, RightRetrigger, RightCancel, RightPrioritise, RightForce}

// HeldRights returns the rights of an account from the list in its settings. It must not be changed.
func HeldRights(may []Right) []Right {
	switch {
	case len(may) == 0:
		return UsualRights
	case slices.Contains(may, RightNone):
		return nil
	}
	return may
}

// AccountTokenIssued: the account has a token with this digest. It replaces the one before.
type AccountTokenIssued struct {
	Account AccountName `json:"account"`
	// Digest is the SHA-256 of the token.
	Digest Digest `json:"digest"`
}

// AccountTokenRevoked: the account has no token any more.
type AccountTokenRevoked struct {
	Account AccountName `json:"account"`
}

// AccountClosed: the account asks for nothing any more. Its token ends. Its requests go on.
type AccountClosed struct {
	Account AccountName `json:"account"`
	Reason  string      `json:"reason,omitempty"`
}

// ---- queue.<name> ----

// QueueOrder is the closed set of orders of the requests of one account in a queue.
type QueueOrder string

// The orders of a queue.
const (
	// OrderLevels is the order of the main queue: parents first, then by age.
	OrderLevels QueueOrder = "levels"
	// OrderFIFO is the order of creation.
	OrderFIFO QueueOrder = "fifo"
)

// QueueConfigured: a queue has these settings from here on. Each event has all of them.
type QueueConfigured struct {
	Queue QueueName `json:"queue"`
	// Parent is the queue that it is a part of; empty for none.
	Parent QueueName `json:"parent,omitempty"`
	// Weight is its part among its neighbours, 1 to 1000.
	Weight int        `json:"weight"`
	Order  QueueOrder `json:"order"`
	// InProgress bounds its requests in progress at once in each tier; 0 means no limit.
	InProgress int `json:"in_progress,omitempty"`
	Limits
	// Members may use it; empty means everyone.
	Members []AccountName `json:"members,omitempty"`
	// Requires are terms that the machine of each matched job of the queue must meet.
	Requires []string `json:"requires,omitempty"`
	// Paused says that none of its jobs starts.
	Paused bool `json:"paused,omitempty"`
}

// QueueClosed: the queue takes no requests any more.
type QueueClosed struct {
	Queue  QueueName `json:"queue"`
	Reason string    `json:"reason,omitempty"`
}

// ---- share ----

// SharePolicySet: the farm is shared by these rules from here on.
type SharePolicySet struct {
	// FloorDefault and FloorIdle are the parts of the machine time, in thousandths, that the tiers have at least while
	// more urgent ones have work; 0 means none.
	FloorDefault int `json:"floor_default"`
	FloorIdle    int `json:"floor_idle"`
	// LagMS is how much machine time an account or queue may catch up that could not use its part.
	LagMS int64 `json:"lag_ms"`
}

// ---- request.<id> ----

// PriorityChanged: the request, or one of its graphs of samples, has another priority from here on.
type PriorityChanged struct {
	RequestID RequestID `json:"request_id"`
	// Graph is the number of the graph; nil for the request. Samples are never more urgent than their request.
	Graph *int `json:"graph,omitempty"`
	// To is spelt out for a graph. For a request it is empty for normal.
	To     Priority `json:"to"`
	Reason string   `json:"reason,omitempty"`
}

// ofGraph reports whether the priority is that of a graph. Programs that do not know this would change that of the request.
func (f PriorityChanged) ofGraph() bool { return f.Graph != nil }
