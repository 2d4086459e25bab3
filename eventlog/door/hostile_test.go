package door

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/job"
)

// Scheduler, projector and watchdog have the same test: whatever collectors write, all come to the same. What the door
// believed more than they do it would let a collector build on.
func TestWhateverCollectorsWriteTheDoorKnowsWhatIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story, l := hostile.Draw(t), newLedger()
		for i, f := range story.Facts {
			s, err := events.Encode(eventlog.NewEvent(f, eventlog.Meta{Source: "test", Actor: "test"}, noon))
			if err != nil {
				t.Fatal(err)
			}
			s.Seq, s.StoredAt = events.Seq(i+1), noon.Add(time.Duration(i)*time.Second)
			if err := l.take([]events.Stored{s}, true); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range story.Lanes {
			work := l.lane(name).work
			if work.Place != want.Place || (work.Phase == job.Current) != want.Running || (work.Phase == job.Ended) != want.Over {
				t.Fatalf("lane %s is %+v, and known as %+v", name, want, work)
			}
			// A job leaves its lane when it has ended, and not before.
			for place, d := range l.lane(name).dispatched {
				if story.Jobs[d.job.ID].Terminal() {
					t.Fatalf("place %d of lane %s has ended and is known to wait", place, name)
				}
				if l.over(name, d.seq) {
					t.Fatalf("place %d of lane %s waits and may be taken off", place, name)
				}
			}
		}
	})
}
