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
	// About is the collector, lane, request or source that it concerns; empty for the whole farm.
	About string `db:"about" json:"about"`
	// Message says what is wrong, Action what a person can do.
	Message string `db:"message" json:"message"`
	Action  string `db:"action" json:"action"`
	// RaisedAt is when it began to stand. RaisedSeq is 0 when the log could not be told yet.
	RaisedAt  time.Time  `db:"raised_at" json:"raised_at"`
	RaisedSeq events.Seq `db:"raised_seq" json:"raised_seq"`
	// ChangedAt is when it got the words that it has.
	ChangedAt  time.Time  `db:"changed_at" json:"changed_at"`
	ChangedSeq events.Seq `db:"changed_seq" json:"changed_seq"`
	// ClearedAt and ClearedSeq are nil while it stands; ClearedReason says why it is over.
	ClearedAt     *time.Time  `db:"cleared_at" json:"cleared_at"`
	ClearedSeq    *events.Seq `db:"cleared_seq" json:"cleared_seq"`
	ClearedReason string      `db:"cleared_reason" json:"cleared_reason"`
}

// Standing reports whether the alert is not over.
func (a Alert) Standing() bool { return a.ClearedAt == nil }

// Alerts returns the alerts that stand, oldest first, and then the newest of those that are over, at most so
// many. Of each key only the newest time is known here.
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
