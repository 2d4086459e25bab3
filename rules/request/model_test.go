package request

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// sequences is how many sequences of commands one check draws; rapid runs a hundred checks.
const sequences = 100

// edges is the diagram of the package comment: which states may follow which.
var edges = map[events.RequestState][]events.RequestState{
	"":                              {events.StateWaitingForArtifacts, events.StateArtifactsReady},
	events.StateWaitingForArtifacts: {events.StateArtifactsReady, events.StateCancelled, events.StateExpired, events.StateSuperseded},
	events.StateArtifactsReady:      {events.StateInProgress, events.StateFailed, events.StateCancelled, events.StateSuperseded},
	events.StateInProgress:          {events.StateCompleted, events.StateFailed, events.StateCancelled},
}

// Any commands in any order, with repeats: the request moves only along the diagram, a terminal state never changes, a
// refusal records nothing, and repeating a command records nothing more.
func TestRequestsMoveAlongTheDiagram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range sequences {
			walk(t)
		}
	})
}

func walk(t *rapid.T) {
	var r Request
	at := now
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		c := command(t)
		// The clocks of the writers may jump; they decide nothing.
		at = at.Add(time.Duration(rapid.IntRange(-300, 300).Draw(t, "minutes")) * time.Minute)
		before := r
		facts, err := Decide(r, c)
		if err != nil && len(facts) > 0 {
			t.Fatalf("%#v was refused and recorded", c)
		}
		for _, f := range facts {
			r = Evolve(r, f, at)
		}
		if len(facts) == 0 && !reflect.DeepEqual(before, r) {
			t.Fatalf("%#v recorded nothing and changed the request", c)
		}
		if before.State.Terminal() && len(facts) > 0 {
			t.Fatalf("%#v recorded %v on a request that is %s", c, facts, before.State)
		}
		if r.State != before.State && !slices.Contains(edges[before.State], r.State) {
			t.Fatalf("%#v made a %q request %q", c, before.State, r.State)
		}
		if r.Troubles().Failures > QuarantineAfter || r.Troubles().Failures == QuarantineAfter && r.State != events.StateFailed {
			t.Fatalf("a request that is %s could not be expanded %d times", r.State, r.Troubles().Failures)
		}
		if r.State == events.StateInProgress && r.StartedAt.IsZero() || r.State.Terminal() && r.EndedAt.IsZero() {
			t.Fatalf("a request that is %s and nobody knows since when: %+v", r.State, r)
		}
		if p, ok := c.(Prioritise); ok && err == nil && r.Priority.String() != p.To.String() {
			t.Fatalf("%#v left a request with priority %s", c, r.Priority)
		}
		again(t, r, c, facts)
	}
}

// again sends the same command once more. Only failures and further jobs are recorded each time they are sent.
func again(t *rapid.T, r Request, c Command, facts []events.Fact) {
	// All others must record nothing the second time.
	//exhaustive:ignore
	switch c.(type) {
	case AddBackfill, FailExpansion, BuildFailed:
		return
	}
	if len(facts) == 0 {
		return
	}
	if more, _ := Decide(r, c); len(more) > 0 {
		t.Fatalf("%#v recorded %v, and asked again %v", c, facts, more)
	}
}

func command(t *rapid.T) Command {
	tag := rapid.SampledFrom([]events.Tag{"a", "b", "", "../x"})
	priority := rapid.SampledFrom(append(events.Priorities[:len(events.Priorities):len(events.Priorities)], "", "asap"))
	jobs := []events.JobSpec{{ID: "j1"}, {ID: "j2"}}[:rapid.IntRange(0, 2).Draw(t, "jobs")]
	switch rapid.IntRange(0, 11).Draw(t, "command") {
	case 0, 1:
		return Create{
			Suite: "go", Kind: rapid.SampledFrom([]events.RequestKind{events.Master, events.Try, events.Release, "nightly"}).Draw(t, "kind"),
			Key: "k", Tag: tag.Draw(t, "tag"), Parent: tag.Draw(t, "parent"), PR: rapid.IntRange(-1, 2).Draw(t, "pr"),
			Account: rapid.SampledFrom([]events.AccountName{"", "alice", "bob"}).Draw(t, "account"), Priority: priority.Draw(t, "priority"),
		}
	case 2:
		return ArtifactsReady{Tag: tag.Draw(t, "tag"), Parent: tag.Draw(t, "parent")}
	case 3:
		return Start{Definitions: "d", Jobs: jobs}
	case 4:
		return AddBackfill{Jobs: jobs}
	case 5:
		return FailExpansion{Reason: "bad definitions"}
	case 6:
		return Complete{Jobs: 2, Failed: rapid.IntRange(0, 1).Draw(t, "failed")}
	case 7:
		return Cancel{Reason: "changed my mind"}
	case 8:
		return BuildFailed{Reason: "it does not compile"}
	case 9:
		return Expire{Limit: time.Hour}
	case 10:
		return Prioritise{To: priority.Draw(t, "to")}
	}
	return Supersede{By: "r2"}
}
