// Package measure executes one command under measurement and returns what it cost.
//
// Three processes take part:
//
//	collector ── order ──▶ shim ── fork, exec ──▶ command ──▶ its descendants
//	          ◀─ report ──
//
// The shim is this program, re-executed with a hidden argument. It executes order after order, one at a time. For each it
// takes a new thread, sets affinity, nice and personality on that, opens the counters on it, and forks the command from it.
// The command inherits the settings and the counters, and the counters start at the command's exec. So nothing of the shim
// is counted, and nothing needs to be synchronised. The thread ends with the order: no setting meets the next command.
//
// To start a shim takes ten times as long as an order to one. So a Runner with Shims keeps those that have nothing to do, one for
// commands with and one for those without a network, and more if it runs several commands at once. Orders and reports go
// over a socket, which also passes the files: stdin, stdout and stderr as pipes, those of the command, and those to hold. A shim
// that was told to stop is discarded. One that dies between two commands is replaced; if it dies during one, that command is
// lost. The peak memory of a shim grows by some two megabytes in its first hundred orders, then no more.
//
// Why the shim stays and forks, instead of becoming the command:
//
//   - A forked process inherits the peak memory of the process it was forked from (the kernel folds the
//     peak of the old address space into max-rss at exec). If the collector forked it, a small compile
//     would be reported with the size of the collector. The shim forks it, so the floor is the shim's peak.
//     It is a floor and not an addend: every value above it is exact. Values at the floor are reported as
//     missing.
//   - The shim is the sub-reaper of this one command. So in the end all descendants are its children, also
//     those that left session and process group. It kills and reaps the remaining ones before it reports.
//   - When the collector dies, the shim reads the end of its orders, kills the command with all
//     descendants and removes the cgroup. When the shim dies, the kernel kills the command.
//
// The command lives in a cgroup (v2) of its own where the machine lets us make one. Its CPU time and pressure are
// then those of this run alone, and one write kills all of it. Otherwise the shim finds the descendants in /proc.
//
// Where the cgroup may have limits, the command gets no more memory and CPU time than the Runner's Limits. The kernel
// allows limits only in cgroups that have controllers, and whose parent has no processes of its own: EnableLimits
// arranges that.
//
// The shim tries every setting, also those that the machine may refuse; Outcome.Took says which took effect.
// Outcome.Missing says why each other metric could not be measured. A metric that could only be counted in user mode
// has a name of its own with the suffix ":u". The two are never mixed.
package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// The metrics of one command: times in seconds, sizes in bytes, counts as they are. UserOnly names a counter that the
// kernel let us count only in user mode.
const (
	WallTime        events.Metric = "wall-time"
	TaskClock       events.Metric = "task-clock"
	UserTime        events.Metric = "user-time"
	SysTime         events.Metric = "sys-time"
	CPUTime         events.Metric = "cpu-time"
	MaxRSS          events.Metric = "max-rss"
	PageFaults      events.Metric = "page-faults"
	ContextSwitches events.Metric = "context-switches"
	CPUMigrations   events.Metric = "cpu-migrations"
	InstructionsU   events.Metric = "instructions:u"
	CyclesU         events.Metric = "cycles:u"
	BranchMisses    events.Metric = "branch-misses"
	CacheMisses     events.Metric = "cache-misses"
	// Instructions is what CountInstructions counts; Run never yields it.
	Instructions events.Metric = "instructions"
)

// UserOnly returns the name of m when only user mode was counted.
func UserOnly(m events.Metric) events.Metric { return m + ":u" }

// The settings that Outcome.Took names. Its values are what took effect, or "refused: " (for a cgroup, "none: ") and
// the reason.
const (
	SettingCPUs       = "cpus"
	SettingNice       = "nice"
	SettingASLR       = "aslr"
	SettingNetwork    = "network"
	SettingCgroup     = "cgroup"
	SettingPrivileges = "privileges"
	SettingMemory     = "memory-limit"
	SettingCPUTime    = "cpu-limit"
)

