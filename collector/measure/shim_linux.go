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
)

// order is what the collector asks of a shim. Gob carries it, since arguments and environment are bytes
// and need not be valid text.
type order struct {
	Cmd Cmd
	// Cgroup is the directory of the cgroup made for this command, if there is one; otherwise NoCgroup
	// says why not.
	Cgroup   string
	NoCgroup string
	// Loopback asks to switch on the loopback: the shim is in a network namespace of its own.
	Loopback bool
}

// report is the shim's answer. A Fault means that the command was not started.
type report struct {
	Fault    string
	Exit     int
	Signal   string
	TimedOut bool
	Metrics  map[events.Metric]float64
	Missing  map[events.Metric]string
	Evidence Evidence
	Took     map[string]string
}

// RunShimIfAsked does the work of a shim if this process was started as one, and then returns true: the
// program ends at once. It comes first in main, and in the TestMain of packages that measure.
func RunShimIfAsked() bool {
	if !isShim() {
		return false
	}
	// Settings and counters belong to a thread, and the command dies with the thread that forked it.
	// Any thread will do, but it has to be the same one to the end; so it is never unlocked.
	runtime.LockOSThread()
	orders, reports := os.NewFile(orderFD, "order"), os.NewFile(reportFD, "report")
	// The command inherits nothing but its standard files, whatever we were started with. A kernel
	// without this call leaves what others left open, which is their leak.
	_ = unix.CloseRange(orderFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	var o order
	if err := gob.NewDecoder(orders).Decode(&o); err != nil {
		return true // the collector went away, or somebody typed the hidden argument
	}
	r, err := execute(o, endOf(orders))
	if err != nil {
		r.Fault = err.Error()
	}
	hush()
	// If nobody reads the report, the collector is gone or has given up on this run.
	_ = gob.NewEncoder(reports).Encode(r)
	return true
}

// hush lets go of the command's stdout and stderr: what our runtime may say at the end is not its output.
func hush() {
	null, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return // then the output may have a line too many
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

// execute runs the command, leaves no descendant of it behind, and returns what was measured.
func execute(o order, gone <-chan struct{}) (report, error) {
	group := cgroup(o.Cgroup)
	kill := func() {
		if group != "" {
			_ = group.kill() // what it cannot do, the walk does
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
	counters, r.Missing = openCounters()

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
