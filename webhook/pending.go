package webhook

import (
	"context"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// CountPending makes commands count the requests that have not ended by the ledger. It is for a bot that cannot ask the
// tables: so the limits of accounts, of queues and of the farm hold for comments, too.
func CountPending(c *control.Control, l Ledger) {
	count := func(counts func(*request.Request) bool) (n int) {
		l.View(func(l *ledger.Ledger) {
			for _, r := range l.Pending {
				if counts(r) {
					n++
				}
			}
		})
		return n
	}
	c.PendingOf = func(_ context.Context, name events.AccountName) (int, error) {
		return count(func(r *request.Request) bool { return r.Account == name }), nil
	}
	c.PendingIn = func(_ context.Context, name events.QueueName) (int, error) {
		return count(func(r *request.Request) bool { return r.Queue == name }), nil
	}
	c.PendingAll = func(context.Context) (int, error) {
		return count(func(*request.Request) bool { return true }), nil
	}
}
