// Package collector executes the jobs of one lane on one machine and records what it measured.
//
// A collector takes the jobs of its lane one at a time, in order. For each it
//
//  1. appends JobDequeued, with the last event of the lane's work expected;
//  2. fetches the artifact, prepares the programs and measures the test cases that have no results yet;
//  3. appends results as they come, each time with the last event of the job's results expected;
//  4. appends JobFinished, again with the last event of the lane's work expected;
//  5. acknowledges the delivery, unless the door did so at 4. The log, never the delivery, tells the state of the job.
//
// At 1 and 4 it expects the event that it appended last, without a read. After a conflict it reads and decides again.
//
// The log is the fence. A process can lose its job: another process dequeued it, the scheduler declared the attempt
// lost, or the request was cancelled. The log then refuses its appends at 3 or 4, or the process sees the loss at its
// next heartbeat. It stops measuring and records nothing more.
//
// Several collectors may share a lane. The lane's assignment says which one serves it. The others stand by: they beat
// and ask for no jobs (standby.go). If two of them think for a moment that they serve, no harm is done: the fence
// lets only one of them begin a job.
//
// On the lane of a pool the jobs are matched ones: they run on any machine that has what they require. Their target and
// set only say what is measured; all that is recorded goes to the collector's own lane. A job may come from another
// lane: its attempts and losses come with it and count on (JobDispatched). It may also leave for another lane: the
// scheduler appends JobMoved, and the process loses its job as above. A job of a pair also measures the artifact of its
// parent (pair.go). Before its first command the collector looks whether the host has the memory that the job reserves;
// if not, it gives the job back (full.go).
//
// What a crash means at each step: before 1 nothing happened. Between 1 and 4 the next process of the same name finds
// its own unfinished attempt as the last event of the lane's work. It counts that attempt as lost and continues with
// the test cases that have no results. Between 4 and 5 the delivery comes again, and the collector acknowledges it,
// since the log says that the job has ended.
package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/suite"
)

// Config is what a Collector needs.
type Config struct {
	Name events.CollectorName
	Lane events.Lane
	// Instance names this process; no two processes ever have the same.
	Instance string
	// Host and PID let a successor on the same machine see that this process has ended.
	Host        string
	PID         int
	Version     string
	Environment events.Environment
	// OS and Arch are what this host is, in Go's words.
	OS, Arch string
	// Load tells the machine's load average for the heartbeat; nil leaves it out.
	Load func() float64
	// FreeMemory tells how many bytes of memory the host can give to new processes; false if it is not known. nil means
	// that it never is.
	FreeMemory func() (int64, bool)

	Log      eventlog.Aggregates
	Jobs     eventlog.Jobs
	Presence eventlog.Presence
	JobLogs  eventlog.JobLogWriter
	Bench    Bench
	// SpoolDir is where output waits that does not fit into memory; empty means the directory for temporary files.
	SpoolDir string
	// Runs knows what was done before; nil if nothing does: then all jobs run.
	Runs Runs
	// Evicted returns the caches that the machine has removed since the last call; nil if it has none.
	Evicted func() ([]string, error)
	// Rest ends what the Bench kept from one Run to the next of an attempt, after the last of them; nil if it keeps nothing.
	Rest func(context.Context) error
	// Holders returns who has the turn of the machine; nil if it is not known.
	Holders func() []eventlog.TurnHolder
	// Supervised is what a supervisor told this process. It is nil without a supervisor: nothing would start another
	// version, so the process never leaves for one.
	Supervised *Supervised
	// Seals is what the collector wants to see before it executes a job; nil executes all.
	Seals *Seals
	// Replaces is the instance of a process that is known to have ended and may still hold the name.
	Replaces string

	// BeatEvery is how often the collector sends the heartbeat and checks the fence, also during a job.
	BeatEvery time.Duration
	// ProgressEvery is how often the collector prolongs a delivery. Keep it well under the redelivery time.
	ProgressEvery time.Duration
	// FlushEvery is how long measured test cases wait at most before they are recorded.
	FlushEvery time.Duration
	// MaxAttempts is how many executions of a job may be lost before it fails.
	MaxAttempts int
	// TransientDeadline is how long a job is tried again after transient errors.
	TransientDeadline time.Duration
	Clock             func() time.Time
	Logger            *slog.Logger
}

// Bench measures the test cases of a job.
type Bench interface {
	// Run measures the test cases for which done is false. It returns a *PermanentError when trying again would not
	// help, ctx's error when it was stopped, and any other error when a later try may succeed.
	Run(ctx context.Context, spec events.JobSpec, d suite.Definitions, done func(events.TestCase) bool, sink Sink) error
	// RunPair measures a job for two artifacts in turns, pair after pair, so that both have the machine in the same state: each
	// test case that no side has done. What only one side has, needs or can measure, it measures alone. The errors are those of
	// Run, about the side that sink was told last.
	RunPair(ctx context.Context, parent, own Half, d suite.Definitions, sink PairSink) error
}