// Cmd is one command to measure.
type Cmd struct {
	// Path is the file to execute. It must have a slash in it; PATH is not searched.
	Path string
	// Args are the arguments after the name.
	Args []string
	// Env is the whole environment; nothing is added to it.
	Env []string
	// Dir is the working directory; empty means the caller's.
	Dir string
	// Files are what the command inherits beside its standard files, as descriptors from FirstFile on.
	Files Files
	// Timeout kills the command with all its descendants; 0 means never.
	Timeout time.Duration
	// OutputLimit bounds, in bytes, what is kept of stdout and of stderr, each; 0 means 64 KiB.
	OutputLimit int
	// NoNet runs the command without a network but its own loopback.
	NoNet bool
	// CPUs pins the command to these CPUs; empty does not pin it.
	CPUs []int
	// Nice is the nice value; 0 does not change it.
	Nice int
	// DisableASLR lays out the address space the same way every time.
	DisableASLR bool
	// Stdin is what the command reads; empty means /dev/null.
	Stdin []byte
	// Lines, if set, is called with all that the command prints, while it runs: with one or more whole lines of one of its
	// outputs, in their order. The lines have their ends. A line of more than 64 KiB comes in pieces, of which only the last
	// has one, and so does a last line without an end. One call follows the other, from goroutines of the run, and none
	// comes after Run has returned. The text belongs to the caller. The command waits for slow calls: leave Lines nil for
	// commands whose time is measured.
	Lines func(text []byte)
}

// Limits are the most that a command with all its descendants may use. They need a cgroup with controllers, see
// EnableLimits; Outcome.Took says whether they took effect.
type Limits struct {
	// Memory is in bytes; 0 means no limit.
	Memory int64
	// CPUs is how many CPUs' time it gets; 0 means no limit.
	CPUs int
}

// refused says for each limit that it took no effect.
func (l Limits) refused(why string) map[string]string {
	took := map[string]string{}
	if l.Memory > 0 {
		took[SettingMemory] = "refused: " + why
	}
	if l.CPUs > 0 {
		took[SettingCPUTime] = "refused: " + why
	}
	return took
}

// Outcome is how a command ended, successful or not, and what it cost.
type Outcome struct {
	// Metrics holds what was measured. Missing says why each other metric was not.
	Metrics map[events.Metric]float64
	Missing map[events.Metric]string
	// Evidence is the basis of Interference.
	Evidence Evidence
	// Interference says in words what disturbed the run; empty for a clean one.
	Interference string
	// ExitCode is the exit code, or -1 when a signal ended the command; Signal then names it.
	ExitCode int
	Signal   string
	// TimedOut says that the command ran longer than its limit and was killed.
	TimedOut bool
	// OutOfMemory says that the kernel killed a process of the command because all of them together wanted more memory
	// than MemoryLimit. MemoryPeak is the most that they held, with the files that the kernel kept in memory for them. Both
	// are in bytes; 0 if there is none, or if the kernel does not tell: only a cgroup with controllers knows its peak.
	OutOfMemory             bool
	MemoryLimit, MemoryPeak int64
	// Stdout and Stderr are complete, or head and tail with a note between them. The counts of dropped bytes tell
	// which.
	Stdout, Stderr               []byte
	StdoutDropped, StderrDropped int64
	// Took maps each requested setting to what took effect.
	Took map[string]string
}

// Share is a part of a whole, between 0 and 1, if it is known.
type Share struct {
	Value float64
	Known bool
}

// Evidence is what was seen of other processes while the command ran.
type Evidence struct {
	// Stall is the share of the wall time in which the command wanted a CPU and had none.
	Stall Share
	// Foreign is the share of the command's CPUs that other processes used.
	Foreign Share
	// Steal is the share of the command's CPUs that the hypervisor withheld.
	Steal Share
}

// The limits that a Runner uses unless it sets its own, and the delay before it gives up on a shim.
const (
	DefaultMaxStall   = 0.06
	DefaultMaxForeign = 0.10
	DefaultMaxSteal   = 0.02
	DefaultStopDelay  = 10 * time.Second

	defaultOutputLimit = 64 << 10
)

