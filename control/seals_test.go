package control

import (
	"errors"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/seal"
)

func sealing(t *testing.T, name string) *events.Seal {
	t.Helper()
	var seed [32]byte
	copy(seed[:], name)
	k, err := seal.New(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return k.Definitions("small", definitions().Digest())
}

// Definitions are sealed anew by each key once, and nothing but the seals changes.
func TestDefinitionsAreSealedByEachKeyOnce(t *testing.T) {
	c, log := start(t)
	ctx := t.Context()
	file := Origin{Revision: "c1", File: "f1"}
	for _, step := range []struct {
		from    Origin
		existed bool
	}{
		{Origin{}, true},
		{Origin{Seal: sealing(t, "alice")}, false},
		{Origin{Seal: sealing(t, "alice")}, true},
		{Origin{Standing: true, Seal: sealing(t, "bob")}, false},
		{Origin{Standing: true, Seal: sealing(t, "bob")}, true},
		{Origin{Seal: sealing(t, "alice")}, true},
		{Origin{}, true},
		{file, false}, // the file is read for the first time
		{file, true},
		{Origin{Revision: "c2", File: "f1", Seal: sealing(t, "carol")}, false},
		{Origin{Revision: "c3", File: "f1", Seal: sealing(t, "carol")}, true},
	} {
		answer, err := c.PublishFrom(ctx, by, definitions(), step.from)
		if err != nil || answer.Existed != step.existed {
			t.Fatalf("%+v: %+v %v", step.from, answer, err)
		}
	}
	published, err := c.Published(ctx, "small")
	if err != nil || published.Lines()[""].File != "f1" || published.Lines()[""].Digest != definitions().Digest() {
		t.Fatal(published, err)
	}
	own := definitions().Digest()
	if !published.Sealed("", own, sealing(t, "bob")) || published.Sealed("", own, sealing(t, "dora")) || !published.Sealed("", own, nil) {
		t.Error("the seals are not those that were recorded")
	}
	history, err := log.Read(ctx, events.SuiteSubject("small"))
	if err != nil || len(history) != 5 {
		t.Fatal(len(history), err)
	}
}

// A roll-back holds although the file is sealed anew.
func TestASealDoesNotUndoAPromotion(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	file := Origin{Revision: "c1", File: "f1"}
	_, err := c.PublishFrom(ctx, by, released(), file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Promote(ctx, by, "small", "", definitions().Digest(), "a test")
	if err != nil {
		t.Fatal(err)
	}
	file.Seal = sealing(t, "alice")
	answer, err := c.PublishFrom(ctx, by, released(), file)
	if err != nil || !answer.Existed {
		t.Error(answer, err)
	}
	published, err := c.Published(ctx, "small")
	if err != nil || !published.Sealed("", released().Digest(), file.Seal) {
		t.Error("the poller would try it at each poll", err)
	}
}

func TestASealMustHaveTheFormOfOne(t *testing.T) {
	c, _ := start(t)
	for _, wrong := range []events.Seal{{}, {Key: "alice", Signature: "AAAA"}, {Key: sealing(t, "alice").Key, Signature: "AAAA"}} {
		_, err := c.PublishFrom(t.Context(), by, definitions(), Origin{Seal: &wrong})
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Kind != Invalid {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
