package measure

import (
	"encoding/gob"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/events"
)

const (
	// shimArgument is the hidden first and only argument of a shim.
	shimArgument = "__tacho-measure-shim"
	// The shim reads its order from one descriptor and writes its report to another.
	orderFD  = 3
	reportFD = 4
	// The files that the command inherits follow.
	filesFD = 5
)

// order is what the collector asks of a shim. It is sent as gob, since arguments and environment are bytes and need
// not be valid text.
type order struct {
	Cmd Cmd
	// Cgroup is the directory of the cgroup made for this command. If there is none, NoCgroup says why.
	Cgroup   string
	NoCgroup string
	// Loopback tells the shim to switch on the loopback: the shim is in a network namespace of its own.
	Loopback bool
	// Uncounted tells it to open no counter of instructions.
	Uncounted bool
}

// report is the shim's answer. A Fault means that the command was not started.
type report struct {
	Fault    string
	Exit     int
	Signal   string
	TimedOut bool
	// OutOfMemory and MemoryPeak are those of Outcome.
	OutOfMemory bool
	MemoryPeak  int64
	Metrics     map[events.Metric]float64
	Missing     map[events.Metric]string
	Evidence    Evidence
	Took        map[string]string
}

// RunShimIfAsked does the work of a shim if this process was started as one. It then returns true, and the program
// must end at once. Call it first in main, and in the TestMain of packages that measure.
func RunShimIfAsked() bool {
	if !isShim() {
		return false
	}
	// Settings and counters belong to a thread, and the command dies with the thread that forked it. Any thread will
	// do, but it must stay the same one to the end. So it is never unlocked.
	runtime.LockOSThread()
	orders, reports := os.NewFile(orderFD, "order"), os.NewFile(reportFD, "report")
	// The command inherits only its standard files, whatever files this process was started with. On a kernel without
	// this call it also inherits files that other programs leaked.
	_ = unix.CloseRange(orderFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	var o order
	if err := gob.NewDecoder(orders).Decode(&o); err != nil {
		return true // the collector has gone, or a person typed the hidden argument
	}
	widenOutput()
	r, err := execute(o, endOf(orders))
	if err != nil {
		r.Fault = err.Error()
	}
	closeOutput()
	// If the report is not read, the collector has gone or has given up on this run.
	_ = gob.NewEncoder(reports).Encode(r)
	return true
}

// outputRoom is how much a command may print before anybody reads it, in bytes: what the kernel gives to every user.
const outputRoom = 1 << 20

// widenOutput lets the command print that much at once: who reads it is on a CPU only now and then. With less room, which the
// kernel has for users with many pipes, the command may have to wait for that.
func widenOutput() {
	for _, fd := range []uintptr{1, 2} {
		_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, outputRoom)
	}
}

// closeOutput closes the command's stdout and stderr: a last line of our own runtime is not part of the command's output.
func closeOutput() {
	null, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return // the output may then have a line too many
	}
	_ = unix.Dup3(null, 1, 0)
	_ = unix.Dup3(null, 2, 0)
}

// isShim reports whether this process was started as a shim.
func isShim() bool { return len(os.Args) == 2 && os.Args[1] == shimArgument }

// endOf returns a channel that is closed when the other side of the pipe is closed: the collector gave
// up, or died. The goroutine ends with the process.
func endOf(pipe *os.File) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		_, _ = pipe.Read(make([]byte, 1))
		close(gone)
	}()
	return gone
}

// execute runs the command, kills what remains of its descendants, and returns what was measured.
func execute(o order, gone <-chan struct{}) (report, error) {
	group := cgroup(o.Cgroup)
	kill := func() {
		if group != "" {
			_ = group.kill() // killDescendants kills the rest
		}
		killDescendants(os.Getpid())
	}
	defer func() {
		reapAll(kill)
		if group != "" {
			_ = group.remove(time.Second) // the collector tries again, and reports it
		}
	}()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report{}, fmt.Errorf("become the sub-reaper: %w", err)
	}
	r := report{Metrics: map[events.Metric]float64{}}
	loopback := ""
	if o.Loopback {
		loopback = effect("own loopback only", raiseLoopback())
	}
	r.Took = applySettings(o.Cmd)
	if loopback != "" {
		r.Took[SettingNetwork] = loopback
	}
	var counters []counter
	counters, r.Missing = openCounters(o.Uncounted)

	p := process{group: group, before: readStat(), start: time.Now()}
	if err := p.fork(o); err != nil {
		return r, err
	}
	p.floor = peakMemory()
	r.TimedOut = p.await(o.Cmd.Timeout, gone, kill)
	if err := p.reap(); err != nil {
		return r, err
	}
	r.Exit = p.status.ExitStatus()
	if p.status.Signaled() {
		r.Signal = unix.SignalName(p.status.Signal())
	}
	readCounters(counters, r.Metrics, r.Missing)
	p.account(o.Cmd, &r)
	return r, nil
}
