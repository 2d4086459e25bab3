package readmodel

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// freeJob is a matched job of alice that nothing keeps from its dispatch: eider-1 has room, eider-2 lacks the trait.
func freeJob() whyRows {
	r := waitingJob()
	r.machines = nil
	r.job.Matched, r.job.Requires, r.job.ArtifactKind = true, []string{"memory=8g", "trait=nvme"}, events.Master
	r.park = park{
		machines: []MachineRow{
			{Name: "eider-1", Pool: "big", MemoryMiB: 16 << 10, CPUs: 8, Traits: []string{"nvme"}, Slots: 2},
			{Name: "eider-2", Pool: "big", MemoryMiB: 64 << 10, CPUs: 8, Slots: 1},
		},
		slots: []slotRow{
			{Name: "eider-1-1", Machine: "eider-1", Target: "pool_big", Set: 0, State: CollectorIdle, Since: whyNoon},
			{Name: "eider-1-2", Machine: "eider-1", Target: "pool_big", Set: 1, State: CollectorIdle, Since: whyNoon},
			{Name: "eider-2", Machine: "eider-2", Target: "pool_big", Set: 2, State: CollectorIdle, Since: whyNoon},
		},
	}
	return r
}

// runs puts a job on a lane of the pool.
func (r *whyRows) runs(set events.Set, requires ...string) {
	r.park.places = append(r.park.places, placeRow{JobID: "j0", Requires: requires, LaneTarget: "pool_big", LaneSet: set, State: events.JobInProgress})
}

