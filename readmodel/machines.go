package readmodel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// Machines are the machines that take matched jobs, and the jobs that none of them can run.
type Machines struct {
	Machines []Machine `json:"machines"`
	// Unserved are the jobs that wait and that no machine could run even if it were empty, the most jobs first.
	Unserved []Unserved `json:"unserved,omitempty"`
	// Hints are kinds of jobs that reserve too little or too much memory.
	Hints []MemoryHint `json:"hints,omitempty"`
}

// Machine is a machine with what it offers, what of that is free, and what runs on it.
type Machine struct {
	Name events.MachineName `json:"name"`
	Pool events.PoolName    `json:"pool"`
	OS   string             `json:"os"`
	Arch string             `json:"arch"`
	// MemoryMiB and CPUs are what its jobs may have together; 0 while that is not known.
	MemoryMiB int64 `json:"memory_mib"`
	CPUs      int   `json:"cpus"`
	// Devices counts its devices by name.
	Devices map[string]int `json:"devices"`
	Traits  []string       `json:"traits"`
	// Only are traits of which a job must require one; empty for all jobs. Accepts are kinds of request; empty for all.
	Only    []string             `json:"only"`
	Accepts []events.RequestKind `json:"accepts"`
	// Slots is how many jobs it runs at once, Collectors are its slots.
	Slots      int           `json:"slots"`
	Collectors []MachineSlot `json:"collectors"`
	// FreeMemoryMiB and FreeCPUs are not reserved by a job; 0 while one has the machine for itself. Open counts the jobs
	// that have a place on it.
	FreeMemoryMiB int64 `json:"free_memory_mib"`
	FreeCPUs      int   `json:"free_cpus"`
	Open          int   `json:"open"`
	// Full says that jobs pass it by that reserve more memory than the last one found; nil if none does.
	Full *MachineFull `json:"full,omitempty"`
}

// MachineSlot is a collector of a machine.
type MachineSlot struct {
	Name  events.CollectorName `json:"name"`
	Lane  events.Lane          `json:"lane"`
	State CollectorState       `json:"state"`
	// Since is when it came into that state.
	Since time.Time `json:"since"`
	// Job has a place on its lane; nil for none.
	Job *MachineJob `json:"job"`
}

// MachineJob is a job that has a place on a machine.
type MachineJob struct {
	JobID     events.JobID     `json:"job_id"`
	RequestID events.RequestID `json:"request_id"`
	Suite     events.SuiteName `json:"suite"`
	Kind      events.JobKind   `json:"kind"`
	Tag       events.Tag       `json:"tag"`
	Requires  []string         `json:"requires"`
	State     events.JobState  `json:"state"`
}

// Unserved is jobs that require the same and that no machine could run.
type Unserved struct {
	Requires []string           `json:"requires"`
	Kind     events.RequestKind `json:"kind"`
	// Jobs counts them, Since is when the first was made; JobID is one of them.
	Jobs  int          `json:"jobs"`
	Since time.Time    `json:"since"`
	JobID events.JobID `json:"job_id"`
	// Nearest is the machine that comes nearest, Lacks says of it what it lacks; both are empty if there is no machine.
	Nearest events.MachineName `json:"nearest,omitempty"`
	Lacks   string             `json:"lacks,omitempty"`
}

// park is what is read about all machines. Read it in one snapshot.
type park struct {
	machines []MachineRow
	slots    []slotRow
	places   []placeRow
}

// slotRow is a collector of a machine.
type slotRow struct {
	Name    events.CollectorName `db:"name"`
	Machine events.MachineName   `db:"machine"`
	Target  events.Target        `db:"target"`
	Set     events.Set           `db:"set"`
	State   CollectorState       `db:"state"`
	Since   time.Time            `db:"since"`
	Version string               `db:"version"`
	Builds  bool                 `db:"builds"`
}

func (s slotRow) lane() events.Lane { return events.Lane{Target: s.Target, Set: s.Set} }

// takes reports whether the collector takes jobs.
func (s slotRow) takes() bool { return s.State == CollectorIdle || s.State == CollectorBenchmarking }

// placeRow is a place that a matched job has.
type placeRow struct {
	JobID      events.JobID     `db:"job_id"`
	RequestID  events.RequestID `db:"request_id"`
	Suite      events.SuiteName `db:"suite"`
	Kind       events.JobKind   `db:"kind"`
	Tag        events.Tag       `db:"tag"`
	Requires   []string         `db:"requires"`
	LaneTarget events.Target    `db:"lane_target"`
	LaneSet    events.Set       `db:"lane_set"`
	State      events.JobState  `db:"state"`
	// Share says what the job is charged, and so how long it is expected to take; nil if that is not known.
	Share *JobShare `db:"share"`
}

func (p placeRow) lane() events.Lane { return events.Lane{Target: p.LaneTarget, Set: p.LaneSet} }

// waitingRow counts the matched jobs that wait and require the same.
type waitingRow struct {
	Kind     events.RequestKind `db:"artifact_kind"`
	Requires []string           `db:"requires"`
	Jobs     int                `db:"jobs"`
	Since    time.Time          `db:"since"`
	JobID    events.JobID       `db:"job_id"`
}

