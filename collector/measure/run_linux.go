package measure

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
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

// runOrder starts a shim, gives it the order and waits for its report and its end.
func (r *Runner) runOrder(ctx context.Context, o order) (Outcome, error) {
	s, err := r.startShim(&o)
	if err != nil {
		return Outcome{}, err
	}
	defer s.close()
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(ctx, ended, s, o)
	}()

	var answer report
	err = gob.NewEncoder(s.orders).Encode(o)
	if err == nil {
		err = gob.NewDecoder(s.reports).Decode(&answer)
	}
	if err == nil {
		_ = s.cmd.Process.Kill() // the shim has nothing to do after its report, so do not wait for its exit
	}
	waitErr := s.cmd.Wait()
	s.stdout.end()
	s.stderr.end()
	close(ended)
	<-watched

	switch {
	case context.Cause(ctx) != nil:
		return Outcome{}, fmt.Errorf("run %q: %w", o.Cmd.Path, context.Cause(ctx))
	case err != nil:
		return Outcome{}, fmt.Errorf("run %q: the measuring process gave no report (it ended with %v and said %q): %w",
			o.Cmd.Path, waitErr, s.stderr.Bytes(), err)
	case answer.Fault != "":
		return Outcome{}, fmt.Errorf("%w: %s", ErrStart, answer.Fault)
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
		Stdout:        s.stdout.Bytes(),
		Stderr:        s.stderr.Bytes(),
		StdoutDropped: s.stdout.dropped,
		StderrDropped: s.stderr.dropped,
		Took:          answer.Took,
	}, nil
}

// watch makes sure that a run ends. It tells the shim to stop when ctx ends. It kills a shim that does not stop then,
// or that is well over the time limit, which the shim itself should keep.
func (r *Runner) watch(ctx context.Context, ended <-chan struct{}, s *shim, o order) {
	var overdue <-chan time.Time
	if o.Cmd.Timeout > 0 {
		timer := time.NewTimer(o.Cmd.Timeout + r.stopDelay())
		defer timer.Stop()
		overdue = timer.C
	}
	select {
	case <-ended:
		return
	case <-ctx.Done():
		_ = s.orders.Close() // the end of the order pipe means: stop
		timer := time.NewTimer(r.stopDelay())
		defer timer.Stop()
		select {
		case <-ended:
			return
		case <-timer.C:
		}
	case <-overdue:
	}
	_ = s.cmd.Process.Kill() // an error means that it has just ended
	if o.Cgroup != "" {
		_ = cgroup(o.Cgroup).kill() // fails on old kernels; the command itself dies with the shim
	}
}

// shim is a started shim, as the collector sees it.
type shim struct {
	cmd            *exec.Cmd
	orders         *os.File
	reports        *os.File
	stdout, stderr *output
	// noNetwork says why the shim shares our network although it should not; empty when all is well.
	noNetwork string
}

func (s *shim) close() {
	_ = s.orders.Close()
	_ = s.reports.Close()
}

// startShim starts a shim. If the command must have no network and the machine allows it, the shim gets a network
// namespace of its own.
func (r *Runner) startShim(o *order) (*shim, error) {
	var refusals []error
	if o.Cmd.NoNet {
		for _, attr := range isolated() {
			s, err := r.tryShim(*o, attr)
			if err == nil {
				o.Loopback = true
				return s, nil
			}
			refusals = append(refusals, err)
		}
	}
	s, err := r.tryShim(*o, &syscall.SysProcAttr{})
	if err != nil {
		return nil, err
	}
	if len(refusals) > 0 {
		s.noNetwork = "refused: " + refusals[len(refusals)-1].Error()
	}
	return s, nil
}

// isolated returns the ways to get a network namespace, best first. Root just makes one. Any other user, and a root
// without that right, needs a user namespace around it, in which the user keeps his id.
func isolated() []*syscall.SysProcAttr {
	var ways []*syscall.SysProcAttr
	if os.Geteuid() == 0 {
		ways = append(ways, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET})
	}
	return append(ways, &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWNET | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		// The shim needs this right to switch on the loopback, and drops it before it forks the command.
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
	})
}

func (r *Runner) tryShim(o order, attr *syscall.SysProcAttr) (*shim, error) {
	orderReader, orders, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the measuring process: %w", err)
	}
	defer func() { _ = orderReader.Close() }()
	reports, reportWriter, err := os.Pipe()
	if err != nil {
		_ = orders.Close()
		return nil, fmt.Errorf("start the measuring process: %w", err)
	}
	defer func() { _ = reportWriter.Close() }()

	s := &shim{orders: orders, reports: reports}
	s.stdout, s.stderr = newOutputs(o.Cmd)
	// A group of its own, so that an interrupt typed at the terminal reaches only the collector.
	attr.Setpgid = true
	s.cmd = &exec.Cmd{
		// Not the path: if the program is replaced on disk while it runs, it must not talk to its successor.
		Path:        "/proc/self/exe",
		Args:        []string{os.Args[0], shimArgument},
		Env:         []string{},
		Stdout:      s.stdout,
		Stderr:      s.stderr,
		ExtraFiles:  slices.Concat([]*os.File{orderFD - 3: orderReader, reportFD - 3: reportWriter}, o.Cmd.Files, r.Held),
		SysProcAttr: attr,
		WaitDelay:   r.stopDelay(),
	}
	if len(o.Cmd.Stdin) > 0 {
		s.cmd.Stdin = bytes.NewReader(o.Cmd.Stdin)
	}
	if err := s.cmd.Start(); err != nil {
		s.close()
		return nil, fmt.Errorf("start the measuring process: %w", err)
	}
	return s, nil
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
