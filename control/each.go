package control

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/rules/request"
)

// MaxEach is how many requests one call of CreateEach may have.
const MaxEach = 1000

const (
	// eachAtOnce is how many of them are appended at the same time.
	eachAtOnce = 32
	// eachStretch is how many of them are decided on what was read once of definitions, accounts and queues.
	eachStretch = 100
)

// EachAnswer is the result of one request of many. Err says why it was not made.
type EachAnswer struct {
	BatchAnswer
	Err error
}

// NotTriedError says that a request was not tried: the log failed at another one of the same call.
type NotTriedError struct{ Cause error }

func (e *NotTriedError) Error() string {
	return fmt.Sprintf("it was not tried, because the log failed before: %s", e.Cause)
}

// Unwrap returns what failed.
func (e *NotTriedError) Unwrap() error { return e.Cause }

// CreateEach makes each of many requests as CreateRequest does, and returns the answers in the same order. A refused request
// keeps no other out. line returns what refusals call a request.
//
// Each request is an append of its own, and some are under way together: they are recorded in about the order of the list.
// What is answered without an error is in the log, whatever becomes of the others. After the first fault the rest is not
// tried. It is safe to ask for all of them again: requests that are there count as made.
func (c *Control) CreateEach(ctx context.Context, by By, list []NewRequest, line func(int) string) ([]EachAnswer, error) {
	if n := len(list); n > MaxEach {
		return nil, refuse(Invalid, "the batch has %d requests: at most %d", n, MaxEach)
	}
	out := make([]EachAnswer, len(list))
	clashes(list, line, func(i int, clash error) { out[i].Err = clash })
	var failed atomic.Pointer[NotTriedError]
	for begin := 0; begin < len(list); begin += eachStretch {
		end := min(begin+eachStretch, len(list))
		s := stretch{c, by, c.placing(c.Log, by), out[begin:end], &failed}
		s.run(ctx, list[begin:end])
	}
	return out, ctx.Err()
}

// stretch is a part of a list of requests.
type stretch struct {
	*Control
	by      By
	placing *placing
	out     []EachAnswer
	failed  *atomic.Pointer[NotTriedError]
}

// run makes the requests together. All are taken to be new, and the limits count them all. So a refusal may be wrong: a
// request may be there already, or fail, and then it leaves room for another. Those that are refused are decided again one
// by one, when the others have their answers.
func (s stretch) run(ctx context.Context, list []NewRequest) {
	var group errgroup.Group
	group.SetLimit(eachAtOnce)
	from := s.publishedOnce()
	wishes := make([]creation, len(list))
	for i, n := range list {
		if failed := s.failed.Load(); failed != nil && s.out[i].Err == nil {
			s.out[i].Err = failed
		}
		if s.out[i].Err != nil {
			continue
		}
		if wishes[i], s.out[i].Err = s.creation(ctx, s.by, n, from); s.out[i].Err != nil {
			s.fault(i)
			continue
		}
		place := s.placing.decide(ctx, wishes[i])
		group.Go(func() error {
			s.try(i, func() (request.Request, Answer, error) {
				return s.create(ctx, s.by, wishes[i], true, func(*eventlog.Tx) places { return place }, nil)
			})
			return nil
		})
	}
	_ = group.Wait() // each error is in its answer
	for i, wish := range wishes {
		if wish.definitions == nil || !isRefusal(s.out[i].Err) {
			continue
		}
		s.try(i, func() (request.Request, Answer, error) {
			return s.create(ctx, s.by, wish, false, func(tx *eventlog.Tx) places { return s.Control.placing(tx, s.by) }, nil)
		})
	}
}

// try makes one request, unless the log failed before.
func (s stretch) try(i int, create func() (request.Request, Answer, error)) {
	if failed := s.failed.Load(); failed != nil {
		s.out[i].Err = failed
		return
	}
	a := &s.out[i]
	a.Request, a.Answer, a.Err = create()
	s.fault(i)
}

// fault notes that the log failed at a request. A refusal is no fault, nor is one request that others change all the time.
func (s stretch) fault(i int) {
	err := s.out[i].Err
	var busy *eventlog.BusyError
	if err != nil && !isRefusal(err) && !errors.As(err, &busy) {
		s.failed.CompareAndSwap(nil, &NotTriedError{err})
	}
}

// isRefusal reports whether a command was refused, and nothing failed.
func isRefusal(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}
