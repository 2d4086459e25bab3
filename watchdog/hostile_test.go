package watchdog

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/job"
)

// Scheduler and projector have the same test: whatever collectors write, all come to the same.
func TestWhateverCollectorsWriteTheWatchdogKnowsWhatIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story, s := hostile.Draw(t), newState()
		for i, f := range story.Facts {
			s.fold(events.Recorded{Seq: events.Seq(i + 1), Event: events.Event{Time: began, Fact: f}}, began)
		}
		for id, want := range story.Jobs {
			j, known := s.jobs[id]
			if known == want.Terminal() || known && (j.executor() != "") != (want == events.JobInProgress) {
				t.Fatalf("job %s is %s, and known as %+v", id, want, j)
			}
		}
		for name, want := range story.Lanes {
			work := s.lane(name).work
			if work.Place != want.Place || (work.Phase == job.Current) != want.Running || (work.Phase == job.Ended) != want.Over {
				t.Fatalf("lane %s is %+v, and known as %+v", name, want, work)
			}
		}
	})
}
