package readmodel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
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

// full makes a machine full since some time ago.
func (r *whyRows) full(machine int, free int64, ago time.Duration) {
	r.waits.Now = whyNoon
	r.park.machines[machine].Full = &match.Full{HostFull: events.HostFull{ReservedMiB: 9 << 10, FreeMiB: free}, Times: 1, At: whyNoon.Add(-ago)}
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
			"no machine that can run it takes jobs: eider-1-1 has been offline since 2026-11-22 12:00:00 UTC and eider-1-2 has been draining since 2026-11-22 12:00:00 UTC",
		},
		{
			"none knows builds", func(r *whyRows) {
				r.job.Built, r.park.slots[0].Version, r.park.slots[1].State = &JobBuilt{}, "v1", CollectorOffline
			}, WaitUnable,
			"no machine that can run it has a collector that knows builds: eider-1-1 runs version v1; update it: `tacho collector want VERSION` does so under a supervisor",
		},
		{
			"one knows builds and is busy", func(r *whyRows) {
				r.uses, r.park.slots[1].Builds = true, true
				r.runs(1, "memory=1g")
			}, WaitNoRoom, "no machine has room for it: eider-1 has no free collector",
		},
		{"one knows builds", func(r *whyRows) { r.uses, r.park.slots[1].Builds = true, true }, WaitNext, "it is dispatched next"},
		{"no collector", func(r *whyRows) { r.park.slots = nil }, WaitNoOnline, "no machine that can run it has a collector"},
		{"memory", func(r *whyRows) { r.runs(0, "memory=12g") }, WaitNoRoom, "no machine has room for it: eider-1 lacks 4 GiB of free memory"},
		{
			"found full", func(r *whyRows) { r.full(0, 6<<10, 29*time.Second) }, WaitNoRoom,
			"no machine has room for it: eider-1 had 6144 MiB of memory free when a job last began there, less than the 8192 MiB that this one reserves, and is passed by until 2026-11-22 12:00:01 UTC",
		},
		{"found full, to be tried again", func(r *whyRows) { r.full(0, 6<<10, 30*time.Second) }, WaitNext, "it is dispatched next"},
		{"found full for larger jobs", func(r *whyRows) { r.full(0, 8<<10, 0) }, WaitNext, "it is dispatched next"},
		{
			"found full, the other has no room", func(r *whyRows) {
				r.job.Requires = []string{"memory=8g"}
				r.full(0, 100, 0)
				r.runs(2, "exclusive")
			}, WaitNoRoom,
			"no machine has room for it: eider-1 had 100 MiB of memory free when a job last began there, less than the 8192 MiB that this one reserves, and is passed by until 2026-11-22 12:00:30 UTC and eider-2 is held by a job that runs alone",
		},
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
			"2 jobs of the same account and queue are before it for the machines that can run it",
		},
		{
			"others", func(r *whyRows) {
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 3})
			}, WaitShare,
			"no job of its account and queue is before it; bob (3 jobs) also has work for the machines that can run it, and its own share is 50 % by weight",
		},
		{
			"others, and no room", func(r *whyRows) {
				r.runs(0, "memory=12g")
				r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 3})
			}, WaitShare,
			"no job of its account and queue is before it; bob (3 jobs) also has work for the machines that can run it, and its own share is 50 % by weight; " +
				"no machine has room for it: eider-1 lacks 4 GiB of free memory",
		},
		{
			"own ones, and no room", func(r *whyRows) { r.runs(0, "exclusive"); r.leaves[0].Before = 1 }, WaitOwn,
			"1 job of the same account and queue is before it for the machines that can run it; " +
				"no machine has room for it: eider-1 is held by a job that runs alone",
		},
		{
			"a more urgent tier", func(r *whyRows) { r.leaves = append(r.leaves, whyLeaf{Tier: events.TierVIP, Waiting: 1}) }, WaitTier,
			"1 job of more urgent tiers is before it for the machines that can run it",
		},
		{
			"bound", func(r *whyRows) {
				target, set := events.Target("pool_big"), events.Set(1)
				r.job.Place, r.job.LaneTarget, r.job.LaneSet, r.machines = 3, &target, &set, []WhyMachine{{Name: "eider-1-2", State: CollectorIdle, Since: whyNoon}}
			}, WaitNext, "it is the next job that runs on lane pool_big/1: its collector has not begun it yet",
		},
		{
			"bound and given back", func(r *whyRows) {
				target, set := events.Target("pool_big"), events.Set(1)
				r.job.Place, r.job.LaneTarget, r.job.LaneSet, r.machines = 3, &target, &set, []WhyMachine{{Name: "eider-1-2", State: CollectorIdle, Since: whyNoon}}
				r.job.Reason = "collector.before failed"
			}, WaitNext, "it is the next job that runs on lane pool_big/1: its collector has not begun it yet; its last attempt was not the end of it: collector.before failed",
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
	m := r.park.machine(r.park.machines[0], whyNoon)
	if m.FreeMemoryMiB != 12<<10 || m.FreeCPUs != 5 || m.Open != 1 || len(m.Collectors) != 2 || m.Collectors[0].Job != nil || m.Collectors[1].Job.JobID != "j0" {
		t.Errorf("%+v", m)
	}
	r.runs(0, "exclusive")
	if m = r.park.machine(r.park.machines[0], whyNoon); m.FreeMemoryMiB != 0 || m.FreeCPUs != 0 || m.Open != 2 {
		t.Errorf("%+v", m)
	}
	r.full(0, 100, 0)
	if m = r.park.machine(r.park.machines[0], whyNoon); m.Full == nil || m.Full.Words != "a job that reserves 9216 MiB of memory found 100 MiB free at 2026-11-22 12:00:00 UTC: "+
		"jobs that reserve more than was free pass this machine by, until 2026-11-22 12:00:30 UTC at the latest" {
		t.Errorf("%+v", m.Full)
	}
	if m = r.park.machine(r.park.machines[0], whyNoon.Add(time.Minute)); m.Full != nil {
		t.Errorf("later: %+v", m.Full)
	}
	none := r.park.unserved([]waitingRow{{Requires: []string{"trait=nvme"}, Jobs: 9}, {Requires: []string{"trait=ssd"}, Jobs: 2}})
	if diff := cmp.Diff([]Unserved{{Requires: []string{"trait=ssd"}, Jobs: 2, Nearest: "eider-1", Lacks: "it lacks trait ssd"}}, none); diff != "" {
		t.Error(diff)
	}
}

