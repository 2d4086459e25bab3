package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Steps is a job that runs commands, unmeasured, and where. Slot, Cache, Caches and Limits are as in a Job.
type Steps struct {
	Plan      suite.StepsPlan
	Toolchain Toolchain
	Slot      string
	Cache     string
	// Source puts the program into dir, which does not exist yet. It is called only if the plan has a program.
	Source func(dir string) error
	Caches func(name string) (dir string, err error)
	Limits measure.Limits
	// Turn is as in a Job. The caller ends the turn.
	Turn func(ctx context.Context) (*os.File, error)
}

// StepsError says why the commands of a job are no success. They would end so again.
type StepsError struct {
	Kind   events.ErrorKind
	Reason string
}

func (e *StepsError) Error() string { return e.Reason }

// RetryError says that a command asked, by its exit code, for the job to be tried again later.
type RetryError struct{ Reason string }

func (e *RetryError) Error() string { return e.Reason }

const (
	// stepOutputLimit bounds, in bytes, what is kept of each output of a command; patterns see no more.
	stepOutputLimit = 8 << 20
	// metricsLimit bounds the file of metrics in bytes. A test case of more than maxCaseBytes fits no event.
	metricsLimit = 8 << 20
	// quotedLine bounds what a message quotes of a line, in bytes.
	quotedLine = 300
)

// RunSteps runs the commands of a job, and reports what they found out to sink. The error is a *StepsError, a *RetryError,
// ErrInterrupted, ErrTransient, or what the sink returned.
func (r *Runner) RunSteps(ctx context.Context, job Steps, sink Sink) error {
	limited, unlock, err := r.enter(ctx, job.Slot, job.Limits, sink)
	if err != nil {
		return err
	}
	defer unlock()
	if err := take(ctx, job.Turn, limited); err != nil {
		return err
	}
	slot := &Slot{Dir: job.Slot, Cache: job.Cache, caches: job.Caches, measure: limited, log: sink.Log}
	run := &steps{job: job, slot: slot, sink: sink, src: slot.Path("src"), required: make([]bool, len(job.Plan.Require))}
	began := time.Now()
	err = run.run(ctx)
	sink.Took(func(p *events.Phases) *int64 { return &p.Run }, time.Since(began))
	var failed *StepsError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	case outOfSpace(err):
		return diskFull(job.Slot, err)
	case errors.As(err, &failed):
		sink.Log(failed.Reason)
	}
	return err
}

// steps is the execution of one job that runs commands.
type steps struct {
	job  Steps
	slot *Slot
	sink Sink
	// src is the directory in which they run.
	src string
	// required says which of the patterns to require were found, left how many bytes of output were not looked at.
	required []bool
	left     int64
}

func (s *steps) run(ctx context.Context) error {
	if err := s.prepare(); err != nil {
		if outOfSpace(err) {
			return err
		}
		return &StepsError{events.ErrorPrepare, err.Error()}
	}
	plan := s.job.Plan
	total := len(plan.Steps) + len(plan.Always)
	var failed error
	for i, argv := range plan.Steps {
		s.sink.Started(plan.Case.Benchmark, i, total)
		if failed = s.step(ctx, fmt.Sprintf("step %d of %d", i+1, len(plan.Steps)), argv); failed != nil {
			break
		}
	}
	for i, argv := range plan.Always {
		s.sink.Started(plan.Case.Benchmark, len(plan.Steps)+i, total)
		err := s.step(ctx, fmt.Sprintf("step %d of %d at the end", i+1, len(plan.Always)), argv)
		if failed == nil {
			failed = err
		}
	}
	if failed == nil {
		failed = s.missing()
	}
	if failed != nil || plan.Success.Metrics == "" {
		return failed
	}
	return s.metrics(ctx)
}

// prepare empties the slot and puts the program there.
func (s *steps) prepare() error {
	if err := s.slot.clear(); err != nil {
		return err
	}
	if s.job.Plan.Source == "" {
		return os.Mkdir(s.src, 0o755)
	}
	if err := s.job.Source(s.src); err != nil {
		return fmt.Errorf("get the program: %w", err)
	}
	return nil
}