// Sink takes what a Bench reports. An error from it ends the run, and Run returns it unchanged.
type Sink interface {
	Started(benchmark events.Benchmark, done, total int)
	Measured(ctx context.Context, c events.MeasuredCase) error
	Failed(ctx context.Context, kind events.ErrorKind, about string, c *events.TestCase, message string) error
	// Used says what a command of the job used; it is called for each.
	Used(u measure.Use)
	// Stored says that an output of the job is in the store; an upload is not for other jobs.
	Stored(ctx context.Context, o events.Output, upload bool) error
	// Diagnosed says what the commands had to say, by facts whose place and attempt are still to be filled in.
	Diagnosed(ctx context.Context, seen events.DiagnosticsSeen) error
	// Took adds to the time of a phase.
	Took(phase func(*events.Phases) *int64, d time.Duration)
	// Waits says what the job waits for before it goes on; empty when it goes on.
	Waits(what string)
	// Counted says how many tokens of the jobserver were not in their place.
	Counted(j events.JobserverCount)
	// Recognised says that all that goes into the job is known: tree names the content of its artifact, or of its commit; empty
	// if the outputs that it uses are all. If taken, an earlier run did the same, and there is nothing left to do.
	Recognised(ctx context.Context, d suite.Definitions, tree events.Digest) (taken bool, err error)
	// Log takes one or more lines about the job. Output takes what a command prints, while it runs. Any goroutine may call
	// them, and they never wait for a reader.
	Log(text string)
	Output(text []byte)
}

// PermanentError ends a job at once, as a failure.
type PermanentError struct {
	Kind events.ErrorKind
	Err  error
}

func (e *PermanentError) Error() string { return e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }

// ErrLeave is returned by Run when the collector was asked to leave: it was drained, deactivated, quarantined or
// removed.
var ErrLeave = errors.New("the collector was asked to leave")

// RegistrationError says that, by the log, this process may not run as that collector. Trying again does not help.
type RegistrationError struct{ Reason string }

func (e *RegistrationError) Error() string { return e.Reason }

func unfit(format string, args ...any) error {
	return &RegistrationError{Reason: fmt.Sprintf(format, args...)}
}

// errLost is the cause with which an attempt is stopped that no longer belongs to this process.
var errLost = errors.New("the attempt is over: the log took another course")

// Collector is one process of a collector. Run it once.
type Collector struct {
	Config
	// mu guards the progress that the heartbeat shows, the attempt whose fence it checks, and updates.
	mu       sync.Mutex
	progress progress
	attempt  *attempt
	updates  updates
	turn     *turn
	// sending is the sender of the last attempt, left the lane's work as this process left it, parsed the definitions of the last
	// jobs. Only the goroutine that works uses them.
	sending *sender
	left    left
	parsed  keptDefinitions
	// settling are the deliveries that are acknowledged or given back.
	settling sync.WaitGroup
}

type progress struct {
	job         events.JobID
	benchmark   events.Benchmark
	done, total int
	// waits is what the job waits for; empty while it runs. since is since when.
	waits string
	since time.Time
}

// New returns a collector; it does nothing before Run.
func New(c Config) *Collector {
	return &Collector{Config: c, updates: updates{look: make(chan struct{}, 1)}, turn: newTurn()}
}

// Run executes jobs until ctx ends (nil), the collector is asked to leave (ErrLeave), it leaves for another version
// (ErrUpdate), another process holds its name (eventlog.ErrNameHeld), or it cannot continue. When ctx ends, Run gives
// the job in hand back to the lane. When the collector is asked to leave, Run finishes that job first.
func (c *Collector) Run(ctx context.Context) error {
	if err := c.checkRegistration(ctx); err != nil {
		return err
	}
	holder, err := c.Presence.Claim(ctx, c.beat(), c.Replaces)
	if err != nil {
		if errors.Is(err, eventlog.ErrNameHeld) {
			return fmt.Errorf("collector %s: %w: process %d on %s; stop it, or wait until its heartbeat is too old", c.Name, err, holder.PID, holder.Host)
		}
		return fmt.Errorf("collector %s: claim the name: %w", c.Name, err)
	}
	err = c.serve(ctx)
	c.stopSending()
	if ctx.Err() != nil && !errors.Is(err, eventlog.ErrNameHeld) {
		err = nil
	}
	c.sayGoodbye(ctx, err)
	return err
}

// serve records that the process is online, and executes jobs.
func (c *Collector) serve(ctx context.Context) error {
	if err := c.announce(ctx, c.online()); err != nil {
		return err
	}
	if err := c.retry(ctx, func() error { return c.look(ctx) }); err != nil {
		return fmt.Errorf("collector %s: read who serves lane %s: %w", c.Name, c.Lane, err)
	}
	leave := make(chan struct{})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.keepBeating(gctx, leave) })
	g.Go(func() error { return c.work(gctx, leave) })
	return g.Wait()
}

