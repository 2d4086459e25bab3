package scheduler

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// Jobs that have left the memory come back through their definitions. If those cannot be read, the scheduler refuses
// the wish with the reason. It does not claim that everything succeeded.
func TestARepairNeedsTheDefinitions(t *testing.T) {
	s := shared(
		events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "t1", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: "r1", Definitions: "gone", Jobs: 1},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec}},
		events.JobDispatched{Place: 1, Job: spec},
		events.JobDequeued{Lane: shareLane, Place: 1, Job: spec, Collector: "a", Instance: "a1", Attempt: 1},
	)
	s.say(events.JobFinished{Lane: shareLane, Place: 1, JobID: spec.ID, Collector: "a", Token: s.Seq, Attempt: 1, Outcome: events.Failure})
	s.say(events.RequestFailed{RequestID: "r1", Jobs: 1, FailedJobs: 1})
	if s.StateOf(spec.ID) != events.JobFailure || len(s.Jobs) > 0 {
		t.Fatalf("the job is %s, and %d are in the memory", s.StateOf(spec.ID), len(s.Jobs))
	}
	s.say(events.GraphWanted{RequestID: "r1", Key: "k", Kind: events.GraphRepair})
	for _, d := range decideAll(s, Policy{MaxInProgress: 1}, noon) {
		if f, ok := d.facts[0].(events.GraphRefused); ok {
			if !strings.Contains(f.Reason, "cannot read the definitions") {
				t.Errorf("refused: %s", f.Reason)
			}
			return
		}
	}
	t.Error("the wish is not answered")
}
