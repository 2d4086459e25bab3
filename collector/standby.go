package collector

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
)

// errDeactivated and errQuarantined are the causes with which an attempt is given back at once.
var (
	errDeactivated = errors.New("the collector was deactivated")
	errQuarantined = errors.New("the collector was quarantined")
)

// turn is whether this collector may begin jobs: it serves its lane, and nobody asked it to leave. It is what
// was last read from the log, so it may be wrong for a moment; the fence of the lane's work then decides.
type turn struct {
	// mu guards the rest.
	mu sync.Mutex
	// lane and self are the last events that were read of the lane's assignment and about the collector.
	lane, self events.Seq
	standing   job.Standing
	serves     bool
	// changed is closed and made anew with each change.
	changed chan struct{}
}

func newTurn() *turn { return &turn{changed: make(chan struct{})} }

// may reports whether the collector may begin a job, and returns a channel that is closed when that may have
// changed.
func (t *turn) may() (bool, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serves && t.standing.Takes(), t.changed
}

// await waits until may reports want, or ctx ends.
func (t *turn) await(ctx context.Context, want bool) error {
	for {
		may, changed := t.may()
		if may == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (t *turn) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// look reads what the log says of the lane and of the collector, when there is something new.
func (c *Collector) look(ctx context.Context) error {
	return errors.Join(c.lookAtLane(ctx), c.lookAtSelf(ctx))
}

// lookAtLane reads who serves the lane.
func (c *Collector) lookAtLane(ctx context.Context) error {
	history, err := c.news(ctx, events.AssignmentSubject(c.Lane), func() events.Seq { return c.turn.lane })
	if err != nil || len(history) == 0 {
		return err
	}
	var a job.Assignment
	for _, e := range history {
		a = job.Assign(a, e.Fact)
	}
	before, _ := c.turn.may()
	c.turn.change(func() { c.turn.lane, c.turn.serves = history[len(history)-1].Seq, a.Serving == c.Name })
	switch now, _ := c.turn.may(); {
	case now && !before:
		c.Logger.Info("this collector serves the lane", "lane", c.Lane)
	case a.Serving != c.Name:
		c.Logger.Info("this collector stands by", "lane", c.Lane, "serving", a.Serving)
	}
	return nil
}

// lookAtSelf reads whether the collector may go on.
func (c *Collector) lookAtSelf(ctx context.Context) error {
	history, err := c.news(ctx, events.CollectorSubject(c.Name), func() events.Seq { return c.turn.self })
	if err != nil || len(history) == 0 {
		return err
	}
	var s job.Standing
	for _, e := range history {
		s = job.Stand(s, e.Fact)
	}
	c.turn.change(func() { c.turn.self, c.turn.standing = history[len(history)-1].Seq, s })
	return nil
}

// news returns all events of an aggregate when its last one is newer than the one that is known, else none.
// Mostly nothing is new, and then only the last event is read.
func (c *Collector) news(ctx context.Context, subject events.Subject, known func() events.Seq) ([]events.Recorded, error) {
	last, ok, err := c.Log.Last(ctx, subject)
	if err != nil || !ok {
		return nil, err
	}
	c.turn.mu.Lock()
	seen := known()
	c.turn.mu.Unlock()
	if last.Seq <= seen {
		return nil, nil
	}
	return c.Log.Read(ctx, subject)
}

// nextJob waits until the collector may begin jobs and the lane has one for it. It takes its request for a job
// back when another collector takes the lane over.
func (c *Collector) nextJob(ctx context.Context) (eventlog.Delivery, error) {
	for {
		if err := c.turn.await(ctx, true); err != nil {
			return nil, err
		}
		serving, cancel := context.WithCancel(ctx)
		over := make(chan struct{})
		go func() {
			defer close(over)
			if c.turn.await(serving, false) == nil {
				cancel()
			}
		}()
		delivery, err := c.Dispatch.NextJob(serving, c.Lane)
		standsBy := err != nil && serving.Err() != nil && ctx.Err() == nil
		cancel()
		<-over
		if !standsBy {
			return delivery, err
		}
	}
}

// mayBegin looks once more right before a job is begun. Where the log cannot be read now, what is known
// counts: who begins a job after all is told by the fence.
func (c *Collector) mayBegin(ctx context.Context) bool {
	if err := c.look(ctx); err != nil && ctx.Err() == nil {
		c.Logger.Warn("who serves the lane cannot be read", "error", err)
	}
	may, _ := c.turn.may()
	return may
}

// giveUp ends an attempt that an earlier process of this collector left on a lane that another one serves.
func (c *Collector) giveUp(ctx context.Context, state job.Lane) error {
	err := c.record(ctx, "", job.Lose{
		Token: state.Token, Reason: "the process ended without a word, and another collector serves the lane",
	})
	var refusal *job.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return fmt.Errorf("collector %s: give job %s up: %w", c.Name, state.JobID, err)
	}
	return nil
}

// askedToLeave reports whether the log says that this process should go. A deactivation at once, and a
// quarantine, end the attempt in hand as well. A process that was taken for dead, and is not, says so.
func (c *Collector) askedToLeave(ctx context.Context) bool {
	if err := c.lookAtSelf(ctx); err != nil {
		return false
	}
	c.turn.mu.Lock()
	s := c.turn.standing
	c.turn.mu.Unlock()
	switch {
	case s.Takes():
		if s.Instance == c.Instance && !s.Online {
			c.sayOnline(ctx)
		}
		return false
	case s.Quarantined:
		c.stopAttempt(errQuarantined)
	case !s.Active && s.AtOnce:
		c.stopAttempt(errDeactivated)
	}
	return true
}

// sayOnline says again that this process is there, unless it cannot now: the next heartbeat tries again.
func (c *Collector) sayOnline(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.BeatEvery)
	defer cancel()
	if err := c.announce(ctx, c.online()); err != nil && ctx.Err() == nil {
		c.Logger.Warn("the return could not be recorded", "error", err)
	}
}

// stopAttempt ends the attempt in hand, if there is one.
func (c *Collector) stopAttempt(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt != nil {
		c.attempt.stop(cause)
	}
}
