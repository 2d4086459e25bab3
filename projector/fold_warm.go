package projector

import (
	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/match"
)

// warmKey names a cache of a machine.
type warmKey struct {
	machine events.MachineName
	name    string
}

// maxWarmName bounds the length of a name in the table, which must fit into an index entry.
const maxWarmName = 1024

// warmNames returns names as the table has them.
func warmNames(names []string) (list []string) {
	for _, name := range names {
		if name = cleanText(name); len(name) <= maxWarmName {
			list = append(list, name)
		}
	}
	return list
}

// spec returns of a job what its caches depend on.
func (j *jobRow) spec() events.JobSpec {
	spec := events.JobSpec{Artifact: events.Artifact{Suite: j.Suite, Tag: j.Tag}, Caches: j.Caches}
	if j.Against != "" {
		spec.Against = &events.Artifact{Suite: j.Suite, Tag: j.Against}
	}
	return spec
}

// near returns which of its caches some machine has as a matched job is made. The ledger of the scheduler asks that for no
// job while jobs of more than a thousand classes wait; the tables do not count these.
func (s *state) near(j *jobRow) []string {
	near := []string{}
	if !j.Matched {
		return near
	}
	return append(near, warmNames(match.Near(j.spec(), func(name string) bool {
		name = cleanText(name)
		for _, warm := range s.warm {
			if _, has := warm[name]; has {
				return true
			}
		}
		return false
	}))...)
}

// warmed notes what the machine of a lane has after a job, and what it threw away.
func (s *state) warmed(m moment, j *jobRow, f events.JobFinished) {
	machine := s.machineOf(f.Lane)
	if row := s.machines[machine]; machine == "" || row != nil && row.RemovedAt != nil {
		return
	}
	names := warmNames(match.Leaves(j.spec()))
	if s.warm[machine] == nil {
		s.warm[machine] = match.Warm{}
	}
	for _, list := range [][]string{names, s.warm[machine].Fill(names, m.seq, warmNames(f.Evicted))} {
		s.touchWarm(machine, list)
	}
	s.touchWarm(machine, warmNames(f.Evicted))
}

// cool notes caches that a machine has no more.
func (s *state) cool(machine events.MachineName, names []string) {
	if machine, names = events.MachineName(cleanText(string(machine))), warmNames(names); machine == "" {
		return
	}
	s.warm[machine].Cool(names)
	s.touchWarm(machine, names)
}

// forgetWarm drops the caches of a machine that was removed.
func (s *state) forgetWarm(machine events.MachineName) {
	for name := range s.warm[machine] {
		s.dirtyWarm[warmKey{machine, name}] = true
	}
	delete(s.warm, machine)
}

func (s *state) touchWarm(machine events.MachineName, names []string) {
	for _, name := range names {
		s.dirtyWarm[warmKey{machine, name}] = true
	}
}

// machineOf returns the machine that a lane is a slot of; empty for none.
func (s *state) machineOf(lane events.Lane) (machine events.MachineName) {
	for _, c := range s.collectors {
		name := events.MachineName(cleanText(string(c.Machine)))
		if name != "" && c.Target == lane.Target && c.Set == lane.Set && (machine == "" || name < machine) {
			machine = name
		}
	}
	return machine
}

func (s *state) addWarm(row *readmodel.WarmRow) {
	if s.warm[row.Machine] == nil {
		s.warm[row.Machine] = match.Warm{}
	}
	s.warm[row.Machine][row.Name] = row.Seq
}

func (s *state) batchWarm(b *pgx.Batch) error {
	if len(s.dirtyWarm) == 0 {
		return nil
	}
	var (
		machines []events.MachineName
		names    []string
		rows     []readmodel.WarmRow
	)
	for key := range s.dirtyWarm {
		machines, names = append(machines, key.machine), append(names, key.name)
		if seq, has := s.warm[key.machine][key.name]; has {
			rows = append(rows, readmodel.WarmRow{Machine: key.machine, Name: key.name, Seq: seq})
		}
	}
	b.Queue(statement("remove_warm"), machines, names)
	return add(b, "machine_warm", rows)
}
