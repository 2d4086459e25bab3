package job

import (
	"testing"

	"github.com/tachobench/tacho/events"
)

// A forged report on a job's results does not count, and the attempt's own reports after it still do.
func TestForgedResultsShutNobodyOut(t *testing.T) {
	l := Made()
	take := func(f events.Fact, seq events.Seq) (counts bool) {
		l, counts = Live(l, f, seq, start)
		return counts
	}
	take(events.JobDispatched{Place: 1, Job: spec("a")}, 1)
	take(events.JobDequeued{Lane: lane, Place: 1, Job: spec("a"), Collector: "c0", Attempt: 1}, 2)
	for _, forged := range []events.TestCasesMeasured{
		{JobID: "a", Collector: "c0", Token: 99, Attempt: 1}, {JobID: "a", Collector: "c1", Token: 2, Attempt: 1}, {JobID: "a", Collector: "c0", Token: 1, Attempt: 1},
	} {
		if take(forged, 3) {
			t.Errorf("%+v counts", forged)
		}
	}
	if !take(events.TestCasesMeasured{JobID: "a", Collector: "c0", Token: 2, Attempt: 1}, 4) {
		t.Error("the attempt is shut out")
	}
	take(events.ResultsClosed{JobID: "a", Attempt: 1, Token: 2}, 5)
	if take(events.TestCasesMeasured{JobID: "a", Collector: "c0", Token: 2, Attempt: 1}, 6) {
		t.Error("a late result counts")
	}
}

func TestTheLastExecutionIsCounted(t *testing.T) {
	for lost, want := range map[int]string{1: "1 execution was lost to crashes or silence: not tried again", 3: "3 executions were lost to crashes or silence: not tried again"} {
		facts, err := Decide(Lane{}, lane, Dequeue{Place: 1, Job: spec("a"), Collector: "c", Instance: "i", MaxAttempts: lost, Lost: lost})
		if err != nil || len(facts) == 0 {
			t.Fatal(facts, err)
		}
		if f, ok := facts[0].(events.JobFinished); !ok || f.Reason != want {
			t.Errorf("%+v, want %q", facts[0], want)
		}
	}
}
