package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/internal/retry"
)

const (
	// patience is how long an operation is tried if its context has no deadline.
	patience = 10 * time.Second
	// tryTimeout is how long to wait for one answer: well above a slow disk sync, below an election.
	tryTimeout = 2 * time.Second
	// adminTimeout is the same for making streams, which needs elections of their leaders.
	adminTimeout = 5 * time.Second
)

// Persist calls try until it succeeds, fails for good, or ctx ends (after patience, if it has no deadline). It retries
// only faults of transport. If they do not end, the error wraps eventlog.ErrUnavailable. The client of the door uses it
// too.
func Persist(ctx context.Context, operation string, try func(context.Context) error) error {
	err := try(ctx)
	if err == nil {
		return nil
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	last := err
	pause := retry.Pauses(5*time.Millisecond, 500*time.Millisecond)
	for transient(last) {
		select {
		case <-ctx.Done():
			if !errors.Is(last, ctx.Err()) {
				last = fmt.Errorf("%w: %w", last, ctx.Err())
			}
			return fmt.Errorf("%s: %w: %w", operation, eventlog.ErrUnavailable, last)
		case <-time.After(pause.NextBackOff()):
		}
		before := last
		if last = try(ctx); last == nil {
			return nil
		}
		if ctx.Err() != nil && errors.Is(last, ctx.Err()) {
			// This try was cut off. What the one before it heard says more.
			last = fmt.Errorf("%w: %w", last, before)
		}
	}
	if errors.Is(last, nats.ErrConnectionClosed) {
		last = fmt.Errorf("%w: %w", eventlog.ErrUnavailable, last)
	}
	return fmt.Errorf("%s: %w", operation, last)
}

// ErrAgain marks an answer of the server or the door that is worth another try, for example about a batch that a new
// leader does not know.
var ErrAgain = errors.New("the server asks to try again")

// transient reports whether the same request may succeed a moment later.
func transient(err error) bool {
	for _, fault := range []error{
		nats.ErrTimeout, nats.ErrNoResponders, context.DeadlineExceeded, context.Canceled, ErrAgain,
		nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, nats.ErrStaleConnection,
		natsjs.ErrNoStreamResponse,
	} {
		if errors.Is(err, fault) {
			return true
		}
	}
	var api *natsjs.APIError
	if !errors.As(err, &api) {
		return false
	}
	// A node that its leader has not heard yet may be there in a moment. Too little room, or a wrong tag, does not go away.
	unheard := api.ErrorCode == codeNoPeers && strings.Contains(api.Description, "peer offline")
	return unheard || api.Code == 503 && api.ErrorCode != codeStoreFailed
}

// request sends one message and waits for one answer, at most tryTimeout.
func request(ctx context.Context, nc *nats.Conn, m *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return nc.RequestMsgWithContext(ctx, m)
}
