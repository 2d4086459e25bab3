package control

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

var by = By{Actor: "cli:alice", Source: "cli", Root: "test"}

func definitions() suite.Definitions {
	return suite.Definitions{
		Version: 1, Name: "small", PrimaryTarget: "here",
		Targets:  []suite.Target{{Name: "here", Sets: 2, OS: "linux", Arch: "amd64"}},
		Kinds:    []suite.Kind{{Name: "compile", PerSet: true, PerProfile: true}},
		Profiles: []suite.Profile{{Name: "check"}, {Name: "opt"}},
		Backends: []suite.Backend{{Name: "any"}},
	}
}

// copyOf returns another Control with the same settings.
func copyOf(c *Control) *Control {
	return &Control{
		Log: c.Log, Clock: c.Clock, Suites: c.Suites, KeyHolder: c.KeyHolder, TokenHolder: c.TokenHolder,
		PendingOf: c.PendingOf, PendingIn: c.PendingIn, PendingAll: c.PendingAll, MaxPending: c.MaxPending, Queues: c.Queues, Offers: c.Offers,
		Requirements: c.Requirements, KeepTries: c.KeepTries,
	}
}

func start(t testing.TB) (*Control, *memory.Log) {
	t.Helper()
	log := memory.New(memory.Config{})
	c := &Control{Log: log, Clock: time.Now, Suites: func(context.Context) ([]events.SuiteName, error) { return []events.SuiteName{"small"}, nil }}
	if _, err := c.Publish(t.Context(), by, definitions()); err != nil {
		t.Fatal(err)
	}
	return c, log
}

func refused(t *testing.T, err error, kind RefusalKind, want string) {
	t.Helper()
	r, ok := errors.AsType[*RefusedError](err)
	if !ok || r.Kind != kind || !strings.Contains(r.Reason, want) {
		t.Errorf("got %v, want a refusal of kind %d with %q", err, kind, want)
	}
}

func TestAskingTwiceIsAskingOnce(t *testing.T) {
	c, log := start(t)
	n := NewRequest{Suite: "small", Kind: events.Master, Tag: "c1", Parent: "c0", PR: 14}
	first, a, err := c.CreateRequest(t.Context(), by, n)
	if err != nil || a.Existed || first.State != events.StateArtifactsReady {
		t.Fatalf("%+v %+v %v", first, a, err)
	}
	again, b, err := c.CreateRequest(t.Context(), by, n)
	if err != nil || !b.Existed || again.ID != first.ID || b.Seq != a.Seq {
		t.Errorf("%+v %+v %v", again, b, err)
	}
	if answer, err := c.Publish(t.Context(), by, definitions()); err != nil || !answer.Existed {
		t.Errorf("publishing again: %+v %v", answer, err)
	}
	head, err := log.Head(t.Context())
	if err != nil || head.Last != 2 {
		t.Errorf("%d events, %v; want the definitions and the request", head.Last, err)
	}
}

func TestATryWaitsForItsArtifacts(t *testing.T) {
	c, _ := start(t)
	r, _, err := c.CreateRequest(t.Context(), by, NewRequest{Suite: "small", Kind: events.Try, Key: "comment-1"})
	if err != nil || r.State != events.StateWaitingForArtifacts {
		t.Fatalf("%+v %v", r, err)
	}
	if r, _, err = c.ArtifactsReady(t.Context(), by, r.ID, "c9", "c1"); err != nil || r.Artifact.Tag != "c9" || r.Parent != "c1" {
		t.Fatalf("%+v %v", r, err)
	}
	if r, _, err = c.CancelRequest(t.Context(), by, r.ID, "enough"); err != nil || r.State != events.StateCancelled {
		t.Fatalf("%+v %v", r, err)
	}
	_, _, err = c.ArtifactsReady(t.Context(), by, r.ID, "c10", "")
	refused(t, err, Conflict, "cancelled")
}

func TestWhatIsWrongIsRefusedWithTheNextStep(t *testing.T) {
	c, log := start(t)
	for name, tc := range map[string]struct {
		n    NewRequest
		kind RefusalKind
		want string
	}{
		"unknown suite":        {NewRequest{Suite: "other", Kind: events.Master, Tag: "c1"}, NotFound, "tacho suite publish"},
		"unknown profile":      {NewRequest{Suite: "small", Kind: events.Master, Tag: "c1", Parameters: events.Parameters{Profiles: []events.Profile{"fast"}}}, Invalid, "opt"},
		"unknown target":       {NewRequest{Suite: "small", Kind: events.Master, Tag: "c1", Parameters: events.Parameters{Targets: []events.Target{"moon"}}}, Invalid, "here"},
		"no tag":               {NewRequest{Suite: "small", Kind: events.Master}, Invalid, "tag"},
		"a path as a tag":      {NewRequest{Suite: "small", Kind: events.Master, Tag: "../c1"}, Invalid, "letters"},
		"a subject as a suite": {NewRequest{Suite: "a.>", Kind: events.Master, Tag: "c1"}, Invalid, "lower-case"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := c.CreateRequest(t.Context(), by, tc.n)
			refused(t, err, tc.kind, tc.want)
		})
	}
	_, _, err := c.CancelRequest(t.Context(), by, "r0000000000000000", "")
	refused(t, err, NotFound, "tacho request list")
	if head, err := log.Head(t.Context()); err != nil || head.Last != 1 {
		t.Errorf("%d events, %v; want the definitions alone", head.Last, err)
	}
}

