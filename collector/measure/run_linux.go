package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/events"
)

// Run executes c and returns what it cost. The program's main must begin with RunShimIfAsked. A command that fails,
// dies or runs out of time is an Outcome. An error means that nothing was measured: the command could not be started
// (ErrStart), ctx ended (its cause), or measuring itself failed. When Run returns, no process of the command is left.
func (r *Runner) Run(ctx context.Context, c Cmd) (Outcome, error) {
	if err := c.check(); err != nil {
		return Outcome{}, err
	}
	if isShim() {
		// Without this check, a program whose main lacks that call would start itself without end.
		return Outcome{}, fmt.Errorf("run %q: begin main (or TestMain) of this program with measure.RunShimIfAsked", c.Path)
	}
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, fmt.Errorf("run %q: %w", c.Path, err)
	}
	o := order{Cmd: c, Uncounted: r.Counting == CountOff}
	if c.Dir == "" { // a shim that stays is where this process was when it began
		if dir, err := os.Getwd(); err == nil {
			o.Cmd.Dir = dir
		}
	}
	var limits map[string]string
	if r.NoCgroup {
		o.NoCgroup = "switched off"
	} else if group, err := newCgroup(); err != nil {
		o.NoCgroup = err.Error()
	} else {
		o.Cgroup = string(group)
		limits = group.limit(r.Limits)
	}
	out, err := r.runOrder(ctx, o)
	if outside, without := strings.CutPrefix(out.Took[SettingCgroup], noCgroup); without {
		limits = r.Limits.refused(outside)
	}
	if err == nil {
		maps.Copy(out.Took, limits)
		out.MemoryLimit = r.Limits.Memory
	}
	if o.Cgroup != "" {
		if removeErr := cgroup(o.Cgroup).remove(r.stopDelay()); err == nil && removeErr != nil {
			err = fmt.Errorf("run %q: %w", c.Path, removeErr)
		}
	}
	if err == nil {
		r.ended(out)
	}
	return out, err
}

// runOrder gives a shim the order, and waits for its report.
func (r *Runner) runOrder(ctx context.Context, o order) (Outcome, error) {
	for s := r.Shims.take(o.Cmd.NoNet); s != nil; s = r.Shims.take(o.Cmd.NoNet) {
		out, begun, err := r.give(ctx, s, o)
		if begun {
			return out, err
		}
		// This shim has died since its last command.
	}
	s, err := r.startShim(o.Cmd.NoNet)
	if err != nil {
		return Outcome{}, err
	}
	out, _, err := r.give(ctx, s, o)
	return out, err
}

// give lets a shim execute the order. If the command has not begun, the shim is of no use.
func (r *Runner) give(ctx context.Context, s *shim, o order) (out Outcome, begun bool, err error) {
	st, err := openStreams(o.Cmd)
	if err != nil {
		r.Shims.keep(s)
		return Outcome{}, true, err
	}
	defer st.close()
	o.Loopback, o.Stdin, o.Held = s.loopback, len(o.Cmd.Stdin) > 0, len(r.Held)
	files := slices.Concat(st.theirs, o.Cmd.Files, r.Held)
	o.Cmd.Stdin = nil
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(ctx, ended, s, o)
	}()
	var answer report
	err = s.send(o, files)
	begun = err == nil
	st.begin()
	if begun {
		err = s.reports.Decode(&answer)
		// The kernel says so if the shim ended before it had read the order.
		begun = !errors.Is(err, unix.ECONNRESET)
	}
	if err != nil {
		s.kill()
	}
	st.wait(r.stopDelay())
	close(ended)
	<-watched
	var end error
	if s.spent.Load() {
		end = s.end()
	} else {
		r.Shims.keep(s)
	}

	switch {
	case context.Cause(ctx) != nil:
		return Outcome{}, true, fmt.Errorf("run %q: %w", o.Cmd.Path, context.Cause(ctx))
	case err != nil:
		return Outcome{}, begun, fmt.Errorf("run %q: the measuring process gave no report (it ended with %v and said %q): %w",
			o.Cmd.Path, end, s.said.Bytes(), err)
	case answer.Fault != "":
		return Outcome{}, true, fmt.Errorf("%w: %s", ErrStart, answer.Fault)
	}
	if s.noNetwork != "" {
		answer.Took[SettingNetwork] = s.noNetwork
	}
	return Outcome{
		Metrics:       answer.Metrics,
		Missing:       answer.Missing,
		Evidence:      answer.Evidence,
		Interference:  r.interference(answer.Evidence),
		ExitCode:      answer.Exit,
		Signal:        answer.Signal,
		TimedOut:      answer.TimedOut,
		OutOfMemory:   answer.OutOfMemory,
		MemoryPeak:    answer.MemoryPeak,
		Stdout:        st.stdout.Bytes(),
		Stderr:        st.stderr.Bytes(),
		StdoutDropped: st.stdout.dropped,
		StderrDropped: st.stderr.dropped,
		Took:          answer.Took,
	}, true, nil
}

// Probe returns which metrics this machine can measure, and for each other metric why not.
func Probe(context.Context) (have []events.Metric, missing map[events.Metric]string) {
	have, missing = probeCounters()
	have = append(have, WallTime, UserTime, SysTime, MaxRSS)
	if group, err := newCgroup(); err != nil {
		missing[CPUTime] = err.Error()
	} else {
		have = append(have, CPUTime)
		_ = group.remove(time.Second) // the group is empty
	}
	slices.Sort(have)
	return have, missing
}
