package projector

import (
	"maps"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// foldMachine applies a fact about what a machine has. It refuses what no table can hold, and what is said about a
// machine that is not there. A machine that was removed is gone for good.
func (s *state) foldMachine(m moment, f events.MachineFact) {
	took := false
	switch f := f.(type) {
	case events.MachineDescribed:
		took = s.machineDescribed(m, f)
	case events.MachineRemoved:
		if row := s.machines[f.Machine]; row != nil && row.RemovedAt == nil {
			row.RemovedAt, row.RemovedReason, took = pointer(m.at), f.Reason, true
			s.machineChanged(m, row)
			s.forgetWarm(f.Machine)
		}
	}
	if !took {
		s.refused++
	}
}

func (s *state) machineDescribed(m moment, f events.MachineDescribed) bool {
	if !storable(f.Machine) || f.MemoryMiB < 0 || f.CPUs < 0 || f.Slots < 1 {
		return false
	}
	row := &machineRow{Name: f.Machine, CreatedAt: m.at}
	if before := s.machines[f.Machine]; before != nil && before.RemovedAt != nil {
		return false
	} else if before != nil {
		row.CreatedAt, row.HostMemoryMiB, row.HostCPUs = before.CreatedAt, before.HostMemoryMiB, before.HostCPUs
	}
	f = f.Sized(events.Size{MemoryMiB: row.HostMemoryMiB, CPUs: row.HostCPUs})
	row.Pool, row.OS, row.Arch, row.MemoryMiB, row.CPUs, row.Slots = f.Pool, f.OS, f.Arch, f.MemoryMiB, f.CPUs, f.Slots
	row.Devices, row.Traits, row.Only = maps.Clone(f.Devices), append([]string{}, f.Traits...), append([]string{}, f.Only...)
	if row.Devices == nil {
		row.Devices = map[string]int{}
	}
	row.Accepts = append([]events.RequestKind{}, f.Accepts...)
	s.machines[f.Machine] = row
	s.machineChanged(m, row)
	return true
}

// foldHost notes the size of the host of a machine, as the first of its collectors found it.
func (s *state) foldHost(m moment, name events.MachineName, e events.Environment) {
	row := s.machines[name]
	if row == nil || row.RemovedAt != nil || row.HostMemoryMiB > 0 || row.HostCPUs > 0 {
		return
	}
	host := events.SizeOf(e)
	sized := events.MachineDescribed{MemoryMiB: row.MemoryMiB, CPUs: row.CPUs}.Sized(host)
	row.HostMemoryMiB, row.HostCPUs, row.MemoryMiB, row.CPUs = host.MemoryMiB, host.CPUs, sized.MemoryMiB, sized.CPUs
	s.dirtyMachines[name] = true
	s.touchQueue(m)
}

// foldFull notes what the end of an attempt tells about the free memory of the machine of its lane.
func (s *state) foldFull(m moment, f events.WorkFact) {
	j, a := s.jobs[f.Which()], s.lanes[f.Where()]
	if _, begins := f.(events.JobDequeued); begins || j == nil || !j.Matched {
		return
	}
	row := s.machines[s.machineOf(f.Where())]
	if row == nil || row.RemovedAt != nil {
		return
	}
	end := match.Ended{At: m.stored, Seq: m.seq, Requires: j.Requires}
	if a != nil {
		end.Ran = m.at.Sub(a.StartedAt)
	}
	if full := row.Full.After(f, end); full != row.Full {
		row.Full = full
		s.dirtyMachines[row.Name] = true
	}
}

func (s *state) machineChanged(m moment, row *machineRow) {
	row.ChangedAt, row.ChangedSeq = m.at, m.seq
	s.dirtyMachines[row.Name] = true
	s.touchQueue(m)
}