// pickyJob is freeJob with caches: eider-2 can run it, too, and has them.
func pickyJob() whyRows {
	r := freeJob()
	r.park.machines[1].Traits = []string{"nvme"}
	r.job.Near, r.job.CreatedAt = []string{"=go/sha0", "ccache/gcc", "git"}, whyNoon
	r.warms = []WarmRow{{"eider-1", "git", 7}, {"eider-2", "=go/sha0", 8}, {"eider-2", "git", 8}}
	r.waits = match.Waits{Now: whyNoon.Add(18 * time.Second), Affinity: 30 * time.Second, Room: 10 * time.Minute}
	return r
}

func TestWhyAMatchedJobWaitsForItsCaches(t *testing.T) {
	const until = "for at most 12 s more, until 2026-11-22 12:00:30 UTC, then any machine that fits takes it"
	for _, tc := range []struct {
		name   string
		change func(*whyRows)
		reason WaitReason
		words  string
	}{
		{"the warm one has room", func(*whyRows) {}, WaitNext, "it is dispatched next"},
		{
			"the warm one is full", func(r *whyRows) { r.runs(2, "exclusive") }, WaitAffinity,
			"it waits for eider-2, which has its cache git and the results that it measures against: " + until +
				"; eider-2 is held by a job that runs alone",
		},
		{
			"others of its class waited before", func(r *whyRows) {
				r.runs(2, "exclusive")
				r.firsts = []whyFirst{{Kind: events.Master, Requires: r.job.Requires, Near: r.job.Near, JobID: "j9", ClassSince: whyNoon.Add(-12 * time.Second)}}
			}, WaitNext, "it is dispatched next",
		},
		{"waited enough", func(r *whyRows) { r.runs(2, "exclusive"); r.waits.Now = whyNoon.Add(30 * time.Second) }, WaitNext, "it is dispatched next"},
		{"switched off", func(r *whyRows) { r.runs(2, "exclusive"); r.waits.Affinity = 0 }, WaitNext, "it is dispatched next"},
		{"the warm one is offline", func(r *whyRows) { r.park.slots[2].State = CollectorOffline }, WaitNext, "it is dispatched next"},
		{"the warm one lost it", func(r *whyRows) { r.losers = []whyLoser{{"eider-2"}} }, WaitNext, "it is dispatched next"},
		{
			"both are as warm", func(r *whyRows) {
				r.runs(2, "exclusive")
				r.warms = append(r.warms, WarmRow{"eider-1", "ccache/gcc", 9})
			}, WaitNext, "it is dispatched next",
		},
		{
			"all are full", func(r *whyRows) { r.runs(2, "exclusive"); r.runs(1, "memory=12g") }, WaitNoRoom,
			"no machine has room for it: eider-1 lacks 4 GiB of free memory and eider-2 is held by a job that runs alone",
		},
		{
			"its own jobs come first", func(r *whyRows) { r.runs(2, "exclusive"); r.leaves[0].Before = 1 }, WaitOwn,
			"1 job of the same account and queue is before it for the machines that can run it; it waits for eider-2, which has its cache git and " +
				"the results that it measures against: " + until + "; eider-2 is held by a job that runs alone",
		},
		{
			"moved lately", func(r *whyRows) {
				at := whyNoon.Add(15 * time.Second)
				r.runs(2, "exclusive")
				r.job.MovedAt, r.job.Near = &at, []string{"ccache/gcc", "git"}
				r.warms = append(r.warms, WarmRow{"eider-2", "ccache/gcc", 9})
			}, WaitAffinity,
			"it waits for eider-2, which has its caches ccache/gcc and git: for at most 27 s more, until 2026-11-22 12:00:45 UTC, then any machine that fits takes it; " +
				"eider-2 is held by a job that runs alone",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows := pickyJob()
			tc.change(&rows)
			w := rows.why()
			if diff := cmp.Diff([]any{true, tc.reason, tc.words}, []any{w.Waits, w.Reason, w.Words}); diff != "" {
				t.Error(diff)
			}
			if w.Reason == WaitAffinity && (w.Affinity == nil || w.Starts == nil || w.Starts.BeforeMS != w.Affinity.LeftMS) {
				t.Errorf("%+v", w)
			}
		})
	}
}

