package readmodel

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

const (
	// QueueShown is how many places of the queue a status has; QueuePage, how many one page of the queue has at most.
	QueueShown = 200
	QueuePage  = 1000
)

// QueuePlaces is a part of the queue.
type QueuePlaces struct {
	// List has the places as they were at the last event that changed them.
	List []QueueEntry
	// Total is how many places the queue has.
	Total int
	// starts is when the first request that waits was to start; nil if that is unknown.
	starts *time.Time
}

// Seen returns the places as they look at a later time (see Seen).
func (q QueuePlaces) Seen(now time.Time) []QueueEntry {
	if q.starts == nil {
		return seen(q.List, now, 0)
	}
	return seen(q.List, now, max(now.Sub(*q.starts), 0))
}

// queueFront is what is read about the whole queue.
type queueFront struct {
	Total  int        `db:"total"`
	Starts *time.Time `db:"starts"`
}

func queueArgs(after int, request events.RequestID, most int) pgx.NamedArgs {
	return pgx.NamedArgs{"after": after, "request": request, "limit": most}
}

// Queue returns the pending requests in the order in which they will be benchmarked. The estimates are from the
// last event that changed them; see Seen.
func (r *Reader) Queue(ctx context.Context) ([]QueueEntry, error) {
	return all[QueueEntry](ctx, r.pool, "queue", queueArgs(0, "", math.MaxInt32))
}

// QueueAfter returns the places of the queue behind a position, at most so many.
func (r *Reader) QueueAfter(ctx context.Context, position, most int) (QueuePlaces, error) {
	return r.places(ctx, queueArgs(position, "", most))
}

// PlaceOf returns the place of one request in the queue; none if it is not there.
func (r *Reader) PlaceOf(ctx context.Context, id events.RequestID) (QueuePlaces, error) {
	return r.places(ctx, queueArgs(0, id, 1))
}

func (r *Reader) places(ctx context.Context, args pgx.NamedArgs) (QueuePlaces, error) {
	var q QueuePlaces
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		var front []queueFront
		var b pgx.Batch
		also(&b, &front, "queue_front")
		also(&b, &q.List, "queue", args)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return fmt.Errorf("query the queue: %w", err)
		}
		q.Total, q.starts = front[0].Total, front[0].Starts
		return nil
	})
	return q, err
}
