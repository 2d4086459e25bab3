package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// oddCaches are names of caches, some of which no table can hold as they are.
var oddCaches = []string{"ccache/gcc", "git\x00", "git\ufffd", strings.Repeat("x", 5000)}

// runOn tells that a matched job runs on a lane to its end.
func (s *story) runOn(j events.JobSpec, l events.Lane, evicted ...string) {
	on := j.Bound(l)
	s.tell(events.JobDispatched{Job: on, Share: turnOf("alice")})
	ended := finished(on, s.tell(dequeued(on, 1, 0)), events.Success)
	ended.Evicted = evicted
	s.tell(ended)
}

func warmRows(t *testing.T, url string) map[events.MachineName]string {
	var rows []readmodel.WarmRow
	query(t, url, `SELECT * FROM tacho.machine_warm ORDER BY machine, name`, &rows)
	got := map[events.MachineName]string{}
	for _, r := range rows {
		got[r.Machine] = strings.TrimSpace(got[r.Machine] + " " + r.Name)
	}
	return got
}

// TestTheTablesKnowTheCachesOfMachines: they are those that the ledger of the scheduler remembers (rules/match), wherever
// batches end.
func TestTheTablesKnowTheCachesOfMachines(t *testing.T) {
	s := newStory(t)
	s.staff()
	first, second := matchedJob("sha1", "sha0", "exclusive"), matchedJob("sha2", "sha1", "exclusive")
	first.Caches, second.Caches = []string{"git", "ccache/gcc"}, []string{"git", "ccache/gcc", "ccache/go"}
	s.begin(created("sha1", "", 0), first)
	s.runOn(first, builders[0], "ccache/gcc")
	s.begin(created("sha2", "sha1", 0), second)
	moved := second.Bound(builders[1])
	s.tell(events.JobDispatched{Job: moved, Share: turnOf("alice")})
	s.tell(events.JobMoved{Lane: builders[1], JobID: second.ID, Reason: "the collector drains"})
	s.runOn(second, builders[2])
	s.tell(events.CollectorOnline{Name: collectorOf(builders[2]), Instance: "i2", Evicted: []string{"git"}})
	want := map[events.MachineName]string{"eider-10": "=go/sha0 =go/sha1 git", "eider-12": "=go/sha1 =go/sha2 ccache/gcc ccache/go"}
	for _, size := range []int{1, 7, 1000} {
		url := project(t, s.stored, size)
		if diff := cmp.Diff(want, warmRows(t, url)); diff != "" {
			t.Fatalf("batch size %d: %s", size, diff)
		}
		j, err := open(t, url).Job(t.Context(), second.ID)
		if err != nil || !slices.Equal(j.Near, []string{"=go/sha1", "git"}) || j.MovedAt == nil || !slices.Equal(j.Caches, second.Caches) {
			t.Errorf("%+v %v", j.Job, err)
		}
	}
	s.tell(events.MachineRemoved{Machine: machineOf(builders[2])})
	url := project(t, s.stored, 3)
	delete(want, "eider-12")
	if diff := cmp.Diff(want, warmRows(t, url)); diff != "" {
		t.Error(diff)
	}
	report, err := projector.Replay(t.Context(), newFeed("log", s.stored...), url, projector.ReplayOptions{Verify: true})
	if err != nil || !report.Identical() {
		t.Errorf("%+v %v", report, err)
	}
}

// TestAMachineIsWarmForSoManyCaches: those that were used longest ago are forgotten.
func TestAMachineIsWarmForSoManyCaches(t *testing.T) {
	s := newStory(t)
	s.staff()
	for n := range 9 {
		j := matchedJob(events.Tag(fmt.Sprint("sha", n)), "", "exclusive")
		for i := range 30 {
			j.Caches = append(j.Caches, fmt.Sprintf("c%02d%02d", n, i))
		}
		s.begin(created(j.Artifact.Tag, "", 0), j)
		s.runOn(j, builders[0])
	}
	for _, size := range []int{1, 7, 1000} {
		names := strings.Fields(warmRows(t, project(t, s.stored, size))["eider-10"])
		if len(names) != 256 || names[0] != "c0014" {
			t.Errorf("batch size %d: %d names, the first is %s", size, len(names), names[0])
		}
	}
}
