package reporter

import (
	"fmt"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// A request whose root, leaf or optional job fails has exactly one comment, by either rule, also when an optional job and the
// graph end after it.
func TestAGraphThatFailsHasOneComment(t *testing.T) {
	for _, rule := range []events.OnFailure{events.KeepGoing, events.FailFast} {
		for _, fails := range []string{"root", "leaf", "optional"} {
			t.Run(fmt.Sprintf("%s-%s", rule, fails), func(t *testing.T) {
				inRig(t, func(t *testing.T, r *rig) {
					lane := events.Lane{Target: "x", Set: 1}
					jobs := make([]events.JobSpec, 3)
					for i, id := range []events.JobID{"root", "leaf", "optional"} {
						jobs[i] = events.JobSpec{ID: id, RequestID: "r1", Kind: events.JobKind(id), Artifact: events.Artifact{Suite: "rustc", Tag: "a", Kind: events.Try}, Target: lane.Target, Set: lane.Set, Optional: i == 2}
					}
					r.record(
						events.RequestCreated{RequestID: "r1", Kind: events.Try, Suite: "rustc", Tag: "a", Parent: "p", PR: pr, Key: "r1", State: events.StateArtifactsReady},
						events.RequestStarted{RequestID: "r1", Jobs: 3, Graphs: 1},
						events.GraphCreated{RequestID: "r1", Kind: events.GraphInitial, Jobs: 3, Needs: 1, OnFailure: rule},
						events.JobsCreated{RequestID: "r1", Jobs: jobs, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 1, On: []int{0}}}}},
					)
					r.start()
					ends := func(i int, place uint64) {
						outcome := events.Success
						if string(jobs[i].ID) == fails {
							outcome = events.Failure
						}
						r.record(events.JobDispatched{Place: place, Job: jobs[i]}, events.JobFinished{Lane: lane, Place: place, JobID: jobs[i].ID, RequestID: "r1", Outcome: outcome})
						pass(time.Minute)
					}
					ends(0, 1)
					r.want()
					switch fails {
					case "root":
						r.record(
							events.JobsWithdrawn{RequestID: "r1", Jobs: []events.JobID{"leaf"}, Skipped: true},
							events.GraphEnded{RequestID: "r1", Outcome: events.Failure, Jobs: 2, Failed: 1, Skipped: 1, Causes: []int{0}},
							events.RequestFailed{RequestID: "r1", Reason: "2 of 2 jobs failed", Jobs: 2, FailedJobs: 2},
						)
					case "leaf":
						ends(1, 2)
						r.record(
							events.GraphEnded{RequestID: "r1", Outcome: events.Failure, Jobs: 2, Failed: 1, Causes: []int{1}},
							events.RequestFailed{RequestID: "r1", Reason: "1 of 2 jobs failed", Jobs: 2, FailedJobs: 1},
						)
					case "optional":
						ends(1, 2)
						r.record(events.GraphEnded{RequestID: "r1", Outcome: events.Success, Jobs: 2}, events.RequestCompleted{RequestID: "r1"})
					}
					pass(time.Minute)
					ends(2, 3)
					pass(time.Hour)
					if got := r.comments(); len(got) != 1 || count[events.CommentPosted](r) != 1 {
						t.Errorf("comments %q", got)
					}
				})
			})
		}
	}
}
