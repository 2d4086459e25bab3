package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/ab"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/compare"
)

type abCmd struct {
	A    string   `arg:"" help:"Program, directory or git revision to compare with."`
	B    string   `arg:"" help:"Program, directory or git revision that is judged."`
	Args []string `arg:"" optional:"" help:"After --: the arguments of both programs, or the command that runs in both directories or revisions." placeholder:"ARGS"`

	Suite     string             `help:"Measure the benchmarks of this suite; A and B are the directories of two artifacts." placeholder:"FILE"`
	Benchmark []events.Benchmark `help:"With --suite: only this benchmark; may be repeated." placeholder:"NAME"`

	Build        string           `help:"A and B are revisions: check both out beside this repository, and build each with this command for the shell." placeholder:"COMMAND"`
	EnvA         []string         `help:"Variable for A alone; may be repeated." placeholder:"K=V" sep:"none"`
	EnvB         []string         `help:"Variable for B alone; may be repeated." placeholder:"K=V" sep:"none"`
	ArgsA        []string         `help:"Argument for A alone, after those of both; may be repeated." placeholder:"ARG" sep:"none"`
	ArgsB        []string         `help:"Argument for B alone, after those of both; may be repeated." placeholder:"ARG" sep:"none"`
	MaxPairs     int              `help:"Most pairs of runs." default:"60" placeholder:"N"`
	Runs         int              `help:"How often each side runs in a pair; default: until they took 0.2 s, at most 10 times." placeholder:"N"`
	Budget       time.Duration    `help:"Longest time to measure." default:"5m" placeholder:"D"`
	Timeout      time.Duration    `help:"Longest time of one run; default: the budget." placeholder:"D"`
	Warmup       int              `help:"How often each side runs before the first pair, unmeasured." default:"1" placeholder:"N"`
	Instructions measure.Counting `help:"How to count instructions: ${enum}." enum:"auto,counters,valgrind,off" default:"auto"`
	Input        string           `help:"File that both read; default: nothing." type:"path" placeholder:"FILE"`
	Parse        string           `help:"Read further metrics from what they print: jsonlines, benchfmt or benchlib." placeholder:"FORMAT"`
	FailOn       string           `help:"Exit with 1 if there is a regression, or any change: ${enum}." enum:"none,regression,change" default:"none"`
	All          bool             `help:"Show every metric."`
	Format       string           `help:"How to print: ${enum}." enum:"table,markdown,samples,json" default:"table"`
	JSON         bool             `help:"The same as --format json." name:"json"`
}

// Help is shown by --help.
func (*abCmd) Help() string {
	return `It needs no server. It runs both sides in turns until their difference is decided, or --max-pairs or --budget is spent.

  tacho ab ./old ./new -- --size 10             two programs with the same arguments
  tacho ab old/ new/ -- ./bench                 one command in two directories
  tacho ab main HEAD --build make -- ./bench    two git revisions
  tacho ab ./bench ./bench --env-b GOGC=off     one program under two settings
  tacho ab go1.25/ go1.26/ --suite suite.toml   the benchmarks of a suite, with two artifacts

Exit codes: 0 measured, 1 what --fail-on names, or measuring itself failed, 2 wrong usage, 4 a side or its build failed, 130 interrupted; what is known so far is printed.`
}

// The exit codes of tacho ab alone.
const (
	exitSideFailed  = 4
	exitInterrupted = 130
)

// codeError ends a command with an exit code of its own. Without a cause nothing more is said.
type codeError struct {
	code  int
	cause error
}

// Error implements error.
func (e codeError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.cause.Error()
}

// Unwrap returns the cause.
func (e codeError) Unwrap() error { return e.cause }

