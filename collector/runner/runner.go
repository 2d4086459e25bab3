package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// Runner runs jobs, one at a time. The program's main must begin with measure.RunShimIfAsked.
type Runner struct {
	// Measure executes the commands.
	Measure *measure.Runner
	// Drivers are the known drivers by name; see the function Drivers.
	Drivers map[string]Driver
	// Settings are applied to measured commands where the machine allows it.
	Settings Settings
}

// Settings reduce the noise of measurements.
type Settings struct {
	// CPUs pins measured commands to these CPUs; empty does not pin them.
	CPUs []int
	// Nice is their nice value; 0 does not change it.
	Nice int
	// DisableASLR lays out their address space the same way every time.
	DisableASLR bool
	// Counting says how instructions are counted; empty is measure.CountCounters. Valgrind takes a pass of its own, which makes
	// a case some thirty to fifty iterations longer; the count is as good as a hardware counter's.
	Counting measure.Counting
}

// New returns a runner with all drivers.
func New(s Settings) *Runner {
	return &Runner{Measure: &measure.Runner{}, Drivers: Drivers(), Settings: s}
}

// Run measures what the job asks for and reports it to sink. It reports and counts failures of what is measured, and
// then returns no error. An error means that the job did not reach its end: ErrInterrupted, ErrTransient, or what the
// sink returned.
func (r *Runner) Run(ctx context.Context, job Job, sink Sink) (Summary, error) {
	limited, unlock, err := r.enter(ctx, job.Slot, job.Limits, sink)
	if err != nil {
		return Summary{}, err
	}
	defer unlock()
	run := newRun(r, limited, job, sink)
	for _, p := range job.Plans {
		run.skip(p)
		if err := run.benchmark(ctx, p); err != nil {
			return run.summary, orInterrupted(ctx, err)
		}
	}
	return run.summary, nil
}

// orInterrupted returns err, or that the context ended if it did.
func orInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	}
	return err
}

// enter takes a slot, and deletes what was parked beside it by a process that was killed. It returns what executes commands within limits, and a function that gives the slot back.
func (r *Runner) enter(ctx context.Context, slot string, limits measure.Limits, sink Sink) (*measure.Runner, func(), error) {
	unlock, err := lockSlot(ctx, slot)
	if err != nil {
		return nil, nil, orInterrupted(ctx, fmt.Errorf("%w: %w", ErrTransient, err))
	}
	if err := (&trees{slot: slot}).drop(); err != nil {
		unlock()
		return nil, nil, err
	}
	shims := &measure.Shims{}
	return r.limited(limits, sink, shims), func() {
		shims.Close()
		unlock()
	}, nil
}

// limited returns what executes commands within limits, by shims.
func (r *Runner) limited(limits measure.Limits, sink Sink, shims *measure.Shims) *measure.Runner {
	limited := *r.Measure
	limited.Shims = shims
	limited.Limits, limited.Counting, limited.Ended = limits, r.Settings.Counting, func(out measure.Outcome) { sink.Used(out.Use()) }
	return &limited
}

// take waits for the turn of a job, and lets the commands hold it.
func take(ctx context.Context, turn func(context.Context) (*os.File, error), commands *measure.Runner) error {
	if turn == nil {
		return nil
	}
	held, err := turn(ctx)
	if held != nil {
		commands.Held = []*os.File{held}
	}
	return orInterrupted(ctx, err)
}

// run is the execution of one job.
type run struct {
	runner *Runner
	// measure executes the commands within the limits of the job.
	measure *measure.Runner
	job     Job
	sink    Sink
	summary Summary
	total   int
	// settings are the settings that took effect, as last logged.
	settings string
	// over has the test cases that were reported: measured or failed.
	over map[events.TestCase]bool
}

func newRun(r *Runner, commands *measure.Runner, job Job, sink Sink) *run {
	run := &run{runner: r, measure: commands, job: job, sink: sink, over: map[events.TestCase]bool{}}
	for _, p := range job.Plans {
		run.total += len(p.Cases)
	}
	return run
}

// skip counts the test cases of a benchmark that were measured before.
func (r *run) skip(p suite.BenchmarkPlan) {
	for _, c := range p.Cases {
		if r.job.Done != nil && r.job.Done(c) {
			r.summary.Skipped++
		}
	}
}

// done reports whether a test case was measured before, or was reported by this run.
func (r *run) done(c events.TestCase) bool { return r.over[c] || r.job.Done != nil && r.job.Done(c) }

