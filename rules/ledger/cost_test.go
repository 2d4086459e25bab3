package ledger

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/match"
)

// The lanes of a rehearsal are those on which jobs can run: of a machine as many as have a collector, and room.
func TestLanesOfARehearsal(t *testing.T) {
	l := New()
	machine := func(name events.MachineName, takers, cpus, slots int, traits ...string) {
		m := &Machine{Described: events.MachineDescribed{Machine: name, Pool: "builders", OS: "linux", Arch: "amd64", CPUs: cpus, MemoryMiB: 1000, Slots: slots, Traits: traits}, Takers: takers}
		m.room = match.NewRoom(m.Offer())
		l.Machines[name] = m
	}
	machine("a", 4, 8, 4)
	machine("b", 2, 64, 8, "fast")
	machine("c", 0, 64, 8, "fast") // without collectors
	matched := func(requires ...string) events.JobSpec {
		return events.JobSpec{Artifact: events.Artifact{Kind: events.Master}, Target: "t", Matched: true, Requires: requires}
	}
	classes, pooled, lanes := l.lanesOf([]events.JobSpec{
		{Target: "t", Set: 1}, matched("cpus=4"), {Target: "t", Set: 1}, matched("trait=fast"), matched("cpus=4"), matched("trait=slow"), {Target: "t", Set: 2}, matched("odd terms !"),
	})
	if !slices.Equal(classes, []int{0, 1, 0, 2, 1, 3, 4, 5}) || !slices.Equal(pooled, []bool{false, true, true, true, false, true}) {
		t.Errorf("classes %v, pooled %v", classes, pooled)
	}
	if diff := cmp.Diff([]graph.Lanes{{Number: 2, Classes: []int{1}}, {Number: 2, Classes: []int{1, 2}}}, lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}
