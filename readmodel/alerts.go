package readmodel

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// Alert is one row of alert: something that needs, or needed, a person.
type Alert struct {
	Key  events.AlertKey  `db:"key" json:"key"`
	Kind events.AlertKind `db:"kind" json:"kind"`
	// About is the collector, lane, request or source that the alert concerns; empty for the whole farm.
	About string `db:"about" json:"about"`
	// Message says what is wrong, Action what a person can do.
	Message string `db:"message" json:"message"`
	Action  string `db:"action" json:"action"`
	// RaisedAt is when the alert began to stand. RaisedSeq is 0 while the alert is not in the log yet.
	RaisedAt  time.Time  `db:"raised_at" json:"raised_at"`
	RaisedSeq events.Seq `db:"raised_seq" json:"raised_seq"`
	// ChangedAt is when the alert got its present words.
	ChangedAt  time.Time  `db:"changed_at" json:"changed_at"`
	ChangedSeq events.Seq `db:"changed_seq" json:"changed_seq"`
	// ClearedAt and ClearedSeq are nil while the alert stands; ClearedReason says why it is over.
	ClearedAt     *time.Time  `db:"cleared_at" json:"cleared_at"`
	ClearedSeq    *events.Seq `db:"cleared_seq" json:"cleared_seq"`
	ClearedReason string      `db:"cleared_reason" json:"cleared_reason"`
}

// Standing reports whether the alert still stands.
func (a Alert) Standing() bool { return a.ClearedAt == nil }

// Alerts returns the alerts that stand, oldest first, and then at most that many cleared ones, newest first. The table
// has only the newest alert of each key.
func (r *Reader) Alerts(ctx context.Context, cleared int) ([]Alert, error) {
	var list []Alert
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		standing, err := all[Alert](ctx, tx, "alerts_standing")
		if err != nil {
			return err
		}
		over, err := all[Alert](ctx, tx, "alerts_cleared", max(cleared, 0))
		list = append(standing, over...)
		return err
	})
	return list, err
}
