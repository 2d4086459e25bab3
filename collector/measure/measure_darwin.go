package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/events"
)

// RunShimIfAsked returns false: no shim is needed here.
func RunShimIfAsked() bool { return false }

// Shims has nothing to keep: no shim is needed here.
type Shims struct{}

// Close does nothing.
func (*Shims) Close() {}

const unsupported = "not supported on this system"

// Run executes c and returns what it cost, on this system only times and memory. A command that fails, dies or runs
// out of time is an Outcome. An error means that nothing was measured: the command could not be started (ErrStart),
// or ctx ended (its cause). When Run returns, no process of the command's process group is left. A process that left
// the group is not found.
func (r *Runner) Run(ctx context.Context, c Cmd) (Outcome, error) {
	if err := c.check(); err != nil {
		return Outcome{}, err
	}
	stdout, stderr := newOutputs(c)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	cmd := exec.CommandContext(limited, c.Path, c.Args...)
	cmd.Env, cmd.Dir = append([]string{}, c.Env...), c.Dir
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if len(c.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.ExtraFiles = c.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = r.stopDelay()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", ErrStart, err)
	}
	waitErr := cmd.Wait()
	wall := time.Since(start)
	stdout.end()
	stderr.end()
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // remaining processes of the command, if any
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, fmt.Errorf("run %q: %w", c.Path, err)
	}
	status, known := cmd.ProcessState.Sys().(syscall.WaitStatus)
	usage, measured := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !known || !measured {
		return Outcome{}, fmt.Errorf("run %q: %w", c.Path, waitErr)
	}
	_, missing := Probe(ctx)
	out := Outcome{
		Metrics: map[events.Metric]float64{
			WallTime: wall.Seconds(),
			UserTime: cmd.ProcessState.UserTime().Seconds(),
			SysTime:  cmd.ProcessState.SystemTime().Seconds(),
			MaxRSS:   float64(usage.Maxrss), // bytes on this system
		},
		Missing:       missing,
		ExitCode:      status.ExitStatus(),
		TimedOut:      errors.Is(limited.Err(), context.DeadlineExceeded),
		Stdout:        stdout.Bytes(),
		Stderr:        stderr.Bytes(),
		StdoutDropped: stdout.dropped,
		StderrDropped: stderr.dropped,
		Took:          refusedSettings(c),
	}
	maps.Copy(out.Took, r.Limits.refused(unsupported))
	if status.Signaled() {
		out.Signal = unix.SignalName(status.Signal())
	}
	r.ended(out)
	return out, nil
}

// refusedSettings says for each requested setting that it took no effect.
func refusedSettings(c Cmd) map[string]string {
	refused := map[string]string{SettingCgroup: "none: " + unsupported}
	for setting, asked := range map[string]bool{
		SettingCPUs: len(c.CPUs) > 0, SettingNice: c.Nice != 0, SettingASLR: c.DisableASLR, SettingNetwork: c.NoNet,
	} {
		if asked {
			refused[setting] = "refused: " + unsupported
		}
	}
	return refused
}

// EnableLimits returns an error: this system has no cgroups.
func EnableLimits(int) error { return errors.New(unsupported) }

// Probe returns which metrics this machine can measure, and for each other metric why not.
func Probe(context.Context) (have []events.Metric, missing map[events.Metric]string) {
	missing = map[events.Metric]string{}
	for _, m := range []events.Metric{
		TaskClock, CPUTime, PageFaults, ContextSwitches, CPUMigrations, InstructionsU, CyclesU, BranchMisses, CacheMisses,
	} {
		missing[m] = unsupported
	}
	return []events.Metric{MaxRSS, SysTime, UserTime, WallTime}, missing
}

func readMachine() machine {
	m := machine{settings: map[string]string{}}
	// A value that cannot be read stays empty.
	m.kernel, _ = unix.Sysctl("kern.osrelease")
	m.cpu, _ = unix.Sysctl("machdep.cpu.brand_string")
	if cpus, err := unix.SysctlUint32("hw.ncpu"); err == nil {
		m.cpus = int(cpus)
	}
	if memory, err := unix.SysctlUint64("hw.memsize"); err == nil {
		m.memory = int64(memory)
	}
	return m
}