// benchmark measures the test cases of one benchmark that are not done.
func (r *run) benchmark(ctx context.Context, p suite.BenchmarkPlan) error {
	c := newChain(p, r.done)
	if c.missing() == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	plan, err := r.begin(ctx, p)
	if err != nil {
		return r.prepareFailed(ctx, p, c, err)
	}
	if err := take(ctx, r.job.Turn, r.measure); err != nil {
		return err
	}
	defer r.running()()
	counts, err := r.count(ctx, p, c, plan)
	if err != nil {
		return err
	}
	for iteration := 1; iteration <= p.Iterations && c.missing() > 0; iteration++ {
		for i := range p.Chain {
			if !c.needed(i) {
				continue
			}
			taken, err := r.step(ctx, p, i, plan.Steps[i])
			if err == nil {
				r.say(p, i, fmt.Sprintf("iteration %d of %s took %s", iteration, atMost(p.Until != nil, p.Iterations), taken))
				err = c.add(i, taken.samples, taken.elapsed)
			}
			if err != nil {
				if err := r.caseFailed(ctx, p, c, i, err); err != nil {
					return err
				}
				continue
			}
			if n, counted := counts[i]; counted && iteration == 1 {
				addCount(taken.samples[0], n)
			}
			if !c.wanted[i] {
				continue
			}
			enough, why := narrowing(compare.Narrow).enough(p.Until, i, iteration, p.Iterations, "iteration", c)
			if !enough {
				continue
			}
			r.say(p, i, why)
			if err := r.sink.Measured(ctx, c.measured(i)); err != nil {
				return fmt.Errorf("report %s: %w", p.Cases[i], err)
			}
			r.measured(c, i)
		}
	}
	r.keep(ctx, p)
	return nil
}

// begin prepares a benchmark.
func (r *run) begin(ctx context.Context, p suite.BenchmarkPlan) (Plan, error) {
	r.sink.Started(p.Benchmark.Name, r.summary.Measured+r.summary.Skipped+r.summary.Failed, r.total)
	began := time.Now()
	plan, err := r.prepare(ctx, p)
	r.sink.Took(func(p *events.Phases) *int64 { return &p.Prepare }, time.Since(began))
	return plan, err
}

// running returns a function that tells how long the measuring took.
func (r *run) running() func() {
	began := time.Now()
	return func() { r.sink.Took(func(p *events.Phases) *int64 { return &p.Run }, time.Since(began)) }
}

// measured notes that case i was reported.
func (r *run) measured(c *chain, i int) {
	c.wanted[i], r.over[c.plan.Cases[i]] = false, true
	r.summary.Measured++
}

// keep keeps what the job uploads of a benchmark.
func (r *run) keep(ctx context.Context, p suite.BenchmarkPlan) {
	for _, u := range r.job.Uploads {
		keep(ctx, r.job.Slot, srcName, u, u.Name+"."+string(p.Benchmark.Name), r.job.Storage, r.sink)
	}
}

// say logs something about test case i; nothing if the text is empty.
func (r *run) say(p suite.BenchmarkPlan, i int, text string) {
	if text != "" {
		r.sink.Log(fmt.Sprintf("%s %s %s: %s", p.Benchmark.Name, p.Profile.Name, p.Chain[i].Name, text))
	}
}

// prepare empties the slot and lets the driver make its plan.
func (r *run) prepare(ctx context.Context, p suite.BenchmarkPlan) (Plan, error) {
	driver, ok := r.runner.Drivers[p.Driver]
	if !ok {
		return Plan{}, fmt.Errorf("there is no driver %q: update this program, or use another driver in the suite file", p.Driver)
	}
	if err := withoutCaches(p); err != nil {
		return Plan{}, err
	}
	s := &Slot{Dir: r.job.Slot, Cache: r.job.Cache, source: r.job.Source, caches: r.job.Caches, measure: r.measure, log: r.sink.Log}
	if err := s.clear(); err != nil {
		return Plan{}, err
	}
	plan, err := driver.Prepare(ctx, s, r.job.Toolchain, p)
	if err == nil && len(plan.Steps) != len(p.Chain) {
		return Plan{}, fmt.Errorf("driver %q made %d steps for %d scenarios", p.Driver, len(plan.Steps), len(p.Chain))
	}
	return plan, err
}

// withoutCaches refuses measured commands that name a cache: what they found there would change what is measured.
// Definitions that are published are not checked again.
func withoutCaches(p suite.BenchmarkPlan) error {
	b := p.Benchmark
	for _, argument := range slices.Concat(b.Command, b.Args, b.CompilerArgs, b.Env, p.Profile.Args, p.Backend.Args) {
		if suite.NamesCache(argument) {
			return fmt.Errorf("%q names a cache, but measured commands get none: name it in prepare alone", argument)
		}
	}
	return nil
}

