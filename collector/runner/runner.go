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
	run := &run{runner: r, measure: limited, job: job, sink: sink}
	for _, p := range job.Plans {
		run.total += len(p.Cases)
	}
	for _, p := range job.Plans {
		if err := run.benchmark(ctx, p); err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
			}
			return run.summary, err
		}
	}
	return run.summary, nil
}

// enter takes a slot. It returns what executes commands within limits, and a function that gives the slot back.
func (r *Runner) enter(ctx context.Context, slot string, limits measure.Limits, sink Sink) (*measure.Runner, func(), error) {
	unlock, err := lockSlot(ctx, slot)
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrTransient, err)
	}
	limited := *r.Measure
	limited.Shims = &measure.Shims{}
	limited.Limits, limited.Counting, limited.Ended = limits, r.Settings.Counting, func(out measure.Outcome) { sink.Used(out.Use()) }
	return &limited, func() {
		limited.Shims.Close()
		unlock()
	}, nil
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
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	}
	return err
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
}

// benchmark measures the missing test cases of one benchmark.
func (r *run) benchmark(ctx context.Context, p suite.BenchmarkPlan) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := newChain(p, r.job.Done)
	r.summary.Skipped += len(p.Cases) - c.missing()
	if c.missing() == 0 {
		return nil
	}
	done := r.summary.Measured + r.summary.Skipped + r.summary.Failed
	r.sink.Started(p.Benchmark.Name, done, r.total)
	began := time.Now()
	plan, err := r.prepare(ctx, p)
	r.sink.Took(func(p *events.Phases) *int64 { return &p.Prepare }, time.Since(began))
	if err != nil {
		return r.prepareFailed(ctx, p, c, err)
	}
	if err := take(ctx, r.job.Turn, r.measure); err != nil {
		return err
	}
	began = time.Now()
	defer func() { r.sink.Took(func(p *events.Phases) *int64 { return &p.Run }, time.Since(began)) }()
	counts, err := r.count(ctx, p, c, plan)
	if err != nil {
		return err
	}
	for iteration := 1; iteration <= p.Iterations && c.missing() > 0; iteration++ {
		for i := range p.Chain {
			if !c.needed(i) {
				continue
			}
			samples, err := r.step(ctx, p, i, iteration, plan.Steps[i])
			if err == nil {
				err = c.add(i, samples)
			}
			if err != nil {
				if err := r.caseFailed(ctx, p, c, i, err); err != nil {
					return err
				}
				continue
			}
			if n, counted := counts[i]; counted && iteration == 1 {
				addCount(samples[0], n)
			}
			if iteration < p.Iterations || !c.wanted[i] {
				continue
			}
			if err := r.sink.Measured(ctx, c.measured(i)); err != nil {
				return fmt.Errorf("report %s: %w", p.Cases[i], err)
			}
			r.summary.Measured++
		}
	}
	for _, u := range r.job.Uploads {
		keep(ctx, r.job.Slot, srcName, u, u.Name+"."+string(p.Benchmark.Name), r.job.Storage, r.sink)
	}
	return nil
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

// step runs one step once and returns its samples: one, unless the command printed more. An error that is not that of
// a failed command is a fault.
func (r *run) step(ctx context.Context, p suite.BenchmarkPlan, i, iteration int, s Step) ([]events.Iteration, error) {
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return nil, fmt.Errorf("make ready for %s: %w", p.Chain[i].Name, err)
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
		return nil, err
	}
	if err := judge(s.Cmd, out); err != nil {
		return nil, err
	}
	r.logSettings(out.Took)
	samples, err := samplesOf(s, out)
	if err != nil {
		return nil, err
	}
	r.sink.Log(fmt.Sprintf("%s %s %s: iteration %d of %d took %.3f s%s", p.Benchmark.Name, p.Profile.Name, p.Chain[i].Name,
		iteration, p.Iterations, out.Metrics[measure.WallTime], remark(out.Interference)))
	return samples, nil
}

func remark(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
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
		r.summary.Failed++
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
		r.summary.Failed++
		f := Failure{Kind: kind, Context: string(p.Benchmark.Name), Case: &p.Cases[j], Message: message}
		r.sink.Log(fmt.Sprintf("%s failed: %s", f.Context, f.Message))
		if err := r.failed(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) failed(ctx context.Context, f Failure) error {
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
