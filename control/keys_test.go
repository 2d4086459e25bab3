package control

import (
	"context"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// newKey returns the public key of a new user.
func newKey(t *testing.T) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func standing(t *testing.T, c *Control, name events.CollectorName) job.Standing {
	t.Helper()
	s, err := c.Standing(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAKeyIsReplacedAndNeverUsedAgain(t *testing.T) {
	c, log := start(t)
	keys := []string{newKey(t), newKey(t), newKey(t)}
	if _, err := c.AddCollector(t.Context(), by, NewCollector{Name: "a", Target: "here", NKey: keys[0]}); err != nil {
		t.Fatal(err)
	}
	rotate := func(name events.CollectorName, key string) (Answer, error) {
		return c.RotateKey(t.Context(), by, name, key, "the disk was replaced")
	}
	if answer, err := rotate("a", keys[0]); err != nil || !answer.Existed {
		t.Errorf("the key that it has: %+v %v", answer, err)
	}
	for _, key := range keys[1:] {
		if answer, err := rotate("a", key); err != nil || answer.Existed {
			t.Errorf("a new key: %+v %v", answer, err)
		}
		if answer, err := rotate("a", key); err != nil || !answer.Existed {
			t.Errorf("the same again: %+v %v", answer, err)
		}
	}
	if s := standing(t, c, "a"); s.Registered.NKey != keys[2] || !s.Active || !s.KeySince.After(s.Since.Add(-1)) {
		t.Errorf("%+v", s)
	}
	before := last(t, log)
	for _, key := range keys[:2] {
		_, err := rotate("a", key)
		refused(t, err, Conflict, "collector a, and a key is used once")
	}
	_, err := rotate("nobody", newKey(t))
	refused(t, err, NotFound, "tacho collector list")
	for _, key := range []string{"", "KEY", keys[0][1:], "S" + keys[0][1:]} {
		_, err = rotate("a", key)
		refused(t, err, Invalid, "not the public key")
	}
	_, err = rotate("a.>", newKey(t))
	refused(t, err, Invalid, "lower-case")
	if now := last(t, log); now != before {
		t.Errorf("what was refused is recorded: %d events, then %d", before, now)
	}
}

func TestTheKeyOfAnotherCollectorIsRefused(t *testing.T) {
	c, _ := start(t)
	held := newKey(t)
	c.KeyHolder = func(_ context.Context, key string) (events.CollectorName, error) {
		if key == held {
			return "other", nil
		}
		return "", nil
	}
	_, err := c.AddCollector(t.Context(), by, NewCollector{Name: "a", Target: "here", NKey: held})
	refused(t, err, Conflict, "collector other")
	if _, err := c.AddCollector(t.Context(), by, NewCollector{Name: "a", Target: "here", NKey: newKey(t)}); err != nil {
		t.Fatal(err)
	}
	_, err = c.RotateKey(t.Context(), by, "a", held, "")
	refused(t, err, Conflict, "collector other")
	_, err = c.AddCollector(t.Context(), by, NewCollector{Name: "b", Target: "here", Set: 1, NKey: "KEY"})
	refused(t, err, Invalid, "not the public key")
}

func TestARemovedCollectorsNameIsNeverUsedAgain(t *testing.T) {
	c, log := start(t)
	l := lane(t, c)
	before := last(t, log)
	remove := func(name events.CollectorName) (Answer, error) {
		return c.RemoveCollector(t.Context(), by, name, "sold")
	}
	if answer, err := remove("a"); err != nil || answer.Existed || answer.Seq != before+2 {
		t.Errorf("%+v %v, want the removal and the end of the assignment in one append", answer, err)
	}
	if answer, err := remove("a"); err != nil || !answer.Existed {
		t.Errorf("removed again: %+v %v", answer, err)
	}
	a, err := fold(t.Context(), log, events.AssignmentSubject(l), evolveAssignment)
	if _, assigned := a.state.Collectors["a"]; err != nil || assigned || a.state.Serving == "a" {
		t.Errorf("%+v %v", a.state, err)
	}
	if s := standing(t, c, "a"); !s.Removed || s.Takes() || s.Reason != "sold" {
		t.Errorf("%+v", s)
	}
	for what, do := range map[string]func() (Answer, error){
		"added": func() (Answer, error) {
			return c.AddCollector(t.Context(), by, NewCollector{Name: "a", Target: "here"})
		},
		"activated":  func() (Answer, error) { return c.ActivateCollector(t.Context(), by, "a") },
		"rotated":    func() (Answer, error) { return c.RotateKey(t.Context(), by, "a", newKey(t), "") },
		"drained":    func() (Answer, error) { return c.DrainCollector(t.Context(), by, "a", "") },
		"taken over": func() (Answer, error) { return c.TakeLaneOver(t.Context(), by, "a", "") },
		"taken out":  func() (Answer, error) { return c.DeactivateCollector(t.Context(), by, "a", Deactivation{}) },
	} {
		t.Run(what, func(t *testing.T) {
			_, err := do()
			refused(t, err, Conflict, "names are unique for ever")
		})
	}
	_, err = remove("nobody")
	refused(t, err, NotFound, "tacho collector list")
	_, err = remove("a.>")
	refused(t, err, Invalid, "lower-case")
	// A collector that serves nothing has no assignment to end.
	if _, err := c.DeactivateCollector(t.Context(), by, "s", Deactivation{}); err != nil {
		t.Fatal(err)
	}
	if answer, err := remove("s"); err != nil || answer.Existed {
		t.Errorf("%+v %v", answer, err)
	}
	if _, err := c.AddCollector(t.Context(), by, NewCollector{Name: "b", Target: "here"}); err != nil {
		t.Errorf("the lane is free: %v", err)
	}
}

// A new process ends draining, and its fact is on the collector's own subject.
func TestWhetherACollectorDrainsIsReadFromBothSides(t *testing.T) {
	c, log := start(t)
	lane(t, c)
	drain := func() Answer {
		t.Helper()
		answer, err := c.DrainCollector(t.Context(), by, "a", "new kernel")
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if drain().Existed || !drain().Existed {
		t.Error("it is asked to drain once")
	}
	online := c.events(by, events.CollectorOnline{Name: "a", Instance: "i2"})
	if _, err := log.Append(t.Context(), eventlog.Append{Subject: events.CollectorSubject("a"), Events: online}); err != nil {
		t.Fatal(err)
	}
	if answer, err := c.TakeLaneOver(t.Context(), by, "a", ""); err != nil || !answer.Existed {
		t.Errorf("it takes jobs again: %+v %v", answer, err)
	}
	if drain().Existed {
		t.Error("the new process is not asked to drain")
	}
}
