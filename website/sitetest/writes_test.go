package sitetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

func TestEveryWriteOfTheClient(t *testing.T) {
	s := open(t, nil)
	c := s.client
	published, err := c.Publish(s.ctx, s.suite.Canonical(), client.Publication{})
	if err != nil || published.Digest != s.suite.Digest() || published.Existed {
		t.Fatalf("publish: %+v, %v", published, err)
	}
	if again, err := c.Publish(s.ctx, s.suite.Canonical(), client.Publication{}); err != nil || !again.Existed {
		t.Errorf("publish again: %+v, %v", again, err)
	}
	released, err := c.Publish(s.ctx, s.suite.Canonical(), client.Publication{Branch: "release/1.2"})
	if err != nil || released.Existed {
		t.Errorf("publish for a branch: %+v, %v", released, err)
	}
	moved, err := c.Promote(s.ctx, s.suite.Name, client.Promotion{Branch: "next", Digest: s.suite.Digest(), Reason: "a test"})
	if err != nil || moved.Existed {
		t.Errorf("promote: %+v, %v", moved, err)
	}
	if lines, err := c.After(moved.Seq).Branches(s.ctx, s.suite.Name); err != nil || len(lines) != 3 || lines[1].Branch != "next" || lines[2].Digest != s.suite.Digest() {
		t.Errorf("branches: %+v, %v", lines, err)
	}
	if _, err := c.AddCollector(s.ctx, control.NewCollector{Name: "amd-0", Target: machine}); err != nil {
		t.Fatal(err)
	}
	wish := control.NewRequest{Suite: "go", Kind: events.Try, Key: "comment 1", PR: 3, Parent: sha("a")}
	asked, err := c.CreateRequest(s.ctx, wish)
	if err != nil || asked.State != events.StateWaitingForArtifacts || asked.Existed {
		t.Fatalf("create: %+v, %v", asked, err)
	}
	if again, err := c.CreateRequest(s.ctx, wish); err != nil || !again.Existed || again.RequestID != asked.RequestID {
		t.Errorf("create again: %+v, %v", again, err)
	}
	other := wish
	other.PR = 4
	var differs *client.Error
	if _, err := c.CreateRequest(s.ctx, other); !errors.As(err, &differs) || differs.Status != http.StatusConflict || !strings.Contains(differs.Error(), "pull request 4 instead of 3") {
		t.Errorf("create for another pull request: %v", err)
	}
	ready, err := c.ArtifactsReady(s.ctx, asked.RequestID, client.Artifacts{Tag: sha("d"), ParentTag: sha("a")})
	if err != nil || ready.State != events.StateArtifactsReady || ready.Tag != sha("d") {
		t.Errorf("ready: %+v, %v", ready, err)
	}
	seen, err := c.After(ready.Seq).Request(s.ctx, string(asked.RequestID))
	if err != nil || seen.State != events.StateArtifactsReady || seen.CreatedBy != "cli:tester" {
		t.Errorf("seen: %+v, %v", seen.Request, err)
	}
	cancelled, err := c.CancelRequest(s.ctx, asked.RequestID, "no longer wanted")
	if err != nil || cancelled.State != events.StateCancelled {
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

// A caller that sends the body of a command too slowly is told so, and holds nothing for ever, with or without a token.
func TestABodyHasToArriveInTime(t *testing.T) {
	s := open(t, func(c *website.Config) { c.BodyWithin = 100 * time.Millisecond })
	for given, want := range map[string]string{token: "HTTP/1.1 408", "wrong": "HTTP/1.1 401"} {
		var dialer net.Dialer
		conn, err := dialer.DialContext(s.ctx, "tcp", s.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /api/v1/requests HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{", given)
		answer, err := io.ReadAll(conn) // until the server closes the connection
		if err != nil || !strings.HasPrefix(string(answer), want) {
			t.Errorf("%s: %v: %.200s", want, err, answer)
		}
	}
}
