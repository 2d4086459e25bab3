package measure

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/events"
)

const (
	// shimArgument is the hidden first and only argument of a shim.
	shimArgument = "__tacho-measure-shim"
	// orderFD is the descriptor of the socket from which the shim reads its orders, and to which it writes its reports.
	orderFD = 3
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
	// Stdin says that a pipe for it is among the files that come with the order: stdout, stderr, stdin if there is one, those
	// of the command, and those to hold, of which there are Held.
	Stdin bool
	Held  int
	// Uncounted tells it to open no counter of instructions.
	Uncounted bool

	// files are the descriptors that came with it.
	files []int
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
	// No command is forked from the main thread: the runtime cannot end it, see serve.
	runtime.LockOSThread()
	// The command inherits only its standard files, whatever files this process was started with. On a kernel without
	// this call it also inherits files that other programs leaked.
	_ = unix.CloseRange(orderFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	serve(os.NewFile(orderFD, "collector"))
	return true
}

// gcPercent keeps the heap of a shim as small as at its start: it makes little garbage.
const gcPercent = 20

// serve executes orders, one after the other, until the collector closes its end: it has no more of them, gave up, or died.
func serve(collector *os.File) {
	// What the command inherits at its start includes this process's peak of memory, which must not grow.
	debug.SetGCPercent(gcPercent)
	orders, gone := make(chan order), make(chan struct{})
	go func() {
		defer close(gone)
		decoder := gob.NewDecoder(collector)
		for {
			var o order
			files, err := receive(collector)
			if err != nil || decoder.Decode(&o) != nil {
				return // the collector has gone, or a person typed the hidden argument
			}
			o.files = files
			orders <- o
		}
	}()
	reports, done := gob.NewEncoder(collector), make(chan report)
	for {
		select {
		case o := <-orders:
			go func() {
				// Settings and counters belong to a thread, and the command dies with the thread that forked it. So each
				// order has a thread. It is never unlocked, and ends with the order: the next one finds nothing of it.
				runtime.LockOSThread()
				done <- obey(o, gone)
			}()
			if reports.Encode(<-done) != nil {
				return // the collector has gone or has given up
			}
		case <-gone:
			return
		}
	}
}

// receive waits for the byte that comes before an order, and returns its files.
func receive(collector *os.File) ([]int, error) {
	socket := int(collector.Fd())
	mark, room := make([]byte, 1), make([]byte, unix.CmsgSpace(4*maxFiles))
	for {
		n, size, _, _, err := unix.Recvmsg(socket, mark, room, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		}
		messages, err := unix.ParseSocketControlMessage(room[:size])
		if err != nil || len(messages) == 0 {
			return nil, err
		}
		return unix.ParseUnixRights(&messages[0])
	}
}

// isShim reports whether this process was started as a shim.
func isShim() bool { return len(os.Args) == 2 && os.Args[1] == shimArgument }

// obey executes an order, and closes its files.
func obey(o order, gone <-chan struct{}) report {
	r, err := execute(&o, gone)
	if err != nil {
		r.Fault = err.Error()
	}
	o.close(len(o.files))
	return r
}

// close closes the next n files of the order.
func (o *order) close(n int) {
	for _, fd := range o.files[:n] {
		_ = unix.Close(fd)
	}
	o.files = o.files[n:]
}

// execute runs the command, kills what remains of its descendants, and returns what was measured.
func execute(o *order, gone <-chan struct{}) (report, error) {
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
	if want := 2 + len(o.Cmd.Files) + o.Held; len(o.files) != want && !(o.Stdin && len(o.files) == want+1) {
		return report{}, fmt.Errorf("%d files came with the order, %d were given: this process may open no more", len(o.files), want)
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
	err := p.fork(*o)
	o.close(len(o.files) - o.Held)
	if err != nil {
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
