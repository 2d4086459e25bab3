package readmodel

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// RequestFilter selects requests; a zero field selects all.
type RequestFilter struct {
	ID    events.RequestID
	Suite events.SuiteName
	Tag   events.Tag
	State events.RequestState
	Kind  events.RequestKind
	PR    int
	// Account selects the requests of one account, Queue those of one queue (events.MainQueue for the main one), and
	// Priority those of one priority, by name.
	Account  events.AccountName
	Queue    events.QueueName
	Priority events.Priority
	// Together selects the requests of a set.
	Together string
	// Before selects requests created before the event of this sequence. Use it to page backwards.
	Before events.Seq
	// Limit bounds the list; 0 means 100.
	Limit int
}

const defaultLimit = 100

func limit(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return n
}

// Requests returns the requests that the filter selects, newest first.
func (r *Reader) Requests(ctx context.Context, f RequestFilter) ([]Request, error) {
	return requests(ctx, r.pool, f)
}

func requests(ctx context.Context, q querier, f RequestFilter) ([]Request, error) {
	return all[Request](ctx, q, "requests", f.args())
}

// args returns the arguments of the query for requests.
func (f RequestFilter) args() pgx.NamedArgs {
	return pgx.NamedArgs{
		"id": f.ID, "suite": f.Suite, "tag": f.Tag, "state": f.State, "kind": f.Kind, "pr": f.PR,
		"account": f.Account, "queue": f.Queue, "priority": f.Priority, "together": f.Together, "before": f.Before, "limit": limit(f.Limit),
	}
}

// Request returns one request with its jobs, but for samples, or ErrNotFound.
func (r *Reader) Request(ctx context.Context, id events.RequestID) (RequestJobs, error) {
	var found RequestJobs
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		list, err := requests(ctx, tx, RequestFilter{ID: id})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("request %s: %w", id, ErrNotFound)
		}
		jobs, err := jobs(ctx, tx, JobFilter{Request: id, Base: true, Limit: everything})
		found = RequestJobs{Request: list[0], JobList: jobs}
		if err != nil {
			return err
		}
		found.Why, err = whyRequest(ctx, tx, list[0])
		return err
	})
	return found, err
}