// step runs one command, and judges its end and what it printed.
func (s *steps) step(ctx context.Context, name string, argv []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	argv, err := s.arguments(argv)
	if err != nil {
		return &StepsError{events.ErrorPrepare, name + ": " + err.Error()}
	}
	env := slices.Concat(s.slot.Env(filepath.Join(s.job.Toolchain.Dir, "bin")), s.job.Plan.Env)
	cmd, err := s.slot.Command(s.src, env, argv)
	if err != nil {
		return &StepsError{events.ErrorCommand, name + ": " + err.Error()}
	}
	cmd.Timeout, cmd.OutputLimit = s.job.Plan.Timeout, stepOutputLimit
	out, err := s.slot.measure.Run(ctx, cmd)
	switch {
	case errors.Is(err, measure.ErrStart):
		return &StepsError{events.ErrorCommand, fmt.Sprintf("%s: %v", name, err)}
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	s.sink.Log(fmt.Sprintf("%s: %s took %.3f s%s", name, strings.Join(argv, " "), out.Metrics[measure.WallTime], printed(out)))
	if outOfSpace(judge(cmd, out)) {
		return judge(cmd, out)
	}
	return s.judge(name, cmd, out)
}

// arguments returns the arguments of a command with all fields replaced.
func (s *steps) arguments(argv []string) ([]string, error) {
	argv, err := suite.ReplaceCaches(argv, func(name string) (string, error) {
		if s.slot.caches == nil {
			return "", fmt.Errorf("the job has no cache %s", name)
		}
		return s.slot.caches(name)
	})
	if err != nil {
		return nil, err
	}
	return replaceAll(strings.NewReplacer("{artifact}", s.job.Toolchain.Dir, "{source}", s.src), argv), nil
}

// judge returns why the end of a command, or what it printed, is no success; nil if it is one.
func (s *steps) judge(name string, cmd measure.Cmd, out measure.Outcome) error {
	success := s.job.Plan.Success
	ended := judge(cmd, out)
	var failed *commandError
	errors.As(ended, &failed)
	normal := out.Signal == "" && !out.TimedOut && !out.OutOfMemory
	switch {
	case failed != nil && failed.outOfMemory:
		return &StepsError{events.ErrorMemory, name + ": " + ended.Error()}
	case failed != nil && failed.timedOut:
		return &StepsError{events.ErrorTimeout, name + ": " + ended.Error()}
	case normal && slices.Contains(success.RetryExit, out.ExitCode):
		return &RetryError{fmt.Sprintf("%s: %v, by which it asks for another try", name, ended)}
	case !normal || !slices.Contains(success.Exit, out.ExitCode) && ended != nil:
		return &StepsError{events.ErrorCommand, fmt.Sprintf("%s: %v", name, ended)}
	case !slices.Contains(success.Exit, out.ExitCode):
		return &StepsError{events.ErrorCommand, fmt.Sprintf("%s: %s ended with exit code 0, which is no success here", name, filepath.Base(cmd.Path))}
	}
	s.left += out.StdoutDropped + out.StderrDropped
	for _, printed := range [][]byte{out.Stdout, out.Stderr} {
		number := 0
		for line := range bytes.Lines(printed) {
			number++
			line = bytes.TrimRight(line, "\r\n")
			if i := matching(s.job.Plan.Fail, line); i >= 0 {
				return &StepsError{events.ErrorCommand, fmt.Sprintf("%s: line %d matches %q, which is a failure: %s", name, number, success.Fail[i], quoted(line))}
			}
			for i, p := range s.job.Plan.Require {
				s.required[i] = s.required[i] || p.Match(line)
			}
		}
	}
	return nil
}

func matching(patterns []*regexp.Regexp, line []byte) int {
	return slices.IndexFunc(patterns, func(p *regexp.Regexp) bool { return p.Match(line) })
}

// quoted returns a line as a message shows it.
func quoted(line []byte) string {
	text := strings.ToValidUTF8(string(line[:min(len(line), quotedLine)]), "\uFFFD")
	if len(line) > quotedLine {
		text += "…"
	}
	return text
}

// printed returns the end of what a command printed, for the job's log.
func printed(out measure.Outcome) string {
	if text := tail(out); text != "" {
		return ", and printed:\n" + text
	}
	return ""
}

// missing returns the first pattern that no line of the commands matched.
func (s *steps) missing() error {
	i := slices.Index(s.required, false)
	if i < 0 {
		return nil
	}
	reason := fmt.Sprintf("no line that the commands printed matches %q, which success requires", s.job.Plan.Success.Require[i])
	if s.left > 0 {
		reason += fmt.Sprintf("; of what they printed %d bytes were not kept", s.left)
	}
	return &StepsError{events.ErrorCommand, reason}
}

// metrics reports the metrics that the commands left in their file.
func (s *steps) metrics(ctx context.Context) error {
	name := s.job.Plan.Success.Metrics
	wrong := func(format string, args ...any) error {
		return &StepsError{events.ErrorCommand, "metrics " + name + ": " + fmt.Sprintf(format, args...)}
	}
	data, err := s.readMetrics(name)
	if err != nil {
		return wrong("%v", err)
	}
	samples, err := ParseJSONLines(data)
	switch {
	case err != nil:
		return wrong("%v", err)
	case len(samples) == 0:
		return wrong("there are none: write lines such as {\"metric\":\"size\",\"value\":12}")
	}
	found := events.MeasuredCase{TestCase: s.job.Plan.Case}
	for _, m := range samples {
		found.Iterations = append(found.Iterations, events.Iteration{Metrics: m})
	}
	text, err := json.Marshal(found)
	switch {
	case err != nil:
		return wrong("%v", err)
	case len(text) > maxCaseBytes:
		return wrong("they are more than one test case may record (%d KiB): write fewer", maxCaseBytes>>10)
	}
	return s.sink.Measured(ctx, found)
}

// readMetrics reads the file of metrics. A link may not lead out of the directory of the commands.
func (s *steps) readMetrics(name string) ([]byte, error) {
	root, err := os.OpenRoot(s.src)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("the commands have not written it")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, metricsLimit+1))
	if err == nil && len(data) > metricsLimit {
		err = fmt.Errorf("it has more than %d bytes", metricsLimit)
	}
	return data, err
}
