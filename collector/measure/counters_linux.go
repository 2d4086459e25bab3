package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/events"
)

// event is one thing that perf_event_open can count.
type event struct {
	metric events.Metric
	kind   uint32
	config uint64
	// hardware events are always counted in user mode only.
	hardware bool
	// kernelOnly events happen in kernel mode, so that a count of user mode alone would be 0.
	kernelOnly bool
}

func eventTable() []event {
	return []event{
		{metric: TaskClock, kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_TASK_CLOCK},
		{metric: PageFaults, kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_PAGE_FAULTS},
		{metric: ContextSwitches, kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, kernelOnly: true},
		{metric: CPUMigrations, kind: unix.PERF_TYPE_SOFTWARE, config: unix.PERF_COUNT_SW_CPU_MIGRATIONS, kernelOnly: true},
		{metric: InstructionsU, kind: unix.PERF_TYPE_HARDWARE, config: unix.PERF_COUNT_HW_INSTRUCTIONS, hardware: true},
		{metric: CyclesU, kind: unix.PERF_TYPE_HARDWARE, config: unix.PERF_COUNT_HW_CPU_CYCLES, hardware: true},
		{metric: BranchMisses, kind: unix.PERF_TYPE_HARDWARE, config: unix.PERF_COUNT_HW_BRANCH_MISSES, hardware: true},
		{metric: CacheMisses, kind: unix.PERF_TYPE_HARDWARE, config: unix.PERF_COUNT_HW_CACHE_MISSES, hardware: true},
	}
}

// counter is one open event. unit converts its raw count.
type counter struct {
	metric events.Metric
	file   *os.File
	unit   float64
}

// openCounters opens all events on the calling thread, which must be locked. The thread itself is not counted: the
// counters are off, every process that is forked from the thread inherits them, and an exec turns the inherited ones
// on. Descendants are counted too. uncounted leaves out the counter of instructions.
func openCounters(uncounted bool) ([]counter, map[events.Metric]string) {
	var open []counter
	missing := map[events.Metric]string{}
	for _, e := range eventTable() {
		if uncounted && e.metric == InstructionsU {
			missing[e.metric] = "counting instructions is switched off"
			continue
		}
		file, err := openEvent(e, e.hardware)
		metric := e.metric
		if errors.Is(err, unix.EACCES) && !e.hardware {
			// An unprivileged user may count events in user mode, under a name that says so.
			missing[metric] = refusal(e, err)
			if e.kernelOnly {
				continue
			}
			metric = UserOnly(metric)
			file, err = openEvent(e, true)
		}
		if err != nil {
			missing[metric] = refusal(e, err)
			continue
		}
		unit := 1.0
		if e.metric == TaskClock {
			unit = time.Nanosecond.Seconds()
		}
		open = append(open, counter{metric: metric, file: file, unit: unit})
	}
	return open, missing
}

func openEvent(e event, userOnly bool) (*os.File, error) {
	attr := unix.PerfEventAttr{
		Type:        e.kind,
		Config:      e.config,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitEnableOnExec,
	}
	if userOnly {
		attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	const thisThread, anyCPU, noGroup = 0, -1, -1
	fd, err := unix.PerfEventOpen(&attr, thisThread, anyCPU, noGroup, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open the counter of %s: %w", e.metric, err)
	}
	return os.NewFile(uintptr(fd), string(e.metric)), nil
}

// refusal says in words why an event could not be opened.
func refusal(e event, err error) string {
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP):
		if e.hardware {
			return "this machine offers no such hardware counter"
		}
		return "this kernel has no such counter"
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		level, readErr := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
		if readErr != nil {
			return "this user may not count it"
		}
		return "this user may not count it (kernel.perf_event_paranoid is " + strings.TrimSpace(string(level)) + ")"
	case errors.Is(err, unix.ENOSYS):
		return "this kernel has no counters"
	}
	var number unix.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

// readCounters closes the counters and adds their counts to metrics. A counter that shared its hardware counted only
// part of the time, and its count would have to be extrapolated: it is reported as missing.
func readCounters(open []counter, metrics map[events.Metric]float64, missing map[events.Metric]string) {
	for _, c := range open {
		var raw [24]byte // count, time enabled, time running
		n, err := c.file.Read(raw[:])
		_ = c.file.Close() // the file was only read
		enabled := binary.NativeEndian.Uint64(raw[8:])
		running := binary.NativeEndian.Uint64(raw[16:])
		switch {
		case err != nil || n != len(raw):
			missing[c.metric] = fmt.Sprintf("the counter could not be read (%d bytes, error %v)", n, err)
		case enabled == 0:
			missing[c.metric] = "the counter never ran"
		case running < enabled:
			missing[c.metric] = "the counter shared its hardware and did not run all the time"
		default:
			metrics[c.metric] = float64(binary.NativeEndian.Uint64(raw[:])) * c.unit
		}
	}
}

// probeCounters reports which counters can be opened here.
func probeCounters() (have []events.Metric, missing map[events.Metric]string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	open, missing := openCounters(false)
	for _, c := range open {
		_ = c.file.Close() // the counter was never on
		have = append(have, c.metric)
	}
	return have, missing
}