// also adds the queries to a batch.
func (p *park) also(b *pgx.Batch) {
	also(b, &p.machines, "machines")
	also(b, &p.slots, "machine_slots")
	also(b, &p.places, "machine_places")
}

// slotsOf returns the collectors of a machine.
func (p park) slotsOf(name events.MachineName) []slotRow {
	return slices.DeleteFunc(slices.Clone(p.slots), func(s slotRow) bool { return s.Machine != name })
}

// room returns what is reserved on a machine, and the jobs that reserve it by lane.
func (p park) room(m MachineRow) (*match.Room, map[events.Lane]placeRow) {
	room, on := match.NewRoom(m.Offer()), map[events.Lane]placeRow{}
	lanes := map[events.Lane]bool{}
	for _, s := range p.slotsOf(m.Name) {
		lanes[s.lane()] = true
	}
	for _, place := range p.places {
		if !lanes[place.lane()] {
			continue
		}
		on[place.lane()] = place
		needs, _ := match.Parse(place.Requires) // terms of a newer program reserve nothing
		room.Reserve(needs)
	}
	return room, on
}

// offers returns what all machines have.
func (p park) offers() []match.Offer {
	list := make([]match.Offer, len(p.machines))
	for i, m := range p.machines {
		list[i] = m.Offer()
	}
	return list
}

// machine joins what was read about one machine.
func (p park) machine(m MachineRow, now time.Time) Machine {
	room, on := p.room(m)
	shown := Machine{
		Name: m.Name, Pool: m.Pool, OS: m.OS, Arch: m.Arch, MemoryMiB: m.MemoryMiB, CPUs: m.CPUs, Devices: m.Devices, Traits: m.Traits,
		Only: m.Only, Accepts: m.Accepts, Slots: m.Slots, Collectors: []MachineSlot{}, FreeMemoryMiB: room.FreeMemoryMiB(), Open: room.Open(),
		FreeCPUs: m.CPUs, Full: fullOf(m, now),
	}
	for _, place := range on {
		needs, _ := match.Parse(place.Requires)
		if shown.FreeCPUs -= needs.CPUs(); needs.Exclusive() {
			shown.FreeCPUs = 0
		}
	}
	shown.FreeCPUs = max(shown.FreeCPUs, 0)
	for _, s := range p.slotsOf(m.Name) {
		slot := MachineSlot{Name: s.Name, Lane: s.lane(), State: s.State, Since: s.Since}
		if place, taken := on[s.lane()]; taken {
			slot.Job = &MachineJob{
				JobID: place.JobID, RequestID: place.RequestID, Suite: place.Suite, Kind: place.Kind, Tag: place.Tag, Requires: place.Requires, State: place.State,
			}
		}
		shown.Collectors = append(shown.Collectors, slot)
	}
	return shown
}

// unserved returns the jobs that no machine could run.
func (p park) unserved(waiting []waitingRow) []Unserved {
	var list []Unserved
	offers := p.offers()
	for _, w := range waiting {
		needs, err := match.Parse(w.Requires)
		u := Unserved{Requires: w.Requires, Kind: w.Kind, Jobs: w.Jobs, Since: w.Since, JobID: w.JobID}
		nearest, lacks := match.Nearest(needs, w.Kind, offers)
		switch {
		case err != nil:
			u.Lacks = "this program does not know all of its terms: " + err.Error()
		case len(offers) > 0 && len(lacks) == 0:
			continue
		case len(offers) > 0:
			u.Nearest, u.Lacks = events.MachineName(nearest.Machine), match.Sentence(lacks)
		}
		list = append(list, u)
	}
	return list
}

// Machines returns the machines that were not removed as they are now, by name, and the jobs that none of them could run.
func (r *Reader) Machines(ctx context.Context, now time.Time) (Machines, error) {
	found := Machines{Machines: []Machine{}}
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		var p park
		var waiting []waitingRow
		var b pgx.Batch
		p.also(&b)
		also(&b, &waiting, "machine_waiting")
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return fmt.Errorf("query the machines: %w", tooLong("machines", err))
		}
		for _, m := range p.machines {
			found.Machines = append(found.Machines, p.machine(m, now))
		}
		found.Unserved = p.unserved(waiting)
		var err error
		found.Hints, err = memoryHints(ctx, tx)
		return err
	})
	return found, err
}

// Machine returns one machine that was not removed, or ErrNotFound.
func (r *Reader) Machine(ctx context.Context, name events.MachineName, now time.Time) (Machine, error) {
	list, err := r.Machines(ctx, now)
	if err != nil {
		return Machine{}, err
	}
	i := slices.IndexFunc(list.Machines, func(m Machine) bool { return m.Name == name })
	if i < 0 {
		return Machine{}, fmt.Errorf("machine %s: %w", name, ErrNotFound)
	}
	return list.Machines[i], nil
}

// HasMachines reports whether the farm has or had machines that take matched jobs.
func (r *Reader) HasMachines(ctx context.Context) (bool, error) {
	found, err := values[bool](ctx, r.pool, "has_machines")
	return err == nil && found[0], err
}
