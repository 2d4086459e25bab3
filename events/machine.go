package events

import (
	"cmp"
	"fmt"
	"strings"
)

// The words and facts of machines that take matched jobs.

type (
	// MachineName names a machine: a host with an offer, on which one or more collectors run.
	MachineName string
	// PoolName names a group of machines.
	PoolName string
)

// poolPrefix begins the targets of the lanes of pools. No suite has such a target.
const poolPrefix = "pool_"

// PoolLane returns a lane of a pool; n counts its lanes from 0.
func PoolLane(pool PoolName, n int) Lane {
	return Lane{Target: Target(poolPrefix + string(pool)), Set: Set(n)}
}

// Pool returns the pool of a lane; false for the lane of a target.
func (l Lane) Pool() (PoolName, bool) {
	name, ok := strings.CutPrefix(string(l.Target), poolPrefix)
	return PoolName(name), ok
}

// CheckTarget reports whether s may name a target. The lanes of pools have targets of their own.
func CheckTarget(s Target) error {
	if pool, ok := (Lane{Target: s}).Pool(); ok {
		return fmt.Errorf("target %q: names that begin with %s are those of pools; for a machine of pool %q use `tacho machine add`", s, poolPrefix, pool)
	}
	return CheckToken("target", string(s))
}

// CheckMachine reports whether s may name a machine.
func CheckMachine(s MachineName) error { return CheckToken("machine", string(s)) }

// CheckPool reports whether s may name a pool: with its prefix it must still be a token of a subject.
func CheckPool(s PoolName) error {
	if err := CheckToken("pool", string(s)); err != nil {
		return err
	}
	if longest := 64 - len(poolPrefix); len(s) > longest {
		return fmt.Errorf("pool %q: use at most %d characters", s, longest)
	}
	return nil
}

// ---- machine.<name> ----

// MachineDescribed: a machine has this offer from here on. Each event has all of it.
type MachineDescribed struct {
	Machine MachineName `json:"machine"`
	Pool    PoolName    `json:"pool"`
	// OS and Arch are those of its host, as Go names them (GOOS, GOARCH).
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// MemoryMiB and CPUs are what its jobs may have together; 0 for what the first of its collectors finds on its host.
	MemoryMiB int64 `json:"memory_mib,omitempty"`
	CPUs      int   `json:"cpus,omitempty"`
	// Devices counts its devices by name, Traits are words that it has.
	Devices map[string]int `json:"devices,omitempty"`
	Traits  []string       `json:"traits,omitempty"`
	// Only are traits of which a job must require one to run here; empty for all jobs.
	Only []string `json:"only,omitempty"`
	// Accepts are the kinds of request whose jobs may run here; empty means all.
	Accepts []RequestKind `json:"accepts,omitempty"`
	// Slots is how many jobs it runs at once.
	Slots int `json:"slots"`
}

// Size is how large the host of a machine is.
type Size struct {
	MemoryMiB int64 `json:",omitempty"`
	CPUs      int   `json:",omitempty"`
}

// SizeOf returns the size of the host that an environment describes.
func SizeOf(e Environment) Size { return Size{max(e.MemoryBytes>>20, 0), max(e.CPUs, 0)} }

// Sized returns the machine with the size of its host where none is stated.
func (f MachineDescribed) Sized(host Size) MachineDescribed {
	f.MemoryMiB, f.CPUs = cmp.Or(f.MemoryMiB, host.MemoryMiB), cmp.Or(f.CPUs, host.CPUs)
	return f
}

// MachineRemoved: the machine is gone for good.
type MachineRemoved struct {
	Machine MachineName `json:"machine"`
	Reason  string      `json:"reason,omitempty"`
}

// ---- match ----

// JobsMatched: these jobs are dispatched next. The scheduler appends it, in one batch with their JobDispatched, with
// the last such event as the expected version. So each dispatch of a shared farm knows all that came before it, however
// many schedulers there are.
type JobsMatched struct {
	Bindings []Binding `json:"bindings"`
}

// Binding is one job and the place that it gets.
type Binding struct {
	JobID JobID  `json:"job_id"`
	Lane  Lane   `json:"lane"`
	Place uint64 `json:"place"`
}

// ---- work.<target>.<set> ----

// JobMoved: the job leaves its place unfinished and waits for another machine. This ends the place.
type JobMoved struct {
	Lane      Lane          `json:"lane"`
	Place     uint64        `json:"place"`
	JobID     JobID         `json:"job_id"`
	Collector CollectorName `json:"collector,omitempty"`
	// Token is the sequence of the last attempt's JobDequeued; 0 when none began here.
	Token   Seq `json:"token"`
	Attempt int `json:"attempt"`
	Lost    int `json:"lost"`
	// Reason says why, in words. Since is when the first of a run of transient errors struck; empty when there was none.
	Reason string `json:"reason"`
	Since  string `json:"since,omitempty"`
}
