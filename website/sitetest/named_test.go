package sitetest

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

// A request names what was published aside; pages, lists and answers show that, and nothing of it for other requests.
func TestARequestShowsWhatItNames(t *testing.T) {
	s := open(t, nil)
	s.published()
	other := s.suite
	other.Description = "aside"
	published, err := s.client.Publish(s.ctx, other.Canonical(), client.Publication{Aside: true})
	if err != nil || published.Existed || published.Digest != other.Digest() {
		t.Fatal(published, err)
	}
	if again, err := s.client.Publish(s.ctx, other.Canonical(), client.Publication{Aside: true}); err != nil || !again.Existed {
		t.Error(again, err)
	}
	plain, err := s.client.CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []events.RequestID
	for _, tag := range []events.Tag{"v2", "v3"} {
		made, err := s.client.CreateRequest(s.ctx, control.NewRequest{Kind: events.Try, Tag: tag, Named: published.Digest[:8], Set: "bisect-7"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.RequestID)
	}
	s.tell(events.RequestCreated{
		RequestID: "rbad", Kind: events.Master, Suite: s.suite.Name, Tag: "v4", Key: "v4", State: events.StateArtifactsReady, DefinitionsProblem: "go.toml:3:1: <unknown>",
	})
	c := s.now()
	shown, err := c.Request(s.ctx, string(ids[0]))
	if err != nil || shown.Named != published.Digest || !shown.Customised || shown.Together != "bisect-7" {
		t.Errorf("%+v %v", shown.Request, err)
	}
	list, err := c.Requests(s.ctx, client.RequestQuery{Set: "bisect-7"})
	if err != nil || len(list) != 2 || list[0].ID != ids[1] {
		t.Errorf("%+v %v", list, err)
	}
	_, page := s.get("/requests/" + string(ids[0]))
	for _, want := range []string{`id="named"`, string(published.Digest), "its branch had never used them", `href="/requests?set=bisect-7"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the request lacks %s", want)
		}
	}
	if _, page := s.get("/requests/" + string(plain.RequestID)); strings.Contains(page, `id="named"`) || strings.Contains(page, `id="set"`) || strings.Contains(page, "definitions-problem") {
		t.Error("the page of another request speaks of definitions")
	}
	if _, page := s.get("/requests/rbad"); !strings.Contains(page, "go.toml:3:1: &lt;unknown&gt;") {
		t.Error("the page does not say why the commit's definitions cannot be used")
	}
	if _, page := s.get("/requests?set=bisect-7"); !strings.Contains(page, string(ids[1])) || strings.Contains(page, string(plain.RequestID)) {
		t.Error("the page of the set has other requests")
	}
	var refused *client.Error
	for text, n := range map[string]control.NewRequest{
		"`tacho suite promote go` lists": {Kind: events.Try, Tag: "v9", Named: "0123456789"},
		"set \"a b\"":                    {Kind: events.Try, Tag: "v9", Set: "a b"},
	} {
		if _, err := s.client.CreateRequest(s.ctx, n); !errors.As(err, &refused) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
	resp, body := s.do(http.MethodPost, "/api/v1/definitions?"+url.Values{"aside": {"1"}, "branch": {"main"}}.Encode(), string(other.Canonical()), map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"})
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "leave the branch out") {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// Publishing and promoting name the collectors that must be updated first, and happen all the same.
func TestPublishingWarnsOfOldCollectors(t *testing.T) {
	s := open(t, func(c *website.Config) {
		c.CannotRead = func(d suite.Definitions) []events.CollectorName {
			if d.Version < 2 {
				return nil
			}
			return []events.CollectorName{"old-1", "old-2"}
		}
	})
	s.published()
	if answer, err := s.client.Publish(s.ctx, s.suite.Canonical(), client.Publication{}); err != nil || len(answer.Warnings) > 0 {
		t.Error(answer, err)
	}
	next := s.suite
	next.Version = 2
	answer, err := s.client.Publish(s.ctx, next.Canonical(), client.Publication{Branch: "release/1"})
	if err != nil || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "collectors old-1, old-2 have not said") || !strings.Contains(answer.Warnings[0], "tacho collector want") {
		t.Error(answer, err)
	}
	moved, err := s.client.Promote(s.ctx, s.suite.Name, client.Promotion{Branch: "main", Digest: next.Digest()})
	if err != nil || len(moved.Warnings) != 1 {
		t.Error(moved, err)
	}
	moved, err = s.client.Promote(s.ctx, s.suite.Name, client.Promotion{Branch: "main", Digest: s.suite.Digest()})
	if err != nil || len(moved.Warnings) > 0 {
		t.Error(moved, err)
	}
}
