package collector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/job"
)

// unreadyPause is how long a job is left alone after a command of the machine's own configuration failed.
const unreadyPause = 10 * time.Second

// heldElsewhere is how long the collector leaves a job alone that another collector of the lane executes.
const heldElsewhere = 5 * time.Second

// work takes one job after another. It first continues a job that an earlier process of the same name left
// unfinished.
func (c *Collector) work(ctx context.Context, leave <-chan struct{}) error {
	defer c.settling.Wait()
	if err := c.resume(ctx); err != nil {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-leave:
			cancel()
		case <-waiting.Done():
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-leave:
			return ErrLeave
		default:
		}
		delivery, err := c.nextUnlessUpdate(waiting)
		switch {
		case errors.Is(err, ErrUpdate):
			return err
		case waiting.Err() != nil && err != nil:
			continue
		case err != nil:
			c.Logger.Warn("no job can be received, trying again", "error", err)
			retry.Sleep(waiting, time.Second)
			continue
		}
		if err := c.handle(ctx, delivery); err != nil {
			return err
		}
	}
}

// resume continues an unfinished attempt of this collector, unless it needs the seal of its dispatch for that. The attempt's delivery comes again later; the collector
// then acknowledges it, since the log says that the job has ended.
func (c *Collector) resume(ctx context.Context) error {
	state, _, err := c.laneState(ctx)
	if err != nil {
		return err
	}
	if state.Phase != job.Current || state.Collector != c.Name {
		return nil
	}
	if !c.mayBegin(ctx) {
		return c.giveUp(ctx, state)
	}
	if c.Seals != nil {
		c.Logger.Info("the job that the last process left continues when it is delivered again: its seal comes with the delivery", "job", state.JobID)
		return nil
	}
	c.Logger.Info("continuing the job that the last process left", "job", state.JobID)
	_, err = c.execute(ctx, events.JobDispatched{Place: state.Place, Job: state.Job}, 0, "", nil)
	return err
}

// handle executes one delivered job, unless it needs no execution. Then it acknowledges the delivery or gives it
// back.
func (c *Collector) handle(ctx context.Context, d eventlog.Delivery) error {
	recorded, err := events.Decode(d.Stored())
	if err != nil {
		return fmt.Errorf("collector %s: a dispatched job cannot be read: %w", c.Name, err)
	}
	dispatched, ok := recorded.Fact.(events.JobDispatched)
	if !ok {
		return fmt.Errorf("collector %s: event %d on the lane is not a dispatch", c.Name, recorded.Seq)
	}
	if c.leaveBefore(ctx, dispatched, d) {
		return ErrUpdate
	}
	again := time.Duration(0)
	if may, _ := c.turn.may(); may {
		if again, err = c.execute(ctx, dispatched, recorded.Seq, recorded.Root, d); err != nil {
			return err
		}
	}
	c.settling.Go(func() { c.settle(ctx, d, again) })
	return nil
}

// settle acknowledges a delivery, or gives it back to be delivered again. Meanwhile the collector asks for the next job, which does
// not come before.
func (c *Collector) settle(ctx context.Context, d eventlog.Delivery, again time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var err error
	if again >= 0 {
		err = d.Nak(ctx, again)
	} else {
		err = d.Ack(ctx)
	}
	if err != nil {
		c.Logger.Debug("a delivery was not settled; it comes again and the log tells what to do", "error", err)
	}
}

