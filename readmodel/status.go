package readmodel

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

const (
	// completedShown is how many ended requests a status shows, pastAlertsShown how many alerts that are over.
	completedShown  = 10
	pastAlertsShown = 5
)

// Status returns everything that a status page shows, all of it seen at one moment. What heartbeats tell is
// not in it: whoever shows them asks for them.
func (r *Reader) Status(ctx context.Context) (Status, error) {
	var s Status
	err := r.snapshot(ctx, func(tx pgx.Tx) (err error) {
		if s.Cursor, err = one[Cursor](ctx, tx, "cursor"); err != nil {
			return err
		}
		if s.Queue, err = all[QueueEntry](ctx, tx, "queue"); err != nil {
			return err
		}
		if s.InProgress, err = inProgress(ctx, tx, s.Queue); err != nil {
			return err
		}
		if s.Completed, err = completed(ctx, tx); err != nil {
			return err
		}
		if s.Collectors, err = collectors(ctx, tx); err != nil {
			return err
		}
		if s.Definitions, err = definitions(ctx, tx, true); err != nil {
			return err
		}
		if s.Alerts, err = all[Alert](ctx, tx, "alerts_standing"); err != nil {
			return err
		}
		s.PastAlerts, err = all[Alert](ctx, tx, "alerts_cleared", pastAlertsShown)
		return err
	})
	return s, err
}

// inProgress returns the requests in progress, which stand at the head of the queue.
func inProgress(ctx context.Context, tx pgx.Tx, queue []QueueEntry) ([]RequestJobs, error) {
	list := []RequestJobs{}
	for _, e := range queue {
		if e.State != events.InProgress {
			break
		}
		found, err := requests(ctx, tx, RequestFilter{ID: e.RequestID})
		if err != nil {
			return nil, err
		}
		jobs, err := jobs(ctx, tx, JobFilter{Request: e.RequestID, Limit: everything})
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			list = append(list, RequestJobs{Request: r, JobList: jobs})
		}
	}
	return list, nil
}

// completed returns the last requests that ended after they had started, newest first.
func completed(ctx context.Context, tx pgx.Tx) ([]EndedRequest, error) {
	ids, err := all[struct {
		ID events.RequestID `db:"request_id"`
	}](ctx, tx, "completed", completedShown)
	if err != nil {
		return nil, err
	}
	list := make([]EndedRequest, 0, len(ids))
	for _, id := range ids {
		found, err := requests(ctx, tx, RequestFilter{ID: id.ID})
		if err != nil {
			return nil, err
		}
		errs, err := all[JobError](ctx, tx, "errors", pgx.NamedArgs{"job": "", "request": id.ID})
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			list = append(list, EndedRequest{Request: r, ErrorList: errs})
		}
	}
	return list, nil
}