// Run compares two sides.
func (c *abCmd) Run(ctx context.Context, p *Program) error {
	if c.Suite != "" {
		return c.runSuite(ctx, p)
	}
	if len(c.Benchmark) > 0 {
		return usage.Errorf("--benchmark needs --suite: it names benchmarks of a suite")
	}
	plan, err := c.plan(p)
	if err != nil {
		return err
	}
	wish := ab.Wish{
		A: c.A, B: c.B, Args: c.Args, Build: c.Build, SetA: c.EnvA, SetB: c.EnvB, MoreA: c.ArgsA, MoreB: c.ArgsB,
		Environ: os.Environ(), Say: func(text string) { p.say("%s", text) },
	}
	a, b, notes, remove, err := ab.Sides(ctx, wish)
	defer remove()
	for _, n := range notes {
		p.say("note: %s", n)
	}
	if err != nil {
		return c.sidesFailed(ctx, err)
	}
	plan.A, plan.B = a, b
	result, err := ab.Measure(ctx, runner.New(runner.Settings{}), plan)
	if p.screen != nil {
		p.screen.show("")
	}
	result.Notes = append(notes, result.Notes...)
	if shown := c.show(p, result); shown != nil {
		return shown
	}
	return c.ended(result, err)
}

// plan reads the flags.
func (c *abCmd) plan(p *Program) (plan ab.Plan, err error) {
	plan = ab.Plan{MaxPairs: c.MaxPairs, Budget: c.Budget, Timeout: c.Timeout, Runs: c.Runs, Warmup: c.Warmup, Counting: c.Instructions}
	if err := plan.Check(); err != nil {
		return plan, usage.Error{Err: err}
	}
	if plan.Parse, err = runner.ParserOf(c.Parse); err != nil {
		return plan, usage.Errorf("--parse: %w", err)
	}
	if c.Input != "" {
		if plan.Input, err = os.ReadFile(c.Input); err != nil {
			return plan, usage.Errorf("--input: %w", err)
		}
	}
	if p.screen != nil {
		plan.Progress = func(now ab.Progress) { p.screen.show(progressOf(now)) }
	}
	return plan, nil
}

// progressOf says in one line what is known so far.
func progressOf(now ab.Progress) string {
	line := fmt.Sprintf("pair %d of at most %d", now.Pairs, now.MaxPairs)
	if now.Doing != "" {
		line = now.Doing
	}
	if j := now.Judged; j.Change != nil {
		line += fmt.Sprintf("   %s %s", now.Metric.Name, ab.Signed(*j.Change))
		if j.Interval != nil {
			line += " (" + ab.Range(*j.Interval) + ")"
		}
	}
	return line
}

// sidesFailed gives an error of finding and building the sides its exit code.
func (*abCmd) sidesFailed(ctx context.Context, err error) error {
	var unknown *ab.UnknownError
	switch {
	case ctx.Err() != nil:
		return codeError{exitInterrupted, errors.New("interrupted before the first run")}
	case errors.As(err, &unknown):
		return usage.Error{Err: err}
	}
	return codeError{exitSideFailed, err}
}

// ended gives a result its exit code.
func (c *abCmd) ended(r ab.Result, err error) error {
	switch {
	case errors.Is(err, ab.ErrFailed):
		return codeError{exitSideFailed, err}
	case r.Ended == ab.EndInterrupted:
		return codeError{code: exitInterrupted}
	case err != nil:
		return err
	case r.Pairs == 0:
		return errors.New("nothing was measured: " + r.End())
	case c.FailOn != "none" && r.Regressed(), c.FailOn == "change" && r.Changed():
		return codeError{code: ExitFailed}
	}
	return nil
}

// show prints a result.
func (c *abCmd) show(p *Program, r ab.Result) error {
	switch {
	case c.JSON || c.Format == "json":
		return p.json(r)
	case c.Format == "samples":
		return compare.SamplesCSV(p.exactly(p.Stdout), r.Samples())
	case c.Format == "markdown":
		return r.Markdown(p.Stdout, c.All)
	}
	a, b := r.Label()
	fmt.Fprintf(p.Stdout, "a: %s\nb: %s\n%s\n", a, b, r.Sentence())
	if rows := r.Rows(c.All); len(rows) > 0 {
		fmt.Fprintln(p.Stdout)
		if err := table(p.Stdout, ab.Headings(), rows); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout)
	}
	for _, remark := range r.Remarks() {
		fmt.Fprintln(p.Stdout, remark)
	}
	return nil
}
