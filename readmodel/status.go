package readmodel

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

const (
	// completedShown is how many ended requests a status shows; OthersShown, how many of other queues than the main one;
	// pastAlertsShown, how many cleared alerts.
	completedShown  = 10
	OthersShown     = 200
	pastAlertsShown = 5
)

// Status returns everything that a status page shows, read in one snapshot. It does not have what heartbeats tell: the
// website asks for that itself.
func (r *Reader) Status(ctx context.Context) (Status, error) {
	var s Status
	err := r.snapshot(ctx, func(tx pgx.Tx) (err error) {
		// Queries that do not depend on each other are sent together: a busy Postgres makes each round trip slow.
		var cursors []Cursor
		var farm farm
		var ended, others []named
		var b pgx.Batch
		also(&b, &cursors, "cursor")
		also(&b, &s.Queue, "queue")
		also(&b, &ended, "completed", completedShown)
		also(&b, &others, "others", OthersShown)
		farm.also(&b)
		also(&b, &s.Definitions, "definitions", true)
		also(&b, &s.Alerts, "alerts_standing")
		also(&b, &s.PastAlerts, "alerts_cleared", pastAlertsShown)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return fmt.Errorf("query the status: %w", err)
		}
		if len(cursors) == 0 {
			return ErrNotFound
		}
		s.Cursor, s.Collectors = cursors[0], farm.collectors()
		if s.InProgress, err = inProgress(ctx, tx, s.Queue); err != nil {
			return err
		}
		if s.OtherQueues, err = requestsIn(ctx, tx, idsOf(others)); err != nil {
			return err
		}
		s.Completed, err = completed(ctx, tx, idsOf(ended))
		return err
	})
	return s, err
}

// also adds the named query to a batch. Its rows are in list once the batch was sent.
func also[T any](b *pgx.Batch, list *[]T, name string, args ...any) {
	b.Queue(query(name), args...).Query(func(rows pgx.Rows) (err error) {
		*list, err = collect[T](rows, name)
		return err
	})
}

// inProgress returns the requests in progress, which are at the head of the queue.
func inProgress(ctx context.Context, tx pgx.Tx, queue []QueueEntry) ([]RequestJobs, error) {
	list := []RequestJobs{}
	for _, e := range queue {
		if e.State != events.StateInProgress {
			break
		}
		found, err := requests(ctx, tx, RequestFilter{ID: e.RequestID})
		if err != nil {
			return nil, err
		}
		jobs, err := jobs(ctx, tx, JobFilter{Request: e.RequestID, Base: true, Limit: everything})
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			list = append(list, RequestJobs{Request: r, JobList: jobs})
		}
	}
	return list, nil
}

// named is the id of a request.
type named struct {
	ID string `db:"request_id"`
}

func idsOf(list []named) []string {
	ids := make([]string, len(list))
	for i, n := range list {
		ids[i] = n.ID
	}
	return ids
}

// completed returns the requests of these ids with their errors, in the order of the ids.
func completed(ctx context.Context, tx pgx.Tx, ids []string) ([]EndedRequest, error) {
	if len(ids) == 0 {
		return []EndedRequest{}, nil
	}
	found, err := requestsIn(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	errs, err := all[JobError](ctx, tx, "errors_of_requests", ids)
	if err != nil {
		return nil, err
	}
	list := make([]EndedRequest, len(found))
	for i, r := range found {
		list[i] = EndedRequest{Request: r, ErrorList: []JobError{}}
		for _, e := range errs {
			if e.RequestID == r.ID {
				list[i].ErrorList = append(list[i].ErrorList, e)
			}
		}
	}
	return list, nil
}
