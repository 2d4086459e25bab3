package readmodel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
)

// TokenHolder returns the account that has the token with this digest. It returns "" if none has it; a closed account has
// no token.
func (r *Reader) TokenHolder(ctx context.Context, digest events.Digest) (events.AccountName, error) {
	names, err := values[events.AccountName](ctx, r.pool, "token_holder", digest)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// PendingOf counts the requests of an account that have not ended.
func (r *Reader) PendingOf(ctx context.Context, name events.AccountName) (int, error) {
	return r.pending(ctx, "pending_of", name)
}

// PendingIn counts the requests in a queue that have not ended.
func (r *Reader) PendingIn(ctx context.Context, name events.QueueName) (int, error) {
	if name == "" { // its requests have places, which count them
		return r.pending(ctx, "pending_main_count")
	}
	return r.pending(ctx, "pending_in", name)
}

// PendingAll counts the requests that have not ended.
func (r *Reader) PendingAll(ctx context.Context) (int, error) { return r.pending(ctx, "pending_all") }

func (r *Reader) pending(ctx context.Context, name string, args ...any) (int, error) {
	counts, err := values[int](ctx, r.pool, name, args...)
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Accounts returns the accounts about which the log says something, by name: those behind the name after, at most limit; 0
// means 100.
func (r *Reader) Accounts(ctx context.Context, after events.AccountName, most int) ([]Account, error) {
	return all[Account](ctx, r.pool, "accounts", after, limit(most))
}

// Account returns one account, or ErrNotFound.
func (r *Reader) Account(ctx context.Context, name events.AccountName) (Account, error) {
	a, err := one[Account](ctx, r.pool, "account", name)
	if err != nil {
		return a, fmt.Errorf("account %s: %w", name, err)
	}
	return a, nil
}

// NamedQueues returns the queues that were configured, by name: those behind the name after, at most limit; 0 means 100.
func (r *Reader) NamedQueues(ctx context.Context, after events.QueueName, most int) ([]NamedQueue, error) {
	return all[NamedQueue](ctx, r.pool, "named_queues", after, limit(most))
}

// NamedQueue returns one queue that was configured, or ErrNotFound.
func (r *Reader) NamedQueue(ctx context.Context, name events.QueueName) (NamedQueue, error) {
	q, err := one[NamedQueue](ctx, r.pool, "named_queue", name)
	if err != nil {
		return q, fmt.Errorf("queue %s: %w", name, err)
	}
	return q, nil
}

// Shared reports whether the farm is shared: the log says something about accounts, queues, machines or shares.
func (r *Reader) Shared(ctx context.Context) (bool, error) {
	found, err := values[bool](ctx, r.pool, "shared")
	return err == nil && found[0], err
}

// UsageFilter selects usage; a zero field selects all.
type UsageFilter struct {
	Account events.AccountName
	// Queue is a queue; events.MainQueue is the main one.
	Queue events.QueueName
	// From and To are the first and the last day, such as 2026-11-22, in UTC.
	From, To string
	// Offset leaves out rows, Limit bounds the list; 0 means 100.
	Offset, Limit int
}

// Usage is what an account had in a queue on one day, in all tiers.
type Usage struct {
	// Day is the day of the dispatches in UTC, such as 2026-11-22.
	Day     string             `db:"day" json:"day"`
	Account events.AccountName `db:"account" json:"account"`
	Queue   events.QueueName   `db:"queue" json:"queue"`
	// Jobs counts the dispatched jobs without those that never began.
	Jobs int `db:"jobs" json:"jobs"`
	// ChargedMS is machine time in milliseconds: for open places the expected one, else what they took.
	ChargedMS int64 `db:"charged_ms" json:"charged_ms"`
}

// Usage returns what the filter selects, the newest day first.
func (r *Reader) Usage(ctx context.Context, f UsageFilter) ([]Usage, error) {
	return all[Usage](ctx, r.pool, "usage", pgx.NamedArgs{
		"account": f.Account, "queue": f.Queue, "from": f.From, "to": f.To, "offset": f.Offset, "limit": limit(f.Limit),
	})
}

// PendingRequests returns the requests in a queue that have not ended, in their order, at most limit of them; 0 means 100.
func (r *Reader) PendingRequests(ctx context.Context, name events.QueueName, most int) ([]Request, error) {
	var list []Request
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		var ids []string
		var err error
		if name == "" {
			ids, err = values[string](ctx, tx, "pending_main", limit(most))
		} else {
			ids, err = values[string](ctx, tx, "pending_ids", name, limit(most))
		}
		if err != nil {
			return err
		}
		list, err = requestsIn(ctx, tx, ids)
		return err
	})
	return list, err
}

// requestsIn returns the requests of these ids, in the order of the ids.
func requestsIn(ctx context.Context, tx pgx.Tx, ids []string) ([]Request, error) {
	if len(ids) == 0 {
		return []Request{}, nil
	}
	list, err := all[Request](ctx, tx, "requests_of", pgx.NamedArgs{"ids": ids})
	places := make(map[events.RequestID]int, len(ids))
	for i, id := range ids {
		places[events.RequestID(id)] = i
	}
	slices.SortFunc(list, func(a, b Request) int { return cmp.Compare(places[a.ID], places[b.ID]) })
	return list, err
}
