package sitetest

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// cut is the hash of a commit as lists and pages print it.
func cut(tag events.Tag) string { return string(tag)[:10] }

// What a list or a page prints for a request, a job or an artifact works as its name in every read.
func TestWhatIsPrintedNamesTheThing(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	c := s.now()
	for name, want := range map[string]events.RequestID{
		string(st.child): st.child, string(st.child)[:8]: st.child, string(sha("b")): st.child, cut(sha("b")): st.child,
		"go1.99.0": st.release, "go1.9": st.release, "comment 7": st.try, "key comment 7": st.try,
	} {
		if found, err := c.Request(s.ctx, name); err != nil || found.ID != want {
			t.Errorf("request %q is %s, %v; want %s", name, found.ID, err, want)
		}
		if resp, page := s.get("/requests/" + url.PathEscape(name)); resp.StatusCode != http.StatusOK || !strings.Contains(page, string(want)) {
			t.Errorf("the page of request %q: %s", name, resp.Status)
		}
		jobs, err := c.Jobs(s.ctx, client.JobQuery{Request: events.RequestID(name)})
		if err != nil || want == st.child && (len(jobs) != 2 || jobs[0].RequestID != want) {
			t.Errorf("jobs of request %q: %d, %v", name, len(jobs), err)
		}
		if _, err := c.Outbox(s.ctx, client.CommentQuery{Request: events.RequestID(name)}); err != nil {
			t.Errorf("comments on request %q: %v", name, err)
		}
	}
	for _, name := range []string{string(st.work.ID), string(st.work.ID)[:10]} {
		if found, err := c.Job(s.ctx, events.JobID(name)); err != nil || found.ID != st.work.ID {
			t.Errorf("job %q is %s, %v; want %s", name, found.ID, err, st.work.ID)
		}
		for _, path := range []string{"/jobs/" + name, "/api/v1/jobs/" + name + "/log"} {
			if resp, _ := s.get(path); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
	}
	if list, err := c.Requests(s.ctx, client.RequestQuery{Tag: events.Tag(cut(sha("b")))}); err != nil || len(list) != 1 || list[0].ID != st.child {
		t.Errorf("requests of a cut hash: %+v, %v", list, err)
	}
	if compared, err := c.Compare(s.ctx, client.CompareQuery{A: events.Tag(cut(sha("a"))), B: events.Tag(cut(sha("b")))}); err != nil || compared.A.Tag != sha("a") || compared.B.Tag != sha("b") {
		t.Errorf("compared with cut hashes: %v", err)
	}
	for _, path := range []string{"/compare?b=" + cut(sha("b")), "/api/v1/results?tag=" + cut(sha("b"))} {
		if resp, page := s.get(path); resp.StatusCode != http.StatusOK || !strings.Contains(page, string(sha("b"))) {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	st.master("go1.99.0.1", "go1.9", 0) // nobody asked for its parent, which is an artifact nevertheless
	s.machines()
	for _, name := range []string{"bbbc", "bbb", "r", "nothing", "go1.9"} {
		if resp, _ := s.get("/api/v1/requests/" + name); resp.StatusCode != http.StatusNotFound {
			t.Errorf("request %q: %s", name, resp.Status)
		}
	}
}

// Commands take the same names, even of what was asked for a moment ago. The only suite need not be named.
func TestCommandsTakeWhatIsPrinted(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	asked, err := s.client.CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: sha("d"), Parent: events.Tag(cut(sha("c")))})
	if err != nil || asked.Suite != "go" || asked.ParentTag != sha("c") {
		t.Fatalf("asked with a cut parent and no suite: %+v, %v", asked, err)
	}
	again, err := s.now().CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: events.Tag(cut(sha("b")))})
	if err != nil || !again.Existed || again.RequestID != st.child {
		t.Errorf("asked for a cut hash: %+v, %v; want the request that there is", again, err)
	}
	unknown, err := s.client.CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: "0123456789"})
	if err != nil || unknown.Tag != "0123456789" {
		t.Errorf("asked for what looks cut and is new: %+v, %v", unknown, err)
	}
	for name, want := range map[string]events.RequestID{"go1.99.0": st.release, cut(sha("d")): asked.RequestID, string(unknown.RequestID)[:9]: unknown.RequestID} {
		if answer, err := s.client.CancelRequest(s.ctx, events.RequestID(name), "not needed"); err != nil || answer.RequestID != want || answer.State != events.StateCancelled {
			t.Errorf("cancel %q: %+v, %v; want %s", name, answer, err, want)
		}
	}
	ready, err := s.client.ArtifactsReady(s.ctx, "key comment 7", client.Artifacts{Tag: sha("e"), ParentTag: events.Tag(cut(sha("c")))})
	if err != nil || ready.RequestID != st.try || ready.Tag != sha("e") || ready.ParentTag != sha("c") {
		t.Errorf("artifacts ready: %+v, %v", ready, err)
	}
}