func TestWhyAMatchedJobWaits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*whyRows)
		reason WaitReason
		words  string
	}{
		{"nothing before it", func(*whyRows) {}, WaitNext, "it is dispatched next"},
		{"another job on the machine", func(r *whyRows) { r.runs(0, "memory=8g") }, WaitNext, "it is dispatched next"},
		{"no machines", func(r *whyRows) { r.park = park{} }, WaitNoMachine, "no machine is registered for matched jobs"},
		{
			"none fits", func(r *whyRows) { r.job.Requires = []string{"memory=24g", "trait=nvme"} }, WaitNoMachine,
			"no machine can run it: eider-1 comes nearest, it lacks 8 GiB of memory",
		},
		{
			"terms of a newer program", func(r *whyRows) { r.job.Requires = []string{"colour=red"} }, WaitNoMachine,
			"no machine can run it: this program does not know all of its terms: ",
		},
		{
			"none is online", func(r *whyRows) { r.park.slots[0].State, r.park.slots[1].State = CollectorOffline, CollectorDraining }, WaitNoOnline,
			"no machine that can run it takes jobs: eider-1-1 is offline since 2026-11-22 12:00:00 UTC and eider-1-2 is draining since 2026-11-22 12:00:00 UTC",
		},
		{"no collector", func(r *whyRows) { r.park.slots = nil }, WaitNoOnline, "no machine that can run it has a collector"},
		{"memory", func(r *whyRows) { r.runs(0, "memory=12g") }, WaitNoRoom, "no machine has room for it: eider-1 lacks 4 GiB of free memory"},
		{"held", func(r *whyRows) { r.runs(0, "exclusive") }, WaitNoRoom, "no machine has room for it: eider-1 is held by a job that runs alone"},
		{
			"no slot", func(r *whyRows) { r.runs(0); r.runs(1) }, WaitNoRoom, "no machine has room for it: eider-1 has no free slot",
		},
		{
			"no collector that is free", func(r *whyRows) { r.runs(0); r.park.slots[1].State = CollectorOffline }, WaitNoRoom,
			"no machine has room for it: eider-1 has no free collector",
		},
		{
			"two machines", func(r *whyRows) {
				r.job.Requires = []string{"exclusive"}
				r.runs(0)
				r.runs(2, "exclusive")
			}, WaitNoRoom,
			"no machine has room for it: eider-1 has 1 job, and this one runs alone and eider-2 is held by a job that runs alone",
		},
		{
			"a machine that lost it", func(r *whyRows) {
				r.job.Requires, r.losers = []string{"exclusive"}, []whyLoser{{"eider-1"}}
				r.runs(2, "exclusive")
			}, WaitNoRoom, "no machine has room for it: eider-2 is held by a job that runs alone",
		},
		{"only machines that lost it", func(r *whyRows) { r.losers = []whyLoser{{"eider-1"}} }, WaitNext, "it is dispatched next"},
		{
			"a paused queue", func(r *whyRows) {
				r.runs(0, "exclusive")
				r.queues = []NamedQueue{{Name: "alice", Paused: true}}
			}, WaitPaused, "queue alice is paused",
		},
		{
			"own ones", func(r *whyRows) { r.leaves[0].Before = 2 }, WaitOwn,
			"2 jobs are before it for the machines that can run it, of the same account and queue",
		},
		{
			"others", func(r *whyRows) {
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 3})
			}, WaitShare,
			"it is the first of its own; bob (3 jobs) also has work for the machines that can run it, and its share is 50 % by weight",
		},
		{
			"others, and no room", func(r *whyRows) {
				r.runs(0, "memory=12g")
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 3})
			}, WaitShare,
			"it is the first of its own; bob (3 jobs) also has work for the machines that can run it, and its share is 50 % by weight; " +
				"no machine has room for it: eider-1 lacks 4 GiB of free memory",
		},
		{
			"own ones, and no room", func(r *whyRows) { r.runs(0, "exclusive"); r.leaves[0].Before = 1 }, WaitOwn,
			"1 job is before it for the machines that can run it, of the same account and queue; " +
				"no machine has room for it: eider-1 is held by a job that runs alone",
		},
		{
			"a more urgent tier", func(r *whyRows) { r.leaves = append(r.leaves, whyLeaf{Tier: events.TierVIP, Waiting: 1}) }, WaitTier,
			"1 job is before it for the machines that can run it, of more urgent tiers",
		},
		{
			"bound", func(r *whyRows) {
				target, set := events.Target("pool_big"), events.Set(1)
				r.job.Place, r.job.LaneTarget, r.job.LaneSet, r.machines = 3, &target, &set, []WhyMachine{{"eider-1-2", CollectorIdle, whyNoon}}
			}, WaitNext, "it is the next job that runs on lane pool_big/1: its collector has not begun it yet",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows := freeJob()
			tc.change(&rows)
			w := rows.why()
			if tc.reason == WaitNoMachine && len(w.Short) > 0 && w.Short[0].Machine == "" {
				w.Words = w.Words[:min(len(w.Words), len(tc.words))]
			}
			if diff := cmp.Diff([]any{true, tc.reason, tc.words}, []any{w.Waits, w.Reason, w.Words}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMachinesAsTheyAreShown: what is free is what no place reserves.
func TestMachinesAsTheyAreShown(t *testing.T) {
	r := freeJob()
	r.runs(1, "cpus=3", "memory=4g")
	m := r.park.machine(r.park.machines[0])
	if m.FreeMemoryMiB != 12<<10 || m.FreeCPUs != 5 || m.Open != 1 || len(m.Collectors) != 2 || m.Collectors[0].Job != nil || m.Collectors[1].Job.JobID != "j0" {
		t.Errorf("%+v", m)
	}
	r.runs(0, "exclusive")
	if m = r.park.machine(r.park.machines[0]); m.FreeMemoryMiB != 0 || m.FreeCPUs != 0 || m.Open != 2 {
		t.Errorf("%+v", m)
	}
	none := r.park.unserved([]waitingRow{{Requires: []string{"trait=nvme"}, Jobs: 9}, {Requires: []string{"trait=ssd"}, Jobs: 2}})
	if diff := cmp.Diff([]Unserved{{Requires: []string{"trait=ssd"}, Jobs: 2, Nearest: "eider-1", Lacks: "it lacks trait ssd"}}, none); diff != "" {
		t.Error(diff)
	}
}
