package readmodel

import (
	"context"
	"fmt"
	"slices"
	"time"

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
// website asks for that itself. The queue is as it looks at a time (see Seen).
func (r *Reader) Status(ctx context.Context, now time.Time) (Status, error) {
	var s Status
	err := r.snapshot(ctx, func(tx pgx.Tx) (err error) {
		// Queries that do not depend on each other are sent together: a busy Postgres makes each round trip slow.
		var cursors []Cursor
		var farm farm
		var front []queueFront
		var queue QueuePlaces
		var ended, others []named
		var b pgx.Batch
		// Each of its queries has the same plan for all values, so Postgres keeps the plans: making them took longer than reading.
		b.Queue("SET LOCAL plan_cache_mode = force_generic_plan")
		also(&b, &cursors, "cursor")
		also(&b, &front, "queue_front")
		also(&b, &queue.List, "queue", queueArgs(0, "", QueueShown))
		also(&b, &ended, "completed", completedShown)
		also(&b, &others, "others", OthersShown)
		farm.also(&b)
		also(&b, &s.Definitions, "definitions_current")
		also(&b, &s.Alerts, "alerts_standing")
		also(&b, &s.PastAlerts, "alerts_cleared", pastAlertsShown)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return fmt.Errorf("query the status: %w", err)
		}
		if len(cursors) == 0 {
			return ErrNotFound
		}
		queue.starts = front[0].Starts
		s.Cursor, s.Collectors, s.Queue, s.QueueTotal = cursors[0], farm.collectors(), queue.Seen(now), front[0].Total
		return s.shown(ctx, tx, inProgress(s.Queue), idsOf(others), idsOf(ended))
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

// shown reads the requests that a status shows: those in progress with their jobs, those of other queues, and those that ended
// with their errors.
func (s *Status) shown(ctx context.Context, tx pgx.Tx, running, others, ended []string) error {
	s.InProgress, s.OtherQueues, s.Completed = []RequestJobs{}, []Request{}, []EndedRequest{}
	ids := slices.Concat(running, others, ended)
	if len(ids) == 0 {
		return nil
	}
	var found []Request
	var list []Job
	var errs []JobError
	var b pgx.Batch
	also(&b, &found, "requests_of", pgx.NamedArgs{"ids": ids})
	if len(running) > 0 {
		also(&b, &list, "jobs_of_requests", running)
	}
	if len(ended) > 0 {
		also(&b, &errs, "errors_of_requests", ended)
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("query the requests of the status: %w", err)
	}
	requests := make(map[string]Request, len(found))
	for _, r := range found {
		requests[string(r.ID)] = r
	}
	jobs := map[events.RequestID][]Job{}
	for _, j := range list {
		jobs[j.RequestID] = append(jobs[j.RequestID], j)
	}
	said := map[events.RequestID][]JobError{}
	for _, e := range errs {
		said[e.RequestID] = append(said[e.RequestID], e)
	}
	for _, id := range running {
		r := requests[id]
		s.InProgress = append(s.InProgress, RequestJobs{Request: r, JobList: append([]Job{}, jobs[r.ID]...)})
	}
	for _, id := range others {
		s.OtherQueues = append(s.OtherQueues, requests[id])
	}
	for _, id := range ended {
		r := requests[id]
		s.Completed = append(s.Completed, EndedRequest{Request: r, ErrorList: append([]JobError{}, said[r.ID]...)})
	}
	return nil
}

// inProgress returns the requests in progress, which are at the head of the queue.
func inProgress(queue []QueueEntry) []string {
	var ids []string
	for _, e := range queue {
		if e.State != events.StateInProgress {
			break
		}
		ids = append(ids, string(e.RequestID))
	}
	return ids
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
