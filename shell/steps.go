package shell

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Step is one thing to do.
type Step struct {
	// What says in words what was decided.
	What string
	// Subjects are those that it appends to, if it may be in flight together with other steps that say theirs: with those of the
	// same subjects it is not. A step without waits for all before it, and those behind it wait for its end.
	Subjects []events.Subject
	// Do appends it and returns the last sequence of the append; 0 when there was nothing left to append. It is called in a
	// goroutine of its own.
	Do func(ctx context.Context) (events.Seq, error)
}

// Outcome is the result of the steps of one decision.
type Outcome struct {
	// After is the last sequence that was written, or that another writer wrote first. Decide nothing before it is
	// read.
	After events.Seq
	// First says that another writer was first at some step, Unknown that the log did not say at which sequence.
	First, Unknown bool
}

// CarryOut carries out steps, at most so many at once, and returns when all have ended. One failed step does not block the
// others, unless the log is unavailable or full: then no further step begins.
func CarryOut(ctx context.Context, steps []Step, atOnce int, logger *slog.Logger) Outcome {
	all := carrying{logger: logger}
	var running errgroup.Group
	running.SetLimit(atOnce)
	last := map[events.Subject]chan struct{}{} // closed at the end of the last step on a subject
	for _, step := range steps {
		if len(step.Subjects) == 0 {
			_ = running.Wait() // no step returns an error
			all.carryOut(ctx, step)
			continue
		}
		var before []chan struct{}
		ended := make(chan struct{})
		for _, subject := range step.Subjects {
			if earlier := last[subject]; earlier != nil && earlier != ended { // a step may name a subject twice
				before = append(before, earlier)
			}
			last[subject] = ended
		}
		running.Go(func() error {
			defer close(ended)
			for _, earlier := range before { // it has begun, so it ends
				<-earlier
			}
			all.carryOut(ctx, step)
			return nil
		})
	}
	_ = running.Wait()
	return all.outcome
}

// carrying is the steps of one decision while they are carried out.
type carrying struct {
	logger *slog.Logger

	mu      sync.Mutex
	outcome Outcome
	// over says that no further step begins.
	over bool
}

func (c *carrying) carryOut(ctx context.Context, step Step) {
	if c.ended() || ctx.Err() != nil {
		return
	}
	seq, err := step.Do(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.outcome
	o.After = max(o.After, seq)
	var conflict *eventlog.ConflictError
	switch {
	case err == nil:
		c.logger.DebugContext(ctx, "decided", "decision", step.What, "seq", seq)
	case errors.As(err, &conflict):
		c.logger.DebugContext(ctx, "another writer was first", "decision", step.What, "error", err)
		o.After, o.First, o.Unknown = max(o.After, conflict.Actual), true, o.Unknown || conflict.Actual == 0
	case errors.Is(err, eventlog.ErrFull):
		// The alert says it. It is so for every decision, each second.
		c.logger.DebugContext(ctx, "a decision waits for room in the log", "decision", step.What, "error", err)
	case ctx.Err() == nil:
		c.logger.WarnContext(ctx, "a decision could not be recorded, trying again", "decision", step.What, "error", err)
	}
	c.over = c.over || errors.Is(err, eventlog.ErrUnavailable) || errors.Is(err, eventlog.ErrFull)
}

func (c *carrying) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}