// Runner executes commands under measurement. The zero value is ready. Several goroutines may use it, but runs at the
// same time disturb one another.
type Runner struct {
	// MaxStall, MaxForeign and MaxSteal are the limits above which a run counts as disturbed, see
	// Evidence; 0 means the default.
	MaxStall, MaxForeign, MaxSteal float64
	// StopDelay is how long a run may take to end after it was told to, and how long Run waits for output after the
	// end; 0 means the default.
	StopDelay time.Duration
	// NoCgroup does not use cgroups, for machines where another program manages them.
	NoCgroup bool
	// Limits bound each command.
	Limits Limits
	// Counting is how instructions are counted: CountOff opens no hardware counter of them. Run itself never uses valgrind, see
	// CountInstructions.
	Counting Counting
	// Held are open files, such as locks, that stay open in another process until the command has ended, whatever becomes of
	// this one. The command itself does not get them.
	Held []*os.File
	// Shims are the shims to use and to keep; nil starts one for each command. Who made it closes it.
	Shims *Shims
	// Ended, if set, is called with the outcome of each command that ran, by the goroutine that called Run.
	Ended func(Outcome)
}

// Use is what a command used of its machine.
type Use struct {
	// Memory is the most that it had, in bytes: MemoryPeak, or else the largest resident set of one of its processes; 0 if
	// neither is known.
	Memory int64
	// CPU is the CPU time of its processes, user and system.
	CPU time.Duration
}

// Use returns what the command used.
func (o Outcome) Use() Use {
	seconds, known := o.Metrics[CPUTime]
	if !known {
		seconds = o.Metrics[UserTime] + o.Metrics[SysTime]
	}
	u := Use{Memory: o.MemoryPeak, CPU: time.Duration(seconds * float64(time.Second))}
	if u.Memory == 0 {
		u.Memory = int64(o.Metrics[MaxRSS])
	}
	return u
}

// ended tells the outcome of a command that ran.
func (r *Runner) ended(out Outcome) {
	if r.Ended != nil {
		r.Ended(out)
	}
}

// ErrStart says that a command could not be started: it does not exist, is not executable, or this machine refused to
// make the process.
var ErrStart = errors.New("the command could not be started")

// interference puts the evidence into words, or returns "" when it is within the limits. A command that waits for a
// CPU may compete with itself, so stalling counts only if other processes used the CPUs too. If one of the two is
// unknown, the other decides alone.
func (r *Runner) interference(e Evidence) string {
	stalled := over(e.Stall, r.MaxStall, DefaultMaxStall)
	crowded := over(e.Foreign, r.MaxForeign, DefaultMaxForeign)
	var words []string
	switch {
	case stalled && crowded:
		words = append(words, fmt.Sprintf("waited for a CPU %s of the time while other processes used %s of the CPUs", e.Stall, e.Foreign))
	case stalled && !e.Foreign.Known:
		words = append(words, fmt.Sprintf("waited for a CPU %s of the time", e.Stall))
	case crowded && !e.Stall.Known:
		words = append(words, fmt.Sprintf("other processes used %s of the CPUs", e.Foreign))
	}
	if over(e.Steal, r.MaxSteal, DefaultMaxSteal) {
		words = append(words, fmt.Sprintf("the hypervisor withheld %s of the CPUs", e.Steal))
	}
	return strings.Join(words, "; ")
}

func over(s Share, limit, otherwise float64) bool {
	if limit == 0 {
		limit = otherwise
	}
	return s.Known && s.Value > limit
}

// String returns the share in percent.
func (s Share) String() string {
	if !s.Known {
		return "an unknown share"
	}
	return fmt.Sprintf("%.0f %%", 100*s.Value)
}

func (r *Runner) stopDelay() time.Duration {
	if r.StopDelay == 0 {
		return DefaultStopDelay
	}
	return r.StopDelay
}

func (c Cmd) check() error {
	switch {
	case !strings.ContainsRune(c.Path, filepath.Separator):
		return fmt.Errorf("command %q: give the path of the file, PATH is not searched", c.Path)
	case c.Timeout < 0:
		return fmt.Errorf("command %q: timeout %v is negative, use 0 for none", c.Path, c.Timeout)
	case c.OutputLimit < 0:
		return fmt.Errorf("command %q: output limit %d is negative, use 0 for the default", c.Path, c.OutputLimit)
	}
	for _, s := range append(append([]string{c.Path, c.Dir}, c.Args...), c.Env...) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("command %q: %q has a zero byte in it", c.Path, s)
		}
	}
	return nil
}

func (c Cmd) outputLimit() int {
	if c.OutputLimit == 0 {
		return defaultOutputLimit
	}
	return c.OutputLimit
}
