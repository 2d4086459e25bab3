package collector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

// attempt is one execution of a job by this process.
type attempt struct {
	c    *Collector
	spec events.JobSpec
	// number counts the executions of the job, this one too, lost those that ended by a crash or by silence.
	number, lost int
	token        events.Seq
	root         string
	// since is when the transient errors of the job began; zero when there were none.
	since time.Time
	// done are the test cases that already have results, from earlier attempts and rounds.
	done measured
	// stop ends the attempt from outside, with a cause.
	stop context.CancelCauseFunc
	sink *sink
	// numbered says that the end tells what was printed. Jobs of definitions of version 1 end as they always did.
	numbered bool
	// key names what the job does, if it is known; from is the run that did it before.
	key  events.Digest
	from events.JobID
	// dispatched is the dispatch that the attempt follows.
	dispatched events.JobDispatched
}

func newAttempt(c *Collector, spec events.JobSpec, token events.Seq, d events.JobDequeued, done measured,
	version events.Seq, root string,
) *attempt {
	a := &attempt{c: c, spec: spec, number: d.Attempt, lost: d.Lost, token: token, done: done, root: root, since: job.Time(d.Since)}
	a.sink = newSink(a, version)
	return a
}

// run executes the job and returns the command that ends the attempt. It returns nil when the attempt was taken away.
func (a *attempt) run(ctx context.Context, delivery eventlog.Delivery) job.Command {
	outer := ctx
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	a.stop = stop
	a.c.show(a, progress{job: a.spec.ID})
	defer a.c.show(nil, progress{})
	prolonged := make(chan struct{})
	go func() {
		defer close(prolonged)
		a.prolong(ctx, delivery)
	}()
	a.c.Logger.Info("job begins", "job", a.spec.ID, "tag", a.spec.Artifact.Tag, "profile", a.spec.Profile, "attempt", a.number)
	output := a.c.send(outer, a)
	err := a.measure(ctx)
	printed := output.end()
	cause := context.Cause(ctx)
	stop(nil)
	<-prolonged
	end := a.end(outer, cause, err)
	var told *events.Printed
	if a.numbered {
		told = &events.Printed{Bytes: printed.Bytes, Dropped: printed.Dropped, Last: printed.Last}
	}
	if release, back := end.(job.Release); back {
		release.Printed = told
		return release
	}
	if finish, ends := end.(job.Finish); ends {
		finish.Evicted, finish.Phases, finish.Jobserver = a.c.evicted(), a.sink.phases, a.sink.jobserver
		finish.Printed = told
		if a.spec.Matched {
			finish.Used = a.sink.used
		}
		return finish
	}
	return end
}

// measure runs the benchmarks. At the end, also when it is stopped, it records what was measured and not yet
// recorded.
func (a *attempt) measure(ctx context.Context) error {
	if full := a.c.full(a.spec); full != nil {
		return full
	}
	d, err := a.trusted(ctx)
	if err != nil {
		return err
	}
	a.numbered = d.Version > 1
	if a.spec.Against != nil {
		err = a.pair(ctx, d)
	} else {
		err = a.enough(d, a.c.Bench.Run(ctx, a.spec, d, a.doneOf(a.spec.Artifact), a.sink))
	}
	err = a.c.rest(ctx, err)
	if errors.Is(err, errLost) {
		return err
	}
	last, cancel := a.c.lasting(ctx)
	defer cancel()
	return errors.Join(err, a.sink.flush(last))
}

// doneOf reports for an artifact which of its test cases already have results.
func (a *attempt) doneOf(of events.Artifact) func(events.TestCase) bool {
	done, here := a.done[of.Tag], a.sink.here
	return func(tc events.TestCase) bool { return done[tc] || here[of.Tag][tc] }
}

