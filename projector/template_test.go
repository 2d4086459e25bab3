package projector

import (
	"fmt"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// Jobs that are run again do not count for what the next request of the sort is expected to be given.
func TestARepairIsNoTemplate(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := newState(1)
	spec := events.JobSpec{ID: "j1", RequestID: "r1", Artifact: events.Artifact{Suite: "go", Tag: "t1", Kind: events.Master}, Kind: "compile", Target: "here"}
	for i, f := range []events.Fact{
		events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "go", Tag: "t1", Key: "t1", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: "r1", Jobs: 1},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec}},
		events.JobsWithdrawn{RequestID: "r1", Jobs: []events.JobID{"j1"}},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec.Again()}, Key: "k1"},
	} {
		s.fold(newFact(events.Recorded{Seq: events.Seq(i + 1), Event: events.Event{Time: noon, Fact: f}}, noon))
	}
	if n := len(s.templates[template{suite: "go", kind: events.Master}].jobs); n != 1 || len(s.jobs) != 2 {
		t.Errorf("%d jobs are expected of the next request, and %d were made", n, len(s.jobs))
	}
}

// Whatever people ask for, the sorts that are kept of a suite are bounded. Branches are no sorts of their own.
func TestSortsOfRequestsAreBounded(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := newState(1)
	seq := events.Seq(0)
	start := func(suite events.SuiteName, choice events.RequestCreated) {
		id := events.RequestID(fmt.Sprintf("r%d", seq))
		choice.RequestID, choice.Kind, choice.Suite, choice.State = id, events.Master, suite, events.StateArtifactsReady
		for _, f := range []events.Fact{choice, events.RequestStarted{RequestID: id, Jobs: 1}} {
			seq++
			s.fold(newFact(events.Recorded{Seq: seq, Event: events.Event{Time: noon, Fact: f}}, noon))
		}
	}
	for i := range 20 {
		start("go", events.RequestCreated{Branch: fmt.Sprint("release/", i)})
	}
	if n := s.countTemplates("go"); n != 1 {
		t.Errorf("%d sorts for 20 branches", n)
	}
	for i := range 2 * maxTemplates {
		start("go", events.RequestCreated{Options: map[string]string{"x": fmt.Sprint(i)}})
	}
	start("rust", events.RequestCreated{})
	if own, other := s.countTemplates("go"), s.countTemplates("rust"); own != maxTemplates || other != 1 {
		t.Errorf("%d and %d sorts, want %d and 1", own, other, maxTemplates)
	}
}
