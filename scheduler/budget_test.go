package scheduler

import (
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// The time since when an artifact has transient errors counts on other lanes too: a collector that lies about it must
// not spend their budget.
func TestACollectorCannotSpendTheBudgetOfOtherLanes(t *testing.T) {
	there := events.Lane{Target: "there"}
	other := spec
	other.ID, other.Target = "j2", there.Target
	s := shared(
		events.LaneAssigned{Lane: there, Name: "s"},
		events.RequestCreated{RequestID: "r1", Kind: events.Master, Suite: "s", Tag: "t1", State: events.StateArtifactsReady},
		events.RequestStarted{RequestID: "r1", Jobs: 2},
		events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{spec, other}},
		events.JobDispatched{Place: 1, Job: spec},
	)
	s.say(events.JobDequeued{Lane: shareLane, Place: 1, Job: spec, Collector: "a", Instance: "a1", Attempt: 1})
	s.say(events.AttemptReleased{
		Lane: shareLane, Place: 1, JobID: spec.ID, Collector: "a", Token: s.Seq, Attempt: 1, Transient: true, Since: "2020-01-01T00:00:00Z",
	})
	for _, d := range decideAll(s, Policy{MaxInProgress: 1}, noon) {
		if f, ok := d.facts[0].(events.JobDispatched); ok && f.Job.ID == other.ID {
			if since := job.Time(f.Since); since.Before(s.Newest) {
				t.Errorf("job %s is dispatched with errors since %s; it is %s", f.Job.ID, since, s.Newest)
			}
			return
		}
	}
	t.Error("the job of the other lane is not dispatched")
}