func TestALaneHasOneActiveCollectorThatIsNoStandby(t *testing.T) {
	c, _ := start(t)
	add := func(n NewCollector) (Answer, error) { return c.AddCollector(t.Context(), by, n) }
	if _, err := add(NewCollector{Name: "a", Target: "here", Set: 0}); err != nil {
		t.Fatal(err)
	}
	if answer, err := add(NewCollector{Name: "a", Target: "here", Set: 0}); err != nil || !answer.Existed {
		t.Errorf("adding again: %+v %v", answer, err)
	}
	_, err := add(NewCollector{Name: "a", Target: "here", Set: 1})
	refused(t, err, Conflict, "unique for ever")
	_, err = add(NewCollector{Name: "b", Target: "here", Set: 0})
	refused(t, err, Conflict, "--standby")
	if _, err := add(NewCollector{Name: "b", Target: "here", Set: 0, Standby: true}); err != nil {
		t.Errorf("a standby: %v", err)
	}
	_, err = add(NewCollector{Name: "c", Target: "here", Set: 2})
	refused(t, err, Invalid, "here (2 sets)")
	_, err = add(NewCollector{Name: "C 1", Target: "here"})
	refused(t, err, Invalid, "lower-case")
	if _, err := c.DeactivateCollector(t.Context(), by, "a", Deactivation{Reason: "new disk"}); err != nil {
		t.Fatal(err)
	}
	if _, err := add(NewCollector{Name: "d", Target: "here", Set: 0}); err != nil {
		t.Errorf("the lane is free: %v", err)
	}
	_, err = c.ActivateCollector(t.Context(), by, "a")
	refused(t, err, Conflict, "already has collector d")
	_, err = c.DrainCollector(t.Context(), by, "nobody", "")
	refused(t, err, NotFound, "tacho collector list")
}

// For any registrations, activations, deactivations and removals: a lane never has two active collectors that are not
// standbys, and the log agrees about each collector and its lane.
func TestAssignmentsAreNeverAmbiguous(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, log := start(t)
		names := rapid.SampledFrom([]events.CollectorName{"a", "b", "c"})
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			name := names.Draw(rt, "name")
			var err error
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				set := events.Set(rapid.IntRange(0, 1).Draw(rt, "set"))
				_, err = c.AddCollector(t.Context(), by, NewCollector{Name: name, Target: "here", Set: set, Standby: rapid.Bool().Draw(rt, "standby")})
			case 1:
				_, err = c.ActivateCollector(t.Context(), by, name)
			case 2:
				_, err = c.DeactivateCollector(t.Context(), by, name, Deactivation{Now: rapid.Bool().Draw(rt, "now")})
			case 3:
				_, err = c.RemoveCollector(t.Context(), by, name, "sold")
			}
			if _, ok := errors.AsType[*RefusedError](err); err != nil && !ok {
				rt.Fatal(err)
			}
			for set := range events.Set(2) {
				checkLane(rt, log, events.Lane{Target: "here", Set: set})
			}
		}
	})
}

func TestWhoNamesAnUnknownSuiteIsToldTheKnownOnes(t *testing.T) {
	c, _ := start(t)
	_, _, err := c.CreateRequest(t.Context(), by, NewRequest{Suite: "go", Kind: events.Master, Tag: "c1"})
	refused(t, err, NotFound, "published suites: small")
}

func checkLane(t *rapid.T, log *memory.Log, lane events.Lane) {
	serving, err := fold(t.Context(), log, events.AssignmentSubject(lane), evolveAssignment)
	if err != nil {
		t.Fatal(err)
	}
	holders := 0
	for name, standby := range serving.state.Collectors {
		if !standby {
			holders++
		}
		known, err := (&Control{Log: log}).Standing(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !known.Active || known.Removed || known.Registered.Set != lane.Set {
			t.Fatalf("lane %s is served by %s, which is %+v", lane, name, known)
		}
	}
	if holders > 1 {
		t.Fatalf("lane %s has %d collectors: %v", lane, holders, serving.state.Collectors)
	}
}

// Definitions are parsed once, until newer ones are published.
func TestKnownDefinitionsAreNotParsedAgain(t *testing.T) {
	c, _ := start(t)
	known, err := c.Published(t.Context(), "small")
	if err != nil || known.seq != 1 {
		t.Fatalf("%+v %v", known, err)
	}
	if again, err := c.Published(t.Context(), "small"); err != nil || again != known {
		t.Errorf("the same ones: %+v %v", again, err)
	}
	other := definitions()
	other.Targets[0].Sets = 1
	if _, err := c.Publish(t.Context(), by, other); err != nil {
		t.Fatal(err)
	}
	if newer, err := c.Definitions(t.Context(), "small", "anything"); err != nil || newer.PrimaryTarget != "here" || newer.Targets[0].Sets != 1 {
		t.Errorf("newer ones: %+v %v", newer, err)
	}
	_, err = c.Definitions(t.Context(), "other", "")
	refused(t, err, NotFound, "tacho suite publish")
}
