package readmodel

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Account is one row of account: who may ask, and what it may have.
type Account struct {
	Name events.AccountName `db:"name" json:"name"`
	// Weight is its part among its neighbours.
	Weight int `db:"weight" json:"weight"`
	// MaxPriority is the most urgent priority that it may give its requests.
	MaxPriority events.Priority `db:"max_priority" json:"max_priority"`
	// MaxRunning bounds its open places, MaxQueued its waiting jobs, MaxPending its requests that have not ended; 0 means no
	// limit. MaxVIP bounds its requests in the vip tier that are in progress.
	MaxRunning int `db:"max_running" json:"max_running"`
	MaxQueued  int `db:"max_queued" json:"max_queued"`
	MaxPending int `db:"max_pending" json:"max_pending"`
	MaxVIP     int `db:"max_vip" json:"max_vip"`
	// May has its rights; empty for the usual ones. Branches are patterns of the branches that it may ask for; empty for all.
	May      []events.Right `db:"may" json:"may,omitempty"`
	Branches []string       `db:"branches" json:"branches,omitempty"`
	// TokenDigest is the SHA-256 of its token, empty if it has none. No answer shows it.
	TokenDigest events.Digest `db:"token_digest" json:"-"`
	// TokenSince is when it got its present token; nil if it has none.
	TokenSince *time.Time `db:"token_since" json:"token_since"`
	// ClosedAt is nil unless the account was closed.
	ClosedAt     *time.Time `db:"closed_at" json:"closed_at"`
	ClosedReason string     `db:"closed_reason" json:"closed_reason"`
	// CreatedAt is the time of the first event about it, ChangedAt and ChangedSeq are those of the newest.
	CreatedAt  time.Time  `db:"created_at" json:"created_at"`
	ChangedAt  time.Time  `db:"changed_at" json:"changed_at"`
	ChangedSeq events.Seq `db:"changed_seq" json:"changed_seq"`
}

// NamedQueue is one row of named_queue: a queue that was configured.
type NamedQueue struct {
	Name events.QueueName `db:"name" json:"name"`
	// Parent is the queue that it is a part of; empty for none.
	Parent events.QueueName `db:"parent" json:"parent"`
	// Weight is its part among its neighbours.
	Weight int               `db:"weight" json:"weight"`
	Order  events.QueueOrder `db:"queue_order" json:"order"`
	// InProgress bounds its requests in progress at once in each tier; 0 means no limit.
	InProgress int `db:"in_progress" json:"in_progress"`
	// The limits are those of an account.
	MaxRunning int `db:"max_running" json:"max_running"`
	MaxQueued  int `db:"max_queued" json:"max_queued"`
	MaxPending int `db:"max_pending" json:"max_pending"`
	// Members may use it; empty means everyone.
	Members []events.AccountName `db:"members" json:"members"`
	// Requires are terms that the machines of its matched jobs must meet.
	Requires []string `db:"requires" json:"requires,omitempty"`
	// Paused says that none of its jobs starts.
	Paused bool `db:"paused" json:"paused"`
	// ClosedAt is nil unless the queue was closed.
	ClosedAt     *time.Time `db:"closed_at" json:"closed_at"`
	ClosedReason string     `db:"closed_reason" json:"closed_reason"`
	// CreatedAt is the time of the first event about it, ChangedAt and ChangedSeq are those of the newest.
	CreatedAt  time.Time  `db:"created_at" json:"created_at"`
	ChangedAt  time.Time  `db:"changed_at" json:"changed_at"`
	ChangedSeq events.Seq `db:"changed_seq" json:"changed_seq"`
}

// SharePolicy is the row of share_policy: the rules by which the farm is shared.
type SharePolicy struct {
	// One is always true: it is the key, so there is at most one row.
	One bool `db:"one" json:"-"`
	// FloorDefault and FloorIdle are parts of the machine time in thousandths.
	FloorDefault int `db:"floor_default" json:"floor_default"`
	FloorIdle    int `db:"floor_idle" json:"floor_idle"`
	// LagMS is how much machine time may be caught up, in milliseconds.
	LagMS int64      `db:"lag_ms" json:"lag_ms"`
	SetAt time.Time  `db:"set_at" json:"set_at"`
	Seq   events.Seq `db:"seq" json:"seq"`
}

// ShareRow is one row of share: what an account had in a queue and a tier.
type ShareRow struct {
	Tier    events.Tier        `db:"tier" json:"tier"`
	Queue   events.QueueName   `db:"queue" json:"queue"`
	Account events.AccountName `db:"account" json:"account"`
	// Running counts the open places, Dispatched all dispatches.
	Running    int `db:"running" json:"running"`
	Dispatched int `db:"dispatched" json:"dispatched"`
	// ChargedMS is machine time in milliseconds: for open places the expected one, else what they took.
	ChargedMS int64 `db:"charged_ms" json:"charged_ms"`
}

// UsageRow is one row of usage: what an account had in a queue and a tier on one day.
type UsageRow struct {
	// Day is the day of the dispatches in UTC, such as 2026-11-22.
	Day     string             `db:"day" json:"day"`
	Tier    events.Tier        `db:"tier" json:"tier"`
	Queue   events.QueueName   `db:"queue" json:"queue"`
	Account events.AccountName `db:"account" json:"account"`
	// Jobs counts the dispatched jobs without those that never began.
	Jobs int `db:"jobs" json:"jobs"`
	// ChargedMS is that of a ShareRow.
	ChargedMS int64 `db:"charged_ms" json:"charged_ms"`
}

// JobShare says to whom a dispatched job is charged.
type JobShare struct {
	Tier    events.Tier        `json:"tier"`
	Queue   events.QueueName   `json:"queue"`
	Account events.AccountName `json:"account"`
	// ExpectMS is how long the job was expected to take, TookMS what its lost and released attempts are charged together,
	// and ChargedMS what is charged now; all in milliseconds.
	ExpectMS  int64 `json:"expect_ms"`
	TookMS    int64 `json:"took_ms"`
	ChargedMS int64 `json:"charged_ms"`
	// Part is how much of the machine the job takes, in 1/1024; 0 for all of it. Charges are times with this part.
	Part int `json:"part,omitempty"`
	// BegunAt is when the log stored the beginning of its newest attempt; nil before the first.
	BegunAt *time.Time `json:"begun_at"`
	// Day is the day of usage that it is charged to.
	Day string `json:"day"`
	// Why says in words why it was the job's turn.
	Why string `json:"why"`
}
