package farm

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// A process is paused in its attempt, others end the attempt meanwhile, and the process wakes up at the worst moment. It
// continues to measure, but nothing that it says is stored. What is stored was measured once, and counts.
func TestAProcessThatWakesUpTooLateAddsNothing(t *testing.T) {
	ends := func(outcome events.Outcome) func(*Farm) {
		return func(f *Farm) {
			f.Await("the end of the job", func(e events.Fact) bool {
				end, ok := e.(events.JobFinished)
				return ok && end.Outcome == outcome
			})
		}
	}
	lost := func(f *Farm) {
		f.Await("the loss", func(e events.Fact) bool { _, ok := e.(events.AttemptLost); return ok })
	}
	cancel := func(f *Farm) {
		id := events.NewRequestID(f.Suite.Name, events.Master, "t1")
		if _, _, err := f.Control.CancelRequest(f.ctx, By, id, "changed my mind"); err != nil {
			f.T.Fatal(err)
		}
	}
	for name, window := range map[string][]func(*Farm){
		"its request is cancelled":       {cancel, ends(events.Cancelled)},
		"cancelled, and asked for again": {cancel, ends(events.Cancelled), func(f *Farm) { f.awaitStart(f.askAgain("again")) }},
		"cancelled, and measured by another": {cancel, func(f *Farm) {
			f.Start("spare", here, "s1", &Bench{Each: time.Second})
			f.awaitEnd(f.askAgain("again"))
		}},
		"it is lost, and nobody is there":   {lost},
		"it is lost, and another continues": {func(f *Farm) { f.Start("spare", here, "s1", &Bench{Each: time.Minute}); f.awaitDequeued("spare") }},
		"it is lost, and another has ended": {func(f *Farm) { f.Start("spare", here, "s1", &Bench{Each: time.Second}) }, ends(events.Success)},
		"its collector is removed": {func(f *Farm) {
			f.do(f.Control.RemoveCollector(f.ctx, By, "first", "sold"))
			f.Await("the release", func(e events.Fact) bool { _, ok := e.(events.AttemptReleased); return ok })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inLane(t, func(t *testing.T, f *Farm) {
				first := f.Start("first", here, "a1", &Bench{Each: 20 * time.Second})
				f.ask("t1")
				f.Await("a result", func(e events.Fact) bool { _, ok := e.(events.TestCasesMeasured); return ok })
				first.Pause()
				for _, step := range window {
					step(f)
				}
				first.Wake()
				<-time.After(10 * time.Minute)
				closed := map[events.JobID]events.Seq{}
				stored := map[events.TestCase]bool{}
				for _, e := range f.Events() {
					//exhaustive:ignore
					switch fact := e.Fact.(type) {
					case events.ResultsClosed:
						closed[fact.JobID] = fact.Token
					case events.TestCasesMeasured:
						if fact.Token <= closed[fact.JobID] {
							t.Errorf("event %d: a result of an attempt that is over", e.Seq)
						}
						for _, c := range fact.Cases {
							if stored[c.TestCase] {
								t.Errorf("event %d: %s is stored twice", e.Seq, c)
							}
							stored[c.TestCase] = true
						}
					}
				}
				if len(closed) == 0 {
					t.Error("nobody has closed the results")
				}
			})
		})
	}
}
