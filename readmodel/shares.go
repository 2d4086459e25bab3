package readmodel

import (
	"context"
	"fmt"

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
