package farm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/events"
)

// A collector is removed in the middle of a job; in one case it hangs and cannot give its job back. Its standby continues
// the job at once, and no attempt is spent.
func TestTheJobOfARemovedCollectorGoesOnWithItsStandby(t *testing.T) {
	for name, hangs := range map[string]bool{"it works": false, "it hangs": true} {
		t.Run(name, func(t *testing.T) {
			inLane(t, func(t *testing.T, f *Farm) {
				bench := &Bench{Each: 20 * time.Second}
				first := f.Start("first", here, "a1", bench)
				f.Start("spare", here, "s1", bench)
				id := f.ask("t1")
				f.awaitDequeued("first")
				f.Pass(25 * time.Second)
				if hangs {
					first.Pause()
				}
				gone := time.Now()
				f.do(f.Control.RemoveCollector(f.ctx, By, "first", "sold"))
				released := f.Await("the release", func(e events.Fact) bool { _, ok := e.(events.AttemptReleased); return ok })
				if r := released.Fact.(events.AttemptReleased); r.Reason != "the collector was removed" || r.Lost != 0 || released.Time.Sub(gone) > 15*time.Second {
					t.Errorf("released after %s: %+v", released.Time.Sub(gone), r)
				}
				if e, taken := f.awaitTakeover("spare"); e.Time.Sub(gone) > time.Second || taken.From != "first" || !strings.Contains(taken.Reason, "removed") {
					t.Errorf("taken over after %s: %+v", e.Time.Sub(gone), taken)
				}
				if d := f.awaitDequeued("spare").Fact.(events.JobDequeued); d.Attempt != 2 || d.Lost != 0 {
					t.Errorf("the standby began attempt %d, %d lost", d.Attempt, d.Lost)
				}
				if _, ok := f.awaitEnd(id).(events.RequestCompleted); !ok {
					t.Error("the request did not complete")
				}
				if hangs {
					first.Wake()
				}
				<-first.Ended
				again := f.Start("first", here, "a2", bench)
				<-again.Ended
				if _, refused := errors.AsType[*collector.RegistrationError](again.Err); !refused || !strings.Contains(again.Err.Error(), "was removed (sold)") {
					t.Errorf("a removed collector starts: %v", again.Err)
				}
				if _, err := f.Control.ActivateCollector(f.ctx, By, "first"); err == nil {
					t.Error("a removed collector is activated")
				}
			})
		})
	}
}