// execute runs a job until its attempt ends. It returns after what time to deliver the job again, or a negative
// duration when the job has ended. delivery is nil for a job that is resumed without one.
func (c *Collector) execute(ctx context.Context, d events.JobDispatched, cause events.Seq, root string, delivery eventlog.Delivery) (again time.Duration, err error) {
	spec := d.Job
	if c.stillFull(ctx, d) {
		return fullLook, nil
	}
	a, err := c.begin(ctx, d, cause, root)
	var refusal *job.Refusal
	var busy *eventlog.BusyError
	switch {
	case errors.As(err, &refusal):
		c.Logger.Info("the job is not ours to execute now", "job", spec.ID, "reason", refusal.Reason)
		if !c.mayBegin(ctx) {
			return 0, nil
		}
		return heldElsewhere, nil
	case errors.As(err, &busy):
		c.Logger.Warn("other writers change the job all the time: it is left alone for a while", "job", spec.ID, "error", err)
		return heldElsewhere, nil
	case ctx.Err() != nil:
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("collector %s: dequeue job %s: %w", c.Name, spec.ID, err)
	case a == nil:
		return -1, nil
	}
	end := a.run(ctx, delivery)
	if end == nil {
		// The job may have ended, or another process may have it. The log tells when the job is delivered again.
		c.Logger.Info("the attempt was taken away; its results so far are kept", "job", spec.ID)
		return 0, nil
	}
	if err := c.record(ctx, a.root, end); err != nil {
		if errors.As(err, &refusal) {
			c.Logger.Info("the attempt had ended already", "job", spec.ID, "reason", refusal.Reason)
			return 0, nil
		}
		return 0, fmt.Errorf("collector %s: end job %s: %w", c.Name, spec.ID, err)
	}
	release, given := end.(job.Release)
	switch {
	case !given:
		return -1, nil
	case release.Transient:
		return c.transientPause(a), nil
	case release.HostFull != nil:
		return fullLook, nil
	case release.Unready:
		return unreadyPause, nil
	}
	return 0, nil
}

// transientPause returns how long a job waits after a transient error. It grows with the time for which the job has
// been failing, up to a minute and a half, with jitter.
func (c *Collector) transientPause(a *attempt) time.Duration {
	failing := time.Second
	if !a.since.IsZero() {
		failing = max(failing, c.Clock().Sub(a.since)/2)
	}
	failing = min(failing, time.Minute)
	return failing/2 + rand.N(failing)
}

// laneState returns the state of the lane's work and its version. Usually the last event holds the whole state. A
// collector of an earlier version may have left a last event that no fold takes; then laneState reads all events.
func (c *Collector) laneState(ctx context.Context) (state job.Lane, version events.Seq, err error) {
	err = c.retry(ctx, func() error {
		last, ok, err := c.Log.Last(ctx, events.WorkSubject(c.Lane))
		if err != nil || !ok {
			return err
		}
		history := []events.Recorded{last}
		if last.Fact == nil {
			if history, err = c.Log.Read(ctx, events.WorkSubject(c.Lane)); err != nil {
				return err
			}
		}
		state = job.Lane{}
		for _, e := range history {
			state, version = job.Evolve(state, e.Fact, e.Seq, e.Time), e.Seq
		}
		return nil
	})
	if err != nil {
		return job.Lane{}, 0, fmt.Errorf("read the work of lane %s: %w", c.Lane, err)
	}
	return state, version, nil
}

// left is the work of the lane as this process left it with its last append.
type left struct {
	lane    job.Lane
	version events.Seq
}

// decide returns what follows from a command on the lane's work. While a lane has work, its collector is usually the only writer
// there. So decide begins with the work as this process left it, and the append expects that version. It reads the work when the
// log refused that, or when nothing follows from it. The state is that on which it decided.
func (c *Collector) decide(ctx context.Context, tx *eventlog.Tx, command job.Command) (job.Lane, []events.Fact, error) {
	state, version := c.left.lane, c.left.version
	var facts []events.Fact
	if tx.First() && version > 0 {
		facts, _ = job.Decide(state, c.Lane, command) // a refusal may be out of date
	}
	if len(facts) == 0 {
		var err error
		if state, version, err = c.laneState(ctx); err != nil {
			return state, nil, err
		}
		if facts, err = job.Decide(state, c.Lane, command); err != nil || len(facts) == 0 {
			return state, nil, err
		}
	}
	tx.Expect(events.WorkSubject(c.Lane), version)
	return state, facts, nil
}

// leave notes what this process appended to the lane's work. The append is contiguous, and last is its last sequence; 0 if there
// was none.
func (c *Collector) leave(appended []events.Event, last events.Seq) {
	c.left = left{}
	if last == 0 {
		return
	}
	work := events.WorkSubject(c.Lane)
	for i, e := range appended {
		if e.Fact.Subject() == work {
			c.left.version = last + 1 + events.Seq(i) - events.Seq(len(appended))
			c.left.lane = job.Evolve(c.left.lane, e.Fact, c.left.version, e.Time)
		}
	}
}