// end turns the outcome of the run into the command that ends the attempt. The counts of a pair are those of its own
// side, and only that side decides whether the job has failed.
func (a *attempt) end(ctx context.Context, cause, err error) job.Command {
	skipped := len(a.done[a.spec.Artifact.Tag])
	finish := job.Finish{
		Token: a.token, Measured: a.sink.measured, Skipped: skipped, Failed: a.sink.failed, At: a.c.Clock(),
	}
	var permanent *PermanentError
	var full *fullError
	var unready *unreadyError
	switch {
	case errors.Is(cause, errLost) || errors.Is(err, errLost):
		return nil
	case errors.As(err, &permanent):
		a.note(ctx, permanent.Kind, permanent.Error())
		finish.Outcome, finish.Reason, finish.Fault = events.Failure, permanent.Error(), permanent.Kind
		return finish
	case errors.As(err, &full):
		a.c.Logger.Warn("the host has too little free memory for the job", "job", a.spec.ID, "free_mib", full.FreeMiB, "reserved_mib", full.ReservedMiB)
		return job.Release{Token: a.token, Reason: full.Error(), HostFull: &full.HostFull}
	case errors.As(err, &unready) && cause == nil:
		a.c.Logger.Warn("the machine cannot be made ready", "job", a.spec.ID, "reason", unready.reason)
		return job.Release{Token: a.token, Reason: unready.reason, Unready: true}
	case err != nil && cause != nil:
		reason := "shutdown"
		if !errors.Is(cause, context.Canceled) {
			reason = cause.Error()
		}
		return job.Release{Token: a.token, Reason: reason}
	case err != nil:
		a.note(ctx, events.ErrorTransient, err.Error())
		release := job.Release{Token: a.token, Reason: err.Error(), Transient: true, At: a.c.Clock(), Deadline: a.c.TransientDeadline}
		if !a.sink.owns() { // the parent never fails the job
			release.Deadline = 0
		}
		return release
	case a.sink.failed > 0:
		measured := a.sink.measured + skipped
		finish.Outcome = events.Failure
		finish.Reason = fmt.Sprintf("%s failed, %d %s measured", phrase.Count(a.sink.failed, "test case"), measured, phrase.Verb(measured, "was", "were"))
		if a.sink.exceeded != "" {
			finish.Reason += ": " + a.sink.exceeded
		}
		return finish
	}
	finish.Outcome, finish.Key, finish.ReusedFrom = events.Success, a.key, a.from
	return finish
}

// note records an error of the whole job.
func (a *attempt) note(ctx context.Context, kind events.ErrorKind, message string) {
	ctx, cancel := a.c.lasting(ctx)
	defer cancel()
	if err := a.sink.fail(ctx, kind, "job", nil, message); err != nil {
		a.c.Logger.Warn("an error of the job could not be recorded", "job", a.spec.ID, "error", err, "of", message)
	}
}

// prolong tells the lane that the job is still in hand.
func (a *attempt) prolong(ctx context.Context, d eventlog.Delivery) {
	if d == nil {
		return
	}
	for retry.Sleep(ctx, a.c.ProgressEvery) {
		if err := d.InProgress(ctx); err != nil && ctx.Err() == nil {
			a.c.Logger.Debug("the delivery was not prolonged; if it comes again the log tells that the job is in hand", "error", err)
		}
	}
}

// named names definitions.
type named struct {
	suite  events.SuiteName
	digest events.Digest
}

// keptDefinitions are parsed. An event never changes, so they are read once.
type keptDefinitions map[named]suite.Definitions

// maxDefinitions bounds how many definitions are kept, of at most a megabyte each.
const maxDefinitions = 16

// keep parses the content of definitions and keeps them.
func (d *keptDefinitions) keep(of named, content events.RawJSON) (suite.Definitions, error) {
	parsed, err := suite.Parse(content)
	if err != nil {
		return suite.Definitions{}, &PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	if *d == nil || len(*d) >= maxDefinitions {
		*d = keptDefinitions{}
	}
	(*d)[of] = parsed
	return parsed, nil
}

func namedBy(spec events.JobSpec) named { return named{spec.Artifact.Suite, spec.Definitions} }

// definitions returns the definitions that the job was made with.
func (c *Collector) definitions(ctx context.Context, spec events.JobSpec) (suite.Definitions, error) {
	if known, ok := c.parsed[namedBy(spec)]; ok {
		return known, nil
	}
	published, err := c.published(ctx, spec)
	if err != nil {
		return suite.Definitions{}, err
	}
	return c.parsed.keep(namedBy(spec), published[0].Content)
}

// published returns the events that published the definitions of a job: at least one.
func (c *Collector) published(ctx context.Context, spec events.JobSpec) (out []events.DefinitionsPublished, err error) {
	var history []events.Recorded
	if err := c.retry(ctx, func() (err error) {
		history, err = c.Log.Read(ctx, events.SuiteSubject(spec.Artifact.Suite))
		return err
	}); err != nil {
		return nil, fmt.Errorf("read the definitions of suite %s: %w", spec.Artifact.Suite, err)
	}
	for _, e := range history {
		if f, ok := e.Fact.(events.DefinitionsPublished); ok && f.Digest == spec.Definitions {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, &PermanentError{
			Kind: events.ErrorDefinitions, Err: fmt.Errorf("definitions %s of suite %s are not in the log", spec.Definitions, spec.Artifact.Suite),
		}
	}
	return out, nil
}

// show sets the attempt and the progress that the heartbeat reports.
func (c *Collector) show(a *attempt, p progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt, c.progress = a, p
}