// crowd is freeJob, j1, behind a job that needs much: big has waited for 11 minutes and comes first.
func crowd() whyRows {
	r := freeJob()
	r.waits, r.late = match.Waits{Now: whyNoon.Add(11 * time.Minute), Room: 10 * time.Minute}, true
	r.runs(0, "memory=4g")
	began := whyNoon.Add(time.Minute)
	r.park.places[0].Share = &JobShare{ExpectMS: 60_000, BegunAt: &began}
	r.firsts = []whyFirst{
		{Tier: events.TierDefault, Queue: "bob", Account: "bob", Kind: events.Master, Requires: []string{"memory=16g", "trait=nvme"}, JobID: "big", Since: whyNoon, ClassSince: whyNoon, Rank: 2},
		{Tier: events.TierDefault, Queue: "alice", Account: "alice", Kind: events.Master, Requires: r.job.Requires, JobID: "j1", Since: whyNoon.Add(time.Minute), ClassSince: whyNoon, Rank: 3},
	}
	r.leaves = append(r.leaves, whyLeaf{Tier: events.TierDefault, Queue: "bob", Account: "bob", Waiting: 1})
	return r
}

func TestWhyAMachineIsHeld(t *testing.T) {
	const others = "no job of its account and queue is before it; bob (1 job) also has work for the machines that can run it, and its own share is 50 % by weight"
	big := func(r *whyRows) {
		r.job.ID, r.job.Requires = "big", r.firsts[0].Requires
		r.request.Account, r.request.Queue, r.leaves = "bob", "bob", r.leaves[1:]
	}
	for _, tc := range []struct {
		name   string
		change func(*whyRows)
		reason WaitReason
		words  string
		held   *WhyHeld
	}{
		{
			"for another", func(*whyRows) {}, WaitShare, others + "; no machine has room for it: eider-1 is held for job big",
			&WhyHeld{"eider-1", "big", whyNoon.Add(10 * time.Minute), []events.JobID{"j0"}},
		},
		{
			"for another, of a more urgent tier", func(r *whyRows) { r.firsts[0].Tier, r.leaves[1].Tier = events.TierVIP, events.TierVIP }, WaitTier,
			"1 job of more urgent tiers is before it for the machines that can run it; no machine has room for it: eider-1 is held for job big",
			&WhyHeld{"eider-1", "big", whyNoon.Add(10 * time.Minute), []events.JobID{"j0"}},
		},
		{"not yet", func(r *whyRows) { r.firsts[0].Since = whyNoon.Add(2 * time.Minute) }, WaitShare, others, nil},
		{"its turn comes later", func(r *whyRows) { r.firsts[0].Rank, r.firsts[0].Account, r.firsts[0].Queue = 4, "alice", "alice" }, WaitShare, others, nil},
		{"its queue is paused", func(r *whyRows) { r.queues = []NamedQueue{{Name: "bob", Paused: true}} }, WaitNext, "it is dispatched next", nil},
		{"it has room", func(r *whyRows) { r.firsts[0].Requires = []string{"memory=12g"} }, WaitShare, others, nil},
		{
			"another machine has room sooner", func(r *whyRows) { r.firsts[0].Requires = []string{"memory=16g"}; r.park.machines[1].Only = nil }, WaitShare, others, nil,
		},
		{
			"for the job itself", big, WaitNoRoom,
			"no machine has room for it: eider-1 lacks 4 GiB of free memory; eider-1 has been held for it since 2026-11-22 12:10:00 UTC, until job j0 ends there",
			&WhyHeld{"eider-1", "big", whyNoon.Add(10 * time.Minute), []events.JobID{"j0"}},
		},
		{
			"for the job itself, not yet", func(r *whyRows) { big(r); r.waits.Now = whyNoon.Add(9 * time.Minute) }, WaitNoRoom,
			"no machine has room for it: eider-1 lacks 4 GiB of free memory", nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows := crowd()
			tc.change(&rows)
			w := rows.why()
			if diff := cmp.Diff([]any{true, tc.reason, tc.words, tc.held}, []any{w.Waits, w.Reason, w.Words, w.Held}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
