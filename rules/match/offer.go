package match

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// Offer is what a machine has.
type Offer struct {
	// Machine is its name; Pool is its group. An empty OS or Arch is not known.
	Machine, Pool, OS, Arch string
	// MemoryMiB and CPUs are its size; 0 means not known.
	MemoryMiB int64
	CPUs      int
	// Devices counts its devices by name.
	Devices map[string]int
	// Traits are words that it has.
	Traits []string
	// Only are further words that it has. A job must require one of them to run here; none means any job.
	Only []string
	// Slots is how many places may be open at once; less than 1 counts as 1.
	Slots int
	// Accepts are the kinds of request whose jobs may run here; none means all.
	Accepts []events.RequestKind
}

func (o *Offer) slots() int { return max(o.Slots, 1) }

func (o *Offer) has(trait string) bool {
	return slices.Contains(o.Traits, trait) || slices.Contains(o.Only, trait)
}

// name returns the name that the machine has where terms list some.
func (o *Offer) name(c choice) string {
	switch c {
	case arch:
		return o.Arch
	case machine:
		return o.Machine
	case system:
		return o.OS
	case pool, choices:
	}
	return o.Pool
}

// Whole is the whole of a machine, in parts.
const Whole = 1024

// Part returns the part of a machine that a job takes, from 1 to Whole: the largest of its parts of the memory, of the
// CPUs and of the slots, and the whole if the job runs alone. Parts are rounded up. A size that is not known has none.
func Part(r Requirement, o Offer) int {
	if r.exclusive {
		return Whole
	}
	return int(max(part(1, int64(o.slots())), part(r.memory, o.MemoryMiB), part(int64(r.cpus), int64(o.CPUs))))
}

func part(taken, of int64) int64 {
	switch {
	case taken == 0 || of <= 0:
		return 0
	case taken >= of:
		return Whole
	}
	return (taken*Whole-1)/of + 1
}
