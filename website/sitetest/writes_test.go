package sitetest

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/client"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

func TestEveryWriteOfTheClient(t *testing.T) {
	s := open(t, nil)
	c := s.client
	published, err := c.Publish(s.ctx, s.suite.Canonical())
	if err != nil || published.Digest != s.suite.Digest() || published.Existed {
		t.Fatalf("publish: %+v, %v", published, err)
	}
	if again, err := c.Publish(s.ctx, s.suite.Canonical()); err != nil || !again.Existed {
		t.Errorf("publish again: %+v, %v", again, err)
	}
	if _, err := c.AddCollector(s.ctx, control.NewCollector{Name: "amd-0", Target: machine}); err != nil {
		t.Fatal(err)
	}
	wish := control.NewRequest{Suite: "go", Kind: events.Try, Key: "comment 1", PR: 3, Parent: sha("a")}
	asked, err := c.CreateRequest(s.ctx, wish)
	if err != nil || asked.State != events.WaitingForArtifacts || asked.Existed {
		t.Fatalf("create: %+v, %v", asked, err)
	}
	if again, err := c.CreateRequest(s.ctx, wish); err != nil || !again.Existed || again.RequestID != asked.RequestID {
		t.Errorf("create again: %+v, %v", again, err)
	}
	ready, err := c.ArtifactsReady(s.ctx, asked.RequestID, client.Artifacts{Tag: sha("d"), ParentTag: sha("a")})
	if err != nil || ready.State != events.ArtifactsReady || ready.Tag != sha("d") {
		t.Errorf("ready: %+v, %v", ready, err)
	}
	seen, err := c.After(ready.Seq).Request(s.ctx, string(asked.RequestID))
	if err != nil || seen.State != events.ArtifactsReady || seen.CreatedBy != "cli:tester" {
		t.Errorf("seen: %+v, %v", seen.Request, err)
	}
	cancelled, err := c.CancelRequest(s.ctx, asked.RequestID, "no longer wanted")
	if err != nil || cancelled.State != events.RequestStopped {
		t.Errorf("cancel: %+v, %v", cancelled, err)
	}
	for name, f := range map[string]func() (control.Answer, error){
		"drain": func() (control.Answer, error) { return c.DrainCollector(s.ctx, "amd-0", "disk") },
		"deactivate": func() (control.Answer, error) {
			return c.DeactivateCollector(s.ctx, "amd-0", control.Deactivation{Reason: "disk", Now: true})
		},
		"activate": func() (control.Answer, error) { return c.ActivateCollector(s.ctx, "amd-0") },
	} {
		if a, err := f(); err != nil || a.Seq == 0 {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	if _, err := c.ActivateCollector(s.ctx, "amd-0"); err != nil {
		t.Fatal(err)
	}
	if a, err := c.TakeLaneOver(s.ctx, "amd-0", "it is back"); err != nil || !a.Existed {
		t.Errorf("take over a lane that it serves: %+v, %v", a, err)
	}
	e, err := s.now().Event(s.ctx, cancelled.Seq)
	if err != nil || e.Actor != "cli:tester" || e.Source != "website" || !strings.HasPrefix(e.Root, "command ") {
		t.Errorf("event: %+v, %v", e, err)
	}
}