// taken is what one run of a step gave.
type taken struct {
	// samples are one, unless the command printed more.
	samples []events.Iteration
	// seconds is how long the command took, elapsed how long that is with all around it.
	seconds float64
	elapsed time.Duration
	// interference says in words why the samples are suspect.
	interference string
}

func (t taken) String() string {
	text := fmt.Sprintf("%.3f s", t.seconds)
	if t.interference != "" {
		text += " (" + t.interference + ")"
	}
	return text
}

// step runs one step once. An error that is not that of a failed command is a fault.
func (r *run) step(ctx context.Context, p suite.BenchmarkPlan, i int, s Step) (taken, error) {
	began := time.Now()
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return taken{}, fmt.Errorf("make ready for %s: %w", p.Chain[i].Name, err)
		}
	}
	settings := r.runner.Settings
	s.Cmd.CPUs, s.Cmd.Nice, s.Cmd.DisableASLR = settings.CPUs, settings.Nice, settings.DisableASLR
	s.Cmd.Timeout, s.Cmd.Env = p.Timeout, withoutJobserver(s.Cmd.Env)
	if s.Parse != nil {
		s.Cmd.OutputLimit = parsedOutputLimit
	}
	out, err := r.measure.Run(ctx, s.Cmd)
	if err != nil {
		return taken{}, err
	}
	if err := judge(s.Cmd, out); err != nil {
		return taken{}, err
	}
	r.logSettings(out.Took)
	samples, err := samplesOf(s, out)
	return taken{samples, out.Metrics[measure.WallTime], time.Since(began), out.Interference}, err
}

// withoutJobserver drops the jobservers of make and cargo from an environment: a measured command shares its CPUs with
// nothing.
func withoutJobserver(env []string) (out []string) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if !slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS"}, name) || !strings.Contains(value, "--jobserver") {
			out = append(out, e)
		}
	}
	return out
}

// logSettings logs which settings took effect, if they differ from those last logged.
func (r *run) logSettings(took map[string]string) {
	var all []string
	for name, value := range took {
		all = append(all, name+": "+value)
	}
	slices.Sort(all)
	if text := strings.Join(all, "; "); text != r.settings {
		r.settings = text
		r.sink.Log("measured commands run with " + text)
	}
}

// prepareFailed reports that nothing of a benchmark can be measured. It reports each test case, since artifacts are
// compared by test case.
func (r *run) prepareFailed(ctx context.Context, p suite.BenchmarkPlan, c *chain, err error) error {
	if stop := r.stops(ctx, err); stop != nil {
		return stop
	}
	r.sink.Log(fmt.Sprintf("%s failed: %v", p.Benchmark.Name, err))
	kind := events.ErrorPrepare
	var failed *commandError
	if errors.As(err, &failed) && failed.outOfMemory {
		kind = events.ErrorMemory
	}
	for i := range p.Cases {
		if !c.wanted[i] {
			continue
		}
		f := Failure{Kind: kind, Context: string(p.Benchmark.Name), Case: &p.Cases[i], Message: err.Error()}
		if err := r.failed(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// caseFailed reports that step i failed, and with it all later cases of its segment.
func (r *run) caseFailed(ctx context.Context, p suite.BenchmarkPlan, c *chain, i int, err error) error {
	if stop := r.stops(ctx, err); stop != nil {
		return stop
	}
	kind := events.ErrorBenchmark
	var failed *commandError
	switch {
	case errors.As(err, &failed) && failed.outOfMemory:
		kind = events.ErrorMemory
	case errors.As(err, &failed) && failed.timedOut:
		kind = events.ErrorTimeout
	case !errors.As(err, &failed) && !errors.Is(err, measure.ErrStart):
		kind = events.ErrorInternal
	}
	for _, j := range c.fail(i) {
		message := err.Error()
		if j != i {
			message = fmt.Sprintf("not measured, since %s before it failed: %s", p.Chain[i].Name, message)
		}
		f := Failure{Kind: kind, Context: string(p.Benchmark.Name), Case: &p.Cases[j], Message: message}
		r.sink.Log(fmt.Sprintf("%s failed: %s", f.Context, f.Message))
		if err := r.failed(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) failed(ctx context.Context, f Failure) error {
	r.summary.Failed++
	r.over[*f.Case] = true
	if err := r.sink.Failed(ctx, f); err != nil {
		return fmt.Errorf("report the failure of %s: %w", f.Context, err)
	}
	return nil
}

// stops returns the error that ends the whole job, or nil when err only concerns what is measured.
func (r *run) stops(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case outOfSpace(err):
		return diskFull(r.job.Slot, err)
	}
	return nil
}

func diskFull(slot string, err error) error {
	return fmt.Errorf("%w: the disk is full: make room on the file system of %s (or raise its quota) and the job continues: %w", ErrTransient, slot, err)
}
