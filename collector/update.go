package collector

import (
	"context"
	"errors"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// A process that has a supervisor leaves when another version is wanted, so that the supervisor can fetch it. It
// leaves only between two requests: two versions never measure one request on one lane, unless a machine dies.
//
// The log says where that is. The scheduler marks a dispatch as closing the lane when no request that has begun there
// has another job waiting behind it. Only the scheduler knows that. The process is between two requests when
//
//   - the last job that was executed on the lane has ended,
//   - its dispatch closed the lane, or its request was cancelled, and
//   - the newest dispatch is not one more job of the same request;
//
// or when another collector executed that job, as for a standby.
//
// It looks after each job, when a delivery comes, and, while it is idle, at each heartbeat. If it cannot find out,
// for example because the log is not reachable, it counts itself as "inside": leaving late does no harm. It gives
// back a delivery that has come meanwhile. None of this spends an attempt, since no attempt is current.

// Supervised is what a supervisor tells the process that it runs.
type Supervised struct {
	// Hold is a version that could not be fetched or built. Before Until the process does not leave for it.
	Hold  string
	Until time.Time
	// Failed says in words why that version does not run; empty when nothing failed.
	Failed string
}

// ErrUpdate is returned by Run when the process left so that its supervisor can start another version.
var ErrUpdate = errors.New("another version is wanted")

// updates is what a process knows about the version that is wanted. The collector's mu guards it.
type updates struct {
	// last is the event that said last which version is wanted. Only the heartbeat uses it.
	last events.Recorded
	// wanted is the other version that this process may leave for, empty for none.
	wanted string
	// seen is the newest dispatch that was delivered to this process.
	seen events.JobDispatched
	// look wakes the wait for a job.
	look chan struct{}
}

func (c *Collector) updateFailed() string {
	if c.Supervised == nil {
		return ""
	}
	return c.Supervised.Failed
}

// lookAtVersion reads which version is wanted. It wakes the process if that is idle and may leave.
func (c *Collector) lookAtVersion(ctx context.Context, news eventlog.News) {
	if c.Supervised == nil {
		return
	}
	// The heartbeat must not wait long.
	ctx, cancel := context.WithTimeout(ctx, c.BeatEvery)
	defer cancel()
	if err := c.readVersion(ctx, news); err != nil {
		c.Logger.Warn("the wanted version cannot be read", "error", err)
		return
	}
	wanted := ""
	if f, is := c.updates.last.Fact.(events.VersionWanted); is && f.Version != c.Version && !c.held(f.Version) {
		wanted = f.Version
	}
	c.mu.Lock()
	if wanted != "" && wanted != c.updates.wanted {
		c.Logger.Info("another version is wanted: leaving for it after the request in hand", "version", c.Version, "wanted", wanted)
	}
	c.updates.wanted = wanted
	idle := c.attempt == nil
	c.mu.Unlock()
	if idle && c.mayUpdate(ctx) {
		select {
		case c.updates.look <- struct{}{}:
		default:
		}
	}
}

// readVersion reads the event that says which version is wanted, unless it knows that there is no newer one.
func (c *Collector) readVersion(ctx context.Context, news eventlog.News) error {
	if seq, told := news[events.VersionSubject()]; told && seq <= c.updates.last.Seq {
		return nil
	}
	last, _, err := c.Log.Last(ctx, events.VersionSubject())
	if err == nil {
		c.updates.last = last
	}
	return err
}

func (c *Collector) held(version string) bool {
	return version == c.Supervised.Hold && c.Clock().Before(c.Supervised.Until)
}

// wanted returns the version that this process leaves for, empty for none.
func (c *Collector) wanted() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.updates.wanted
}

// mayUpdate reports whether another version is wanted and this process is between two requests.
func (c *Collector) mayUpdate(ctx context.Context) bool {
	if c.wanted() == "" {
		return false
	}
	between, err := c.betweenRequests(ctx)
	if err != nil && ctx.Err() == nil {
		c.Logger.Warn("it could not be read whether a request is in progress: not leaving for another version now", "error", err)
	}
	return between && err == nil
}

func (c *Collector) betweenRequests(ctx context.Context) (bool, error) {
	work, begun, err := c.Log.Last(ctx, events.WorkSubject(c.Lane))
	if err != nil || !begun {
		return err == nil, err
	}
	last := job.Evolve(job.Lane{}, work.Fact, work.Seq, work.Time)
	if last.Collector != c.Name && last.Collector != "" {
		return true, nil
	}
	if _, pool := c.Lane.Pool(); pool { // its jobs belong to any requests
		return last.Phase == job.Ended, nil
	}
	ended, ok := work.Fact.(events.JobFinished)
	if !ok {
		return false, nil
	}
	newest, ok, err := c.Log.Last(ctx, events.LaneSubject(c.Lane))
	if err != nil || !ok {
		return false, err
	}
	dispatched := newest.Fact.(events.JobDispatched)
	if dispatched.Place > ended.Place && dispatched.Job.RequestID == ended.RequestID {
		return false, nil
	}
	c.mu.Lock()
	seen := c.updates.seen
	c.mu.Unlock()
	for _, d := range []events.JobDispatched{dispatched, seen} {
		if d.Place == ended.Place && d.Closes {
			return true, nil
		}
	}
	return ended.Outcome == events.Cancelled, nil
}

// nextUnlessUpdate waits for the next delivery. It returns ErrUpdate when this process should leave instead.
func (c *Collector) nextUnlessUpdate(ctx context.Context) (eventlog.Delivery, error) {
	for {
		if c.mayUpdate(ctx) {
			return nil, ErrUpdate
		}
		delivery, err := c.receive(ctx)
		if !errors.Is(err, errLook) {
			return delivery, err
		}
	}
}

// errLook ends the wait for a job, so that the process checks whether it may leave.
var errLook = errors.New("woken to look whether it may leave")

// receive waits for a delivery, or until the heartbeat has seen that the process may leave.
func (c *Collector) receive(ctx context.Context) (eventlog.Delivery, error) {
	waiting, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	defer func() {
		cancel(nil)
		<-over
	}()
	go func() {
		defer close(over)
		select {
		case <-c.updates.look:
			cancel(errLook)
		case <-waiting.Done():
		}
	}()
	delivery, err := c.nextJob(waiting)
	if err != nil && errors.Is(context.Cause(waiting), errLook) {
		return nil, errLook
	}
	return delivery, err
}

// leaveBefore reports whether this process leaves for another version instead of executing the delivered job. If so,
// it has given the job back, and the next process gets it at once.
func (c *Collector) leaveBefore(ctx context.Context, dispatched events.JobDispatched, d eventlog.Delivery) bool {
	if c.mayUpdate(ctx) {
		if err := d.Nak(ctx, 0); err != nil {
			c.Logger.Warn("a job was not given back; it comes again by itself", "job", dispatched.Job.ID, "error", err)
		}
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates.seen = dispatched
	return false
}
