package readmodel

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// MachineRow is one row of machine: a machine that takes matched jobs, with what it offers.
type MachineRow struct {
	Name events.MachineName `db:"name"`
	Pool events.PoolName    `db:"pool"`
	OS   string             `db:"os"`
	Arch string             `db:"arch"`
	// MemoryMiB and CPUs are what its jobs may have together; 0 while that is not known. HostMemoryMiB and HostCPUs are what
	// the first of its collectors found; 0 before.
	MemoryMiB     int64 `db:"memory_mib"`
	CPUs          int   `db:"cpus"`
	HostMemoryMiB int64 `db:"host_memory_mib"`
	HostCPUs      int   `db:"host_cpus"`
	// Devices counts its devices by name.
	Devices map[string]int `db:"devices"`
	Traits  []string       `db:"traits"`
	// Only are traits of which a job must require one; empty for all jobs. Accepts are kinds of request; empty for all.
	Only    []string             `db:"only_traits"`
	Accepts []events.RequestKind `db:"accepts"`
	Slots   int                  `db:"slots"`
	// Full says how much memory the newest job found that reserves more than was free; nil if the machine is not full.
	Full *match.Full `db:"host_full"`
	// RemovedAt is nil unless the machine was removed.
	RemovedAt     *time.Time `db:"removed_at"`
	RemovedReason string     `db:"removed_reason"`
	// CreatedAt is the time of the first event about it, ChangedAt and ChangedSeq are those of the newest.
	CreatedAt  time.Time  `db:"created_at"`
	ChangedAt  time.Time  `db:"changed_at"`
	ChangedSeq events.Seq `db:"changed_seq"`
}

// WarmRow is one row of machine_warm: a cache that a machine has, or results, named =SUITE/TAG.
type WarmRow struct {
	Machine events.MachineName `db:"machine"`
	Name    string             `db:"name"`
	// Seq is the end of the last job that used it.
	Seq events.Seq `db:"seq"`
}

// Offer returns what the machine has, as package match compares it with what jobs require.
func (m MachineRow) Offer() match.Offer {
	return match.Offer{
		Machine: string(m.Name), Pool: string(m.Pool), OS: m.OS, Arch: m.Arch, MemoryMiB: m.MemoryMiB,
		CPUs: m.CPUs, Devices: m.Devices, Traits: m.Traits, Only: m.Only, Slots: m.Slots, Accepts: m.Accepts,
	}
}
