package measure

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is the measured command, as its shim sees it.
type process struct {
	pid int
	// group is its cgroup. It is empty when the command runs in the shim's cgroup; outside then says why.
	group   cgroup
	outside string
	// before is how the CPUs had spent their time until the start.
	before     map[int]cpuTicks
	start, end time.Time
	// floor is the peak of memory that it inherits from the shim, in bytes; 0 if that is unknown.
	floor  int64
	status unix.WaitStatus
	usage  unix.Rusage
}

// noCgroup begins the value of SettingCgroup when the command had no cgroup of its own.
const noCgroup = "none: "

// fork starts the command, in the cgroup if there is one and the kernel accepts it.
func (p *process) fork(o order) error {
	stdin, given := 0, o.files[:len(o.files)-o.Held]
	if o.Stdin {
		stdin, given = given[2], slices.Delete(slices.Clone(given), 2, 3)
	} else {
		// What one command sets on its stdin, another must not see.
		null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open the command's stdin: %w", err)
		}
		defer func() { _ = unix.Close(null) }()
		stdin = null
	}
	attr := &syscall.ProcAttr{
		Dir:   o.Cmd.Dir,
		Env:   o.Cmd.Env,
		Files: []uintptr{uintptr(stdin)},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	for _, fd := range given {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	argv := append([]string{o.Cmd.Path}, o.Cmd.Args...)
	p.outside = o.NoCgroup
	if p.group != "" {
		dir, err := os.Open(string(p.group))
		if err == nil {
			defer func() { _ = dir.Close() }()
			attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(dir.Fd())
			if p.pid, err = syscall.ForkExec(o.Cmd.Path, argv, attr); err == nil {
				return nil
			}
			attr.Sys.UseCgroupFD = false
		}
		// The command itself may be the cause: the second try shows that.
		p.group, p.outside = "", err.Error()
		p.start = time.Now()
	}
	var err error
	if p.pid, err = syscall.ForkExec(o.Cmd.Path, argv, attr); err != nil {
		return fmt.Errorf("start %q in %q: %w", o.Cmd.Path, o.Cmd.Dir, err)
	}
	return nil
}

// await waits until the command ends. It kills the command when its time is up, and then returns true, or when the
// collector has gone.
func (p *process) await(timeout time.Duration, gone <-chan struct{}, kill func()) (timedOut bool) {
	exited := exitOf(p.pid)
	var limit <-chan time.Time
	if timeout > 0 {
		limit = time.After(time.Until(p.start.Add(timeout)))
	}
	select {
	case p.end = <-exited:
		return false
	case <-limit:
		timedOut = true
	case <-gone:
	}
	kill()
	p.end = <-exited
	return timedOut
}

// exitOf returns a channel that yields the time at which the process ended. The process stays a zombie until it is
// reaped, so that its number is not used again.
func exitOf(pid int) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
			continue
		}
		ended <- time.Now()
	}()
	return ended
}

func (p *process) reap() error {
	for {
		_, err := unix.Wait4(p.pid, &p.status, 0, &p.usage)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for the command: %w", err)
		}
	}
}

// account adds to the report what the kernel says about the reaped process, besides the counters.
func (p *process) account(c Cmd, r *report) {
	wall := p.end.Sub(p.start)
	user, sys := time.Duration(p.usage.Utime.Nano()), time.Duration(p.usage.Stime.Nano())
	r.Metrics[WallTime] = wall.Seconds()
	r.Metrics[UserTime] = user.Seconds()
	r.Metrics[SysTime] = sys.Seconds()
	if peak := p.usage.Maxrss << 10; p.aboveFloor(peak) {
		r.Metrics[MaxRSS] = float64(peak)
	} else {
		r.Missing[MaxRSS] = fmt.Sprintf("too small to tell: not above the %.1f MB of the measuring process", float64(p.floor)/1e6)
	}
	own := user + sys
	if p.group == "" {
		r.Took[SettingCgroup] = noCgroup + p.outside
		r.Missing[CPUTime] = "no cgroup of its own: " + p.outside
	} else {
		r.Took[SettingCgroup] = "own"
		if used, err := p.group.usage(); err != nil {
			r.Missing[CPUTime] = err.Error()
		} else {
			own = used
			r.Metrics[CPUTime] = used.Seconds()
		}
		if stalled, err := p.group.stall(); err == nil {
			r.Evidence.Stall = share(stalled, wall)
		}
		r.OutOfMemory, r.MemoryPeak = p.group.memory()
	}
	var pinned []int
	if len(c.CPUs) > 0 && r.Took[SettingCPUs] == joinInts(c.CPUs) {
		pinned = c.CPUs
	}
	r.Evidence.Foreign, r.Evidence.Steal = shares(p.before, readStat(), pinned, time.Since(p.start), own)
}

// aboveFloor reports whether a peak of memory says something about the command. The kernel's sums are approximate, so
// the peak must be some distance above the floor.
func (p *process) aboveFloor(peak int64) bool {
	return p.floor > 0 && peak > p.floor+p.floor/8
}

// peakMemory returns the largest size that this process has had, or 0 if that is unknown.
func peakMemory() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	peak, err := parseKilobytes(data, "VmHWM")
	if err != nil {
		return 0
	}
	return peak
}

// readStat returns how the CPUs have spent their time until now, or nil if that is unknown.
func readStat() map[int]cpuTicks {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	cpus, err := parseStat(data)
	if err != nil {
		return nil
	}
	return cpus
}