// begin decides on an attempt and records it. It returns nil when the job ends with this decision or had ended
// before.
func (c *Collector) begin(ctx context.Context, d events.JobDispatched, cause events.Seq, root string) (*attempt, error) {
	var decided []events.Event
	var begun *events.JobDequeued
	var known earlier
	last, err := eventlog.Transact(ctx, c.patient(), func(tx *eventlog.Tx) ([]events.Event, error) {
		_, facts, err := c.decide(ctx, tx, job.Dequeue{
			Place: d.Place, Job: d.Job, Collector: c.Name, Instance: c.Instance, Version: c.Version,
			Environment: c.Environment.Fingerprint, MaxAttempts: c.MaxAttempts, Since: job.Time(d.Since), Attempt: d.Attempt, Lost: d.Lost,
		})
		if err != nil || len(facts) == 0 {
			return nil, err
		}
		begun = nil
		for _, f := range facts {
			if f, ok := f.(events.JobDequeued); ok {
				begun = &f
			}
		}
		if known, err = c.measured(ctx, d.Job, begun); err != nil {
			return nil, err
		}
		tx.Expect(events.ResultSubject(c.Lane, d.Job.ID), known.version)
		decided = c.events(facts, cause, root)
		return decided, nil
	})
	c.leave(decided, last)
	if err != nil || last == 0 || begun == nil {
		return nil, err
	}
	if _, closed := decided[len(decided)-1].Fact.(events.ResultsClosed); closed {
		known.version = last
	}
	a := newAttempt(c, d.Job, c.left.version, *begun, known.done, known.version, root)
	a.dispatched = d
	return a, nil
}

// measured reads which test cases of a job have results, those of its earlier rounds included. A matched job may have
// been on this lane before the machine changed: its results are of one environment only. The first attempt of a job finds none
// of its own.
func (c *Collector) measured(ctx context.Context, spec events.JobSpec, begun *events.JobDequeued) (known earlier, err error) {
	from := events.Digest("")
	if spec.Matched {
		from = c.Environment.Fingerprint
	}
	known.done = measured{}
	if begun == nil || begun.Attempt > 1 {
		if known, err = c.readResults(ctx, spec.ID, from); err != nil {
			return known, err
		}
	}
	for _, id := range spec.Earlier() {
		round, err := c.readResults(ctx, id, from)
		if err != nil {
			return known, err
		}
		known.done.join(round.done)
	}
	return known, nil
}

// record appends the end of an attempt. It returns a *job.Refusal when the log took another course.
func (c *Collector) record(ctx context.Context, root string, end job.Command) error {
	ctx, cancel := c.lasting(ctx)
	defer cancel()
	var decided []events.Event
	last, err := eventlog.Transact(ctx, c.patient(), func(tx *eventlog.Tx) ([]events.Event, error) {
		state, facts, err := c.decide(ctx, tx, end)
		if err != nil || len(facts) == 0 {
			return nil, err
		}
		if len(facts) > 1 {
			results, err := c.readResults(ctx, state.JobID, "")
			if err != nil {
				return nil, err
			}
			tx.Expect(events.ResultSubject(c.Lane, state.JobID), results.version)
		}
		decided = c.events(facts, state.Token, root)
		return decided, nil
	})
	c.leave(decided, last)
	return err
}

// events makes events of the facts that were decided.
func (c *Collector) events(facts []events.Fact, cause events.Seq, root string) []events.Event {
	out := make([]events.Event, 0, len(facts))
	for _, f := range facts {
		out = append(out, c.event(f, cause, root))
	}
	return out
}

// patient returns the log in a form that tries each append again while the log is not reachable.
func (c *Collector) patient() eventlog.Aggregates { return patient{c.Log, c} }

type patient struct {
	eventlog.Aggregates
	c *Collector
}

// Append implements eventlog.Aggregates.
func (p patient) Append(ctx context.Context, parts ...eventlog.Append) (last events.Seq, err error) {
	err = p.c.retry(ctx, func() (err error) {
		last, err = p.Aggregates.Append(ctx, parts...)
		return err
	})
	return last, err
}

// lasting returns a context for recording what must not be lost. It lasts while the collector runs, up to
// TransientDeadline, and for a few seconds after the collector was told to stop.
func (c *Collector) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := outlasting(ctx)
	limited, stop := context.WithTimeout(longer, c.TransientDeadline)
	return limited, func() { stop(); cancel() }
}

// outlasting returns a context that ends a few seconds after ctx does.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(goodbye, cancel) })
	return longer, func() { stop(); cancel() }
}

// goodbye is how long a collector continues to record after it was told to stop.
const goodbye = 5 * time.Second
