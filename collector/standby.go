package collector

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// These are causes: the attempt is stopped and its job given back at once. A drain stops only an attempt that waits.
var (
	errDeactivated = errors.New("the collector was deactivated")
	errRemoved     = errors.New("the collector was removed")
	errQuarantined = errors.New("the collector was quarantined")
	errDrained     = errors.New("drain")
)

// turn says whether this collector may begin jobs: it serves its lane, and it was not asked to leave. It holds what
// was last read from the log, so it may be wrong for a moment. The fence of the lane's work then decides.
type turn struct {
	// mu guards the rest.
	mu sync.Mutex
	// lane is the last event that was read of the lane's assignment. registry and own are the last events about the
	// collector: registry what others said, own what it said itself.
	lane, registry, own events.Seq
	standing            job.Standing
	serves              bool
	// changed is closed and replaced by a new channel at each change.
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

// look reads what the log says about the lane and the collector, if there is anything new.
func (c *Collector) look(ctx context.Context) error {
	return errors.Join(c.lookAtLane(ctx, nil), c.lookAtSelf(ctx, nil))
}

// lookAtLane reads who serves the lane.
func (c *Collector) lookAtLane(ctx context.Context, news eventlog.News) error {
	changed, err := c.isNew(ctx, news, events.AssignmentSubject(c.Lane), func() events.Seq { return c.turn.lane })
	if err != nil || !changed {
		return err
	}
	history, err := c.Log.Read(ctx, events.AssignmentSubject(c.Lane))
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

// lookAtSelf reads whether the collector may continue.
func (c *Collector) lookAtSelf(ctx context.Context, news eventlog.News) error {
	said, err := c.isNew(ctx, news, events.RegistrySubject(c.Name), func() events.Seq { return c.turn.registry })
	if err != nil {
		return err
	}
	if !said {
		if said, err = c.isNew(ctx, news, events.CollectorSubject(c.Name), func() events.Seq { return c.turn.own }); err != nil || !said {
			return err
		}
	}
	registry, own, err := c.readSelf(ctx)
	if err != nil {
		return err
	}
	c.turn.change(func() {
		c.turn.registry, c.turn.own, c.turn.standing = lastOf(registry), lastOf(own), job.StandOn(registry, own)
	})
	return nil
}

// readSelf reads what others said about the collector, and what the collector said itself.
func (c *Collector) readSelf(ctx context.Context) (registry, own []events.Recorded, err error) {
	if registry, err = c.Log.Read(ctx, events.RegistrySubject(c.Name)); err == nil {
		own, err = c.Log.Read(ctx, events.CollectorSubject(c.Name))
	}
	return registry, own, err
}

// lastOf returns the sequence number of an aggregate's last event; zero without events.
func lastOf(history []events.Recorded) events.Seq {
	if len(history) == 0 {
		return 0
	}
	return history[len(history)-1].Seq
}

// isNew reports whether the last event of an aggregate is newer than the known one.
func (c *Collector) isNew(ctx context.Context, news eventlog.News, subject events.Subject, known func() events.Seq) (bool, error) {
	seq, err := c.newest(ctx, news, subject)
	if err != nil {
		return false, err
	}
	c.turn.mu.Lock()
	defer c.turn.mu.Unlock()
	return seq > known(), nil
}

// nextJob waits until the collector may begin jobs and the lane has one for it. It stops asking for a job when
// another collector takes the lane over.
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
		delivery, err := c.Jobs.NextJob(serving, c.Lane)
		standsBy := err != nil && serving.Err() != nil && ctx.Err() == nil
		cancel()
		<-over
		if !standsBy {
			return delivery, err
		}
	}
}

// mayBegin reads whether the collector may begin jobs. The heartbeat does so too, and the door refuses the begin of a job to a
// collector that may not: so it is read only after such a refusal, and before a job of an earlier process continues. If the log
// cannot be read now, mayBegin uses what is known: the fence decides in the end which collector begins the job.
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

// askedToLeave reports whether the log says that this process should leave. A deactivation at once, a quarantine or a
// removal also stops the attempt in hand. A process that the scheduler wrongly took for dead records that it is
// online.
func (c *Collector) askedToLeave(ctx context.Context, news eventlog.News) bool {
	if err := c.lookAtSelf(ctx, news); err != nil {
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
	case s.Removed:
		c.stopAttempt(errRemoved)
	case s.Quarantined:
		c.stopAttempt(errQuarantined)
	case !s.Active && s.AtOnce:
		c.stopAttempt(errDeactivated)
	default:
		c.stopWaiting()
	}
	return true
}

// sayOnline records again that this process is online. If that fails, the next heartbeat tries again.
func (c *Collector) sayOnline(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.BeatEvery)
	defer cancel()
	if err := c.announce(ctx, c.online()); err != nil && ctx.Err() == nil {
		c.Logger.Warn("the return could not be recorded", "error", err)
	}
}

// stopWaiting gives the job in hand back if it waits for its turn on the machine.
func (c *Collector) stopWaiting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt != nil && c.progress.waits != "" {
		c.attempt.stop(errDrained)
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
