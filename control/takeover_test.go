package control

import (
	"testing"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// lane registers a collector and a standby for one lane.
func lane(t *testing.T, c *Control) events.Lane {
	t.Helper()
	for _, n := range []NewCollector{{Name: "a", Target: "here"}, {Name: "s", Target: "here", Standby: true}} {
		if _, err := c.AddCollector(t.Context(), by, n); err != nil {
			t.Fatal(err)
		}
	}
	return events.Lane{Target: "here"}
}

func TestAPersonGivesALaneToAnotherOfItsCollectors(t *testing.T) {
	c, log := start(t)
	l := lane(t, c)
	serving := func() events.CollectorName {
		t.Helper()
		a, err := fold(t.Context(), log, events.AssignmentSubject(l), evolveAssignment)
		if err != nil {
			t.Fatal(err)
		}
		return a.state.Serving
	}
	for _, step := range []struct {
		name    events.CollectorName
		existed bool
	}{{"a", true}, {"s", false}, {"s", true}, {"a", false}} {
		answer, err := c.TakeLaneOver(t.Context(), by, step.name, "")
		if err != nil || answer.Existed != step.existed || serving() != step.name {
			t.Errorf("%s: %+v %v, and %s serves", step.name, answer, err, serving())
		}
	}
	_, err := c.TakeLaneOver(t.Context(), by, "nobody", "")
	refused(t, err, NotFound, "tacho collector list")
	_, err = c.TakeLaneOver(t.Context(), by, "a.>", "")
	refused(t, err, Invalid, "lower-case")
	if _, err := c.DrainCollector(t.Context(), by, "s", ""); err != nil {
		t.Fatal(err)
	}
	_, err = c.TakeLaneOver(t.Context(), by, "s", "")
	refused(t, err, Conflict, "tacho collector activate s")
}

func TestDeactivateAtOnceAndActivateEndsAQuarantine(t *testing.T) {
	c, log := start(t)
	lane(t, c)
	for _, step := range []struct {
		how     Deactivation
		existed bool
	}{{Deactivation{}, false}, {Deactivation{}, true}, {Deactivation{Now: true}, false}, {Deactivation{Now: true}, true}, {Deactivation{}, true}} {
		if answer, err := c.DeactivateCollector(t.Context(), by, "a", step.how); err != nil || answer.Existed != step.existed {
			t.Errorf("%+v: %+v %v", step.how, answer, err)
		}
	}
	if answer, err := c.ActivateCollector(t.Context(), by, "a"); err != nil || answer.Existed {
		t.Errorf("%+v %v", answer, err)
	}
	last, _, err := log.Last(t.Context(), events.RegistrySubject("a"))
	if err != nil {
		t.Fatal(err)
	}
	quarantined := c.events(by, events.CollectorQuarantined{Name: "a", Reason: "3 jobs failed"})
	if _, err := log.Append(t.Context(), eventlog.Append{Subject: events.RegistrySubject("a"), Expected: last.Seq, Events: quarantined}); err != nil {
		t.Fatal(err)
	}
	for _, existed := range []bool{false, true} {
		if answer, err := c.ActivateCollector(t.Context(), by, "a"); err != nil || answer.Existed != existed {
			t.Errorf("%+v %v", answer, err)
		}
	}
}
