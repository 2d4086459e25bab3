package jetstream

import (
	"context"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// A server that stands alone checks a batch, and then stores its events one by one. It looks at the room of the account and
// of the server before each event, and its disk may fail any of them. After such an event it stops: it keeps what it has stored,
// and gives no answer, or refuses the last event. What is left to store lies beside the stream. The server stores it when it opens the
// stream again, if the beginning of the batch is still the end of the stream. If it is not, the server
// throws the rest away, and if there is no room then, it may.
//
// Readers see nothing of a batch while the server commits it. So a beginning without an end is torn, and not on its way.

// torn remembers the append of this process that the log has torn.
type torn struct {
	found atomic.Pointer[half]
}

// half is a torn append: its last event, and the size of all of it.
type half struct {
	err  *eventlog.TornError
	end  events.Stored
	size int64
}

// standing returns the error of the torn append; nil if there is none, or if the log has its rest by now.
func (a appender) standing(ctx context.Context) *eventlog.TornError {
	h := a.torn.found.Load()
	if h == nil {
		return nil
	}
	if s, ok, err := a.reads.EventAt(ctx, h.err.End); err != nil || !ok || !same(s, h.end) {
		return h.err
	}
	if a.torn.found.CompareAndSwap(h, nil) {
		a.room.took(h.size)
	}
	return nil
}

// same reports whether an event that the log has is the one that was sent.
func same(has, sent events.Stored) bool {
	return has.Subject == sent.Subject && has.Header[events.HeaderID] == sent.Header[events.HeaderID]
}

// The next steps after a torn append.
const (
	nextTorn = "make room for the log first, then start its NATS server again: it stores the rest if nothing was stored behind; " +
		"start no part of Tacho again before that"
	nextTornHere = "free some of the disk that holds the data directory; Tacho opens the log again by itself then, which stores the rest"
)

// whole returns the sequence of the append's last event if the log has that event where it belongs, given where the append begins.
// near is an event that was read already. Else the append is torn; on a cluster, where servers apply a batch as one, it is in doubt.
func (a appender) whole(ctx context.Context, staged []events.Stored, begin events.Seq, near events.Stored, again error) (events.Seq, error) {
	n := len(staged)
	is := func(s events.Stored, i int) bool {
		return s.Seq == begin+events.Seq(i) && same(s, staged[i])
	}
	if is(near, n-1) {
		return near.Seq, nil
	}
	var failed error
	missing := func(i int) bool {
		s, _, err := a.reads.EventAt(ctx, begin+events.Seq(i))
		if err != nil {
			failed = err
		}
		return !is(s, i)
	}
	if end := begin + events.Seq(n) - 1; !missing(n - 1) {
		return end, nil
	}
	stored := 0
	if failed == nil && a.alone {
		stored = sort.Search(n-1, missing)
	}
	switch {
	case failed != nil:
		return 0, fmt.Errorf("settle (%w): %w", again, failed)
	case !a.alone:
		return 0, again
	}
	found := &eventlog.TornError{First: begin, Last: begin + events.Seq(stored) - 1, End: begin + events.Seq(n) - 1, Next: nextTorn}
	if a.room.ask != nil {
		found.Next = nextTornHere
	}
	a.torn.found.CompareAndSwap(nil, &half{err: found, end: staged[n-1], size: sizeOf(staged)})
	return 0, found
}