// sayGoodbye records that the process left, unless another process already holds its name.
func (c *Collector) sayGoodbye(ctx context.Context, why error) {
	if errors.Is(why, eventlog.ErrNameHeld) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	reason := "stopped"
	if why != nil {
		reason = why.Error()
	}
	var left events.Fact = events.CollectorOffline{Name: c.Name, Instance: c.Instance, Reason: reason}
	if errors.Is(why, ErrUpdate) {
		left = events.CollectorUpdating{Name: c.Name, Instance: c.Instance, Version: c.Version, Wanted: c.wanted()}
	}
	if err := c.announce(ctx, left); err != nil {
		c.Logger.Warn("the departure could not be recorded; the scheduler will notice the silence", "error", err)
	}
	if err := c.Presence.Release(ctx, c.beat()); err != nil {
		c.Logger.Debug("the name could not be given back; it expires by itself", "error", err)
	}
}

// checkRegistration refuses to start as a collector that is not registered, or that is registered for another lane.
func (c *Collector) checkRegistration(ctx context.Context) error {
	var registry, own []events.Recorded
	if err := c.retry(ctx, func() (err error) {
		registry, own, err = c.readSelf(ctx)
		return err
	}); err != nil {
		return fmt.Errorf("collector %s: read its registration: %w", c.Name, err)
	}
	s := job.StandOn(registry, own)
	if s.Removed {
		return unfit("collector %s was removed%s, and names are unique for ever: register this machine under another name with `tacho collector add`", c.Name, because(s.Reason))
	}
	if s.Registered == nil {
		return unfit("collector %s is not registered: register it with `tacho collector add %s --target %s --set %d`", c.Name, c.Name, c.Lane.Target, c.Lane.Set)
	}
	r := *s.Registered
	switch lane := (events.Lane{Target: r.Target, Set: r.Set}); {
	case lane != c.Lane:
		return unfit("collector %s is registered for lane %s and not for %s: bring the credentials that were made for that lane", c.Name, lane, c.Lane)
	case r.OS != "" && r.OS != c.OS || r.Arch != "" && r.Arch != c.Arch:
		return unfit("collector %s measures target %s, which is %s/%s, and this host is %s/%s: run it on a matching host, or register another collector here",
			c.Name, r.Target, r.OS, r.Arch, c.OS, c.Arch)
	case !s.Active:
		return unfit("collector %s is not active: activate it with `tacho collector activate %s`", c.Name, c.Name)
	case s.Quarantined:
		return unfit("collector %s is quarantined (%s): see to the machine, then activate it with `tacho collector activate %s`", c.Name, s.Reason, c.Name)
	}
	return c.checkOffer(ctx, r.Machine)
}

// checkOffer refuses to start on a host that has less than its machine offers: jobs are given as much as is offered. A
// collector that belongs to no machine has nothing to check.
func (c *Collector) checkOffer(ctx context.Context, machine events.MachineName) error {
	if machine == "" {
		return nil
	}
	var last events.Recorded
	if err := c.retry(ctx, func() (err error) {
		last, _, err = c.Log.Last(ctx, events.MachineSubject(machine))
		return err
	}); err != nil {
		return fmt.Errorf("collector %s: read what machine %s offers: %w", c.Name, machine, err)
	}
	offer, described := last.Fact.(events.MachineDescribed)
	if !described {
		return unfit("collector %s belongs to machine %s, which was removed or never added: add it with `tacho machine add`", c.Name, machine)
	}
	memory := c.Environment.MemoryBytes >> 20
	switch cpus := c.Environment.CPUs; {
	case memory > 0 && offer.MemoryMiB > memory:
		return unfit("machine %s offers %d MiB of memory, and this host has %d MiB: set what the host has with `tacho machine set %s --memory %dm`, or run collector %s on a larger host",
			machine, offer.MemoryMiB, memory, machine, memory, c.Name)
	case cpus > 0 && offer.CPUs > cpus:
		return unfit("machine %s offers %d CPUs, and this host has %d: set what the host has with `tacho machine set %s --cpus %d`, or run collector %s on a larger host",
			machine, offer.CPUs, cpus, machine, cpus, c.Name)
	}
	return nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// online returns the fact with which this process says that it is online.
func (c *Collector) online() events.Fact {
	online := events.CollectorOnline{
		Name: c.Name, Instance: c.Instance, Version: c.Version, PID: c.PID, Environment: c.Environment, UpdateFailed: c.updateFailed(),
		Knows: []string{events.KnowsSuite2, events.KnowsBuild}, Drivers: runner.Versions(),
	}
	if _, pool := c.Lane.Pool(); pool {
		online.Knows, online.Evicted = append(online.Knows, events.KnowsMatched), c.evicted()
	}
	return online
}

// announce records a fact about the collector itself.
func (c *Collector) announce(ctx context.Context, f events.Fact) error {
	event := c.event(f, 0, "")
	return c.retry(ctx, func() error {
		_, err := eventlog.Decide(ctx, c.Log, events.CollectorSubject(c.Name),
			func(s struct{}, _ events.Recorded) struct{} { return s },
			func(struct{}) ([]events.Event, error) { return []events.Event{event}, nil })
		return err
	})
}

func (c *Collector) event(f events.Fact, cause events.Seq, root string) events.Event {
	actor := events.Actor("collector:" + string(c.Name))
	return eventlog.NewEvent(f, eventlog.Meta{Source: "collector", Actor: actor, Cause: cause, Root: root}, c.Clock())
}