// A name of several things is refused with a list of them.
func TestAnAmbiguousNameIsAnsweredWithTheCandidates(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	one := st.request(control.NewRequest{Suite: "go", Kind: events.Release, Tag: "go1.99.1", ReleasedOn: "2026-11-21"})
	twice := []events.RequestID{st.master("v9", "", 0), st.request(control.NewRequest{Suite: "go", Kind: events.Try, Key: "again", Tag: "v9"})}
	near := []events.Tag{"abcdef0" + sha("1")[7:], "abcdef0" + sha("2")[7:]}
	for _, tag := range near {
		st.master(tag, "", 0)
	}
	s.machines()
	for what, try := range map[string]struct {
		call       func() error
		candidates []string
	}{
		"show":           {func() error { _, err := s.now().Request(s.ctx, "go1.99"); return err }, []string{string(st.release), string(one), "go1.99.0", "go1.99.1"}},
		"cancel":         {func() error { _, err := s.client.CancelRequest(s.ctx, "go1.99", ""); return err }, []string{string(st.release), string(one)}},
		"cancel one tag": {func() error { _, err := s.client.CancelRequest(s.ctx, "v9", ""); return err }, []string{string(twice[0]), string(twice[1])}},
		"compare": {func() error {
			_, err := s.now().Compare(s.ctx, client.CompareQuery{A: sha("a"), B: "abcdef0"})
			return err
		}, []string{string(near[0]), string(near[1])}},
		"list": {func() error { _, err := s.now().Requests(s.ctx, client.RequestQuery{Tag: "abcdef0"}); return err }, []string{string(near[0]), string(near[1])}},
		"ask for one": {func() error {
			_, err := s.client.CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: "abcdef0"})
			return err
		}, []string{string(near[0])}},
		"ask for a parent": {func() error {
			_, err := s.client.CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: "v10", Parent: "abcdef0"})
			return err
		}, []string{string(near[1])}},
	} {
		var refused *client.Error
		if err := try.call(); !errors.As(err, &refused) || refused.Status != http.StatusConflict {
			t.Errorf("%s: %v, want a conflict", what, err)
			continue
		}
		for _, candidate := range try.candidates {
			if !strings.Contains(refused.Next, candidate) {
				t.Errorf("%s: %q does not name %s", what, refused, candidate)
			}
		}
	}
	// Once the older one has ended, the tag means only the newer one.
	if _, err := s.client.CancelRequest(s.ctx, twice[0], ""); err != nil {
		t.Fatal(err)
	}
	if answer, err := s.client.CancelRequest(s.ctx, "v9", ""); err != nil || answer.RequestID != twice[1] {
		t.Errorf("%+v, %v", answer, err)
	}
}

// If there are several suites, a call that names none is told their names.
func TestSeveralSuitesAreNamed(t *testing.T) {
	s := open(t, nil)
	s.story()
	other := s.suite
	other.Name = "other"
	if _, err := s.client.Publish(s.ctx, other.Canonical(), client.Publication{}); err != nil {
		t.Fatal(err)
	}
	s.machines()
	var refused *client.Error
	if _, err := s.client.CreateRequest(s.ctx, control.NewRequest{Kind: events.Master, Tag: "v1"}); !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || !strings.Contains(refused.Next, "go, other") {
		t.Errorf("%v", err)
	}
}
