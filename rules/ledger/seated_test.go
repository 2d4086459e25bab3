package ledger

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// A sample that two requests want takes another seat when one of them has it in a graph that is less urgent.
func TestASampleSitsWhereItsGraphHasIt(t *testing.T) {
	l, seq := New(), events.Seq(0)
	fold := func(f events.Fact) {
		t.Helper()
		seq++
		l.Fold(events.Recorded{Seq: seq, Event: events.Event{Time: time.Unix(int64(seq), 0).UTC(), Fact: f}})
		if why := l.unsound(); why != "" {
			t.Fatalf("after %T: %s", f, why)
		}
	}
	a := events.Artifact{Suite: "s", Tag: "t1", Kind: events.Master}
	sample := events.JobSpec{
		ID: "j0011223344556677", Artifact: a, Kind: "compile", Target: "here", Backend: "llvm", Profile: "opt", Definitions: "d1", Sample: "r0011223344556677-2-1",
	}
	for _, id := range []events.RequestID{"r1", "r2"} {
		fold(events.RequestCreated{RequestID: id, Kind: a.Kind, Suite: a.Suite, Tag: events.Tag(id), Key: string(id), State: events.StateArtifactsReady})
		fold(events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{sample}})
	}
	if l.Seats.All != 1 {
		t.Errorf("two requests of one tier have %d seats", l.Seats.All)
	}
	fold(events.GraphCreated{RequestID: "r2", Graph: 1, Kind: events.GraphExternal, Jobs: 1, Priority: "idle"})
	fold(events.JobsCreated{RequestID: "r2", Graph: &events.GraphPart{Graph: 1, Shared: []events.SharedJob{{Number: 0, ID: sample.ID}}}})
	if l.Seats.All != 2 {
		t.Errorf("in a normal and an idle tier it has %d seats", l.Seats.All)
	}
}
