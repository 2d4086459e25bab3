package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// teller folds facts into a ledger, which stays sound.
func teller(t *testing.T, l *Ledger) func(events.Fact) {
	seq := events.Seq(0)
	return func(f events.Fact) {
		t.Helper()
		seq++
		l.Fold(events.Recorded{Seq: seq, Event: events.Event{Time: time.Unix(int64(seq), 0).UTC(), Fact: f}})
		if why := l.unsound(); why != "" {
			t.Fatalf("after %T: %s", f, why)
		}
	}
}

// sampleOf is a sample that waits on a lane.
func sampleOf(id events.JobID) events.JobSpec {
	return events.JobSpec{
		ID: id, Artifact: events.Artifact{Suite: "s", Tag: "t1", Kind: events.Master}, Kind: "compile", Target: "here", Backend: "llvm",
		Profile: events.Profile(id), Definitions: "d1", Sample: "r0011223344556677-2-1",
	}
}

// asks makes a request with samples that wait.
func asks(fold func(events.Fact), id events.RequestID, samples ...events.JobSpec) {
	fold(events.RequestCreated{RequestID: id, Kind: events.Master, Suite: "s", Tag: events.Tag(id), Key: string(id), State: events.StateArtifactsReady})
	fold(events.JobsCreated{RequestID: id, Jobs: samples})
}

// idly lets a request have a sample in an idle graph, too.
func idly(fold func(events.Fact), id events.RequestID, sample events.JobSpec) {
	fold(events.GraphCreated{RequestID: id, Graph: 1, Kind: events.GraphExternal, Jobs: 1, Priority: "idle"})
	fold(events.JobsCreated{RequestID: id, Graph: &events.GraphPart{Graph: 1, Shared: []events.SharedJob{{Number: 0, ID: sample.ID}}}})
}

// A sample that two requests want takes another seat when one of them has it in a graph that is less urgent.
func TestASampleSitsWhereItsGraphHasIt(t *testing.T) {
	l := New()
	fold, sample := teller(t, l), sampleOf("j1")
	asks(fold, "r1", sample)
	asks(fold, "r2", sample)
	if l.Seats.All != 1 {
		t.Errorf("two requests of one tier have %d seats", l.Seats.All)
	}
	idly(fold, "r2", sample)
	if l.Seats.All != 2 {
		t.Errorf("in a normal and an idle tier it has %d seats", l.Seats.All)
	}
}

// In its line it stands behind the more urgent ones of its request.
func TestASampleStandsWhereItsGraphHasIt(t *testing.T) {
	l := New()
	fold := teller(t, l)
	asks(fold, "r1", sampleOf("j1"), sampleOf("j2"))
	idly(fold, "r1", sampleOf("j1"))
	if got := l.Lanes[events.Lane{Target: "here"}].Queued["r1"]; !slices.Equal(got, []events.JobID{"j2", "j1"}) {
		t.Errorf("the line is %v", got)
	}
}
