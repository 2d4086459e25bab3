package collector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
)

func (c *Collector) beat() eventlog.Beat {
	load := 0.0
	if c.Load != nil {
		load = c.Load()
	}
	turn := c.turnWait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return eventlog.Beat{
		Load: load, Name: c.Name, Instance: c.Instance, Host: c.Host, PID: c.PID, Version: c.Version, Time: c.Clock().UTC(),
		JobID: c.progress.job, Benchmark: c.progress.benchmark, Done: c.progress.done, Total: c.progress.total,
		Waits: c.progress.waits, Turn: turn,
	}
}

// turnWait returns since when the job waits for the turn of the machine, and who has it; nil if it does not wait.
func (c *Collector) turnWait() *eventlog.TurnWait {
	c.mu.Lock()
	p := c.progress
	c.mu.Unlock()
	if p.waits == "" {
		return nil
	}
	w := &eventlog.TurnWait{Since: p.since}
	if c.Holders != nil { // it reads files: others do not wait for them
		w.Holders = c.Holders()
	}
	return w
}

// keepBeating sends the heartbeat from a goroutine of its own, so that a job of hours does not look like a dead
// process. At each beat it also looks for what ends work from outside: the fence of the current attempt, another
// wanted version, another collector that takes the lane over, and a request to leave.
func (c *Collector) keepBeating(ctx context.Context, leave chan<- struct{}) error {
	asked := false
	for retry.Sleep(ctx, c.BeatEvery) {
		news, err := c.Presence.Beat(ctx, c.beat())
		if errors.Is(err, eventlog.ErrNameHeld) {
			return fmt.Errorf("collector %s: %w since this process was silent for too long", c.Name, err)
		} else if err != nil && ctx.Err() == nil {
			c.Logger.Warn("the heartbeat did not get through", "error", err)
			continue
		}
		c.lookAtFence(ctx, news)
		c.lookAtVersion(ctx, news)
		if err := c.lookAtLane(ctx, news); err != nil && ctx.Err() == nil {
			c.Logger.Warn("who serves the lane cannot be read", "error", err)
		}
		if c.askedToLeave(ctx, news) && !asked {
			asked = true
			c.Logger.Info("asked to leave: the job in hand is finished first")
			close(leave)
		}
	}
	return nil
}

// newest returns where the log has the last event of an aggregate, zero without events. It asks the log only where the answer to the
// heartbeat did not say it.
func (c *Collector) newest(ctx context.Context, news eventlog.News, subject events.Subject) (events.Seq, error) {
	if seq, told := news[subject]; told {
		return seq, nil
	}
	last, _, err := c.Log.Last(ctx, subject)
	return last.Seq, err
}

// lookAtFence stops the current attempt when the lane's work has moved on without it.
func (c *Collector) lookAtFence(ctx context.Context, news eventlog.News) {
	c.mu.Lock()
	a := c.attempt
	c.mu.Unlock()
	if a == nil {
		return
	}
	if seq, err := c.newest(ctx, news, events.WorkSubject(c.Lane)); err == nil && seq > a.token {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.attempt == a {
			a.stop(errLost)
		}
	}
}

// retry calls f until it succeeds, fails for a lasting reason, or ctx ends. It waits only for an unreachable log,
// however long that takes: a collector outlives an outage of NATS.
func (c *Collector) retry(ctx context.Context, f func() error) error {
	policy := retry.Pauses(100*time.Millisecond, 5*time.Second)
	return backoff.RetryNotify(func() error {
		err := f()
		if err != nil && !errors.Is(err, eventlog.ErrUnavailable) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(policy, ctx), func(err error, next time.Duration) {
		c.Logger.Warn("the log is not reachable, trying again", "in", next, "error", err)
	})
}
