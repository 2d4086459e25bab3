package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// released are definitions with one profile more, and rules for branches.
func released() suite.Definitions {
	d := definitions()
	d.Version = 2
	d.Profiles = append(d.Profiles, suite.Profile{Name: "released"})
	d.Options = []suite.Option{{Name: "pgo", Values: []string{"off", "on"}}}
	d.Branches = []suite.Branch{{Match: "release/*", Options: map[string]string{"pgo": "on"}, Priority: events.PriorityHigh, MaxPriority: events.PriorityHigh}}
	return d
}

// A branch uses its own definitions, the others those of all; promotion moves it forwards and back.
func TestBranchesUseTheirOwnDefinitions(t *testing.T) {
	c, log := start(t)
	ctx := t.Context()
	release, main := Origin{Branch: "release/1.2"}, definitions().Digest()
	uses := func(branch string, want events.Digest) {
		t.Helper()
		if d, err := c.Definitions(ctx, "small", branch); err != nil || d.Digest() != want {
			t.Fatalf("branch %s uses %.12s, want %.12s: %v", branch, d.Digest(), want, err)
		}
	}
	own := released().Digest()
	if answer, err := c.PublishFrom(ctx, by, released(), release); err != nil || answer.Existed {
		t.Fatal(answer, err)
	}
	uses("release/1.2", own)
	uses("main", main)
	uses("", main)
	if answer, err := c.PublishFrom(ctx, by, released(), release); err != nil || !answer.Existed {
		t.Error("published twice", answer, err)
	}
	for _, step := range []struct {
		branch string
		to     events.Digest
		uses   map[string]events.Digest
	}{
		{"release/1.2", main, map[string]events.Digest{"release/1.2": main, "main": main}},
		{"", own, map[string]events.Digest{"release/1.2": main, "main": own}},
		{"", main, map[string]events.Digest{"release/1.2": main, "main": main}},
		{"release/1.2", own, map[string]events.Digest{"release/1.2": own, "main": main}},
		{"release/1.2", "", map[string]events.Digest{"release/1.2": main, "main": main}},
	} {
		if answer, err := c.Promote(ctx, by, "small", step.branch, step.to, "a test"); err != nil || answer.Existed {
			t.Fatal(answer, err)
		}
		if answer, err := c.Promote(ctx, by, "small", step.branch, step.to, "again"); err != nil || !answer.Existed {
			t.Error("promoted twice", answer, err)
		}
		for branch, want := range step.uses {
			uses(branch, want)
		}
	}
	before, _ := log.Head(ctx)
	for what, refusal := range map[string]struct {
		do   func() error
		kind RefusalKind
		says string
	}{
		"unknown digest":    {func() error { _, err := c.Promote(ctx, by, "small", "", "d0", ""); return err }, NotFound, "tacho suite promote small"},
		"nothing to move":   {func() error { _, err := c.Promote(ctx, by, "small", "", "", ""); return err }, Invalid, "digest"},
		"a branch like ..":  {func() error { _, err := c.PublishFrom(ctx, by, released(), Origin{Branch: "../x"}); return err }, Invalid, "branch"},
		"a branch too long": {func() error { _, err := c.Promote(ctx, by, "small", strings.Repeat("b", 201), main, ""); return err }, Invalid, "200"},
		"a long reason":     {func() error { _, err := c.Promote(ctx, by, "small", "b", main, strings.Repeat("b", 501)); return err }, Invalid, "500"},
	} {
		t.Run(what, func(t *testing.T) { refused(t, refusal.do(), refusal.kind, refusal.says) })
	}
	if after, _ := log.Head(ctx); after != before {
		t.Error("a refusal was recorded")
	}
}

// The file of a repository is published or rejected once, at whatever revisions it is found. A roll-back holds until the
// file changes.
func TestAFileIsReadOnce(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	at := func(revision, file string) Origin { return Origin{Branch: "next", Revision: revision, File: file} }
	existed := func(want bool) func(Answer, error) {
		return func(a Answer, err error) {
			t.Helper()
			if err != nil || a.Existed != want {
				t.Errorf("%+v %v, want existed %v", a, err, want)
			}
		}
	}
	existed(false)(c.PublishFrom(ctx, by, released(), at("c1", "f1")))
	existed(true)(c.PublishFrom(ctx, by, released(), at("c2", "f1")))
	existed(false)(c.Promote(ctx, by, "small", "next", definitions().Digest(), "too slow"))
	existed(true)(c.PublishFrom(ctx, by, released(), at("c3", "f1")))
	existed(false)(c.Reject(ctx, by, "small", at("c4", "f2"), []string{"suite.toml:1:1: what?"}))
	existed(true)(c.Reject(ctx, by, "small", at("c5", "f2"), []string{"suite.toml:1:1: what?"}))
	if d, err := c.Definitions(ctx, "small", "next"); err != nil || d.Digest() != definitions().Digest() {
		t.Error("a rejected file moved the branch", err)
	}
	existed(false)(c.PublishFrom(ctx, by, released(), at("c6", "f3")))
	standing := Origin{Branch: "next", Standing: true}
	existed(true)(c.PublishFrom(ctx, by, released(), standing))
	existed(false)(c.Promote(ctx, by, "small", "next", definitions().Digest(), "too slow"))
	existed(true)(c.PublishFrom(ctx, by, released(), standing))
	existed(false)(c.PublishFrom(ctx, by, definitions(), Origin{Branch: "next", Revision: "c6", File: "f9"}))
	existed(true)(c.PublishFrom(ctx, by, released(), standing))
	plain := Origin{Branch: "plain", Standing: true}
	existed(false)(c.PublishFrom(ctx, by, definitions(), plain))
	existed(false)(c.PublishFrom(ctx, by, released(), plain)) // the configuration has changed
	existed(true)(c.PublishFrom(ctx, by, released(), plain))
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint(i, strings.Repeat("ä", 400)))
	}
	existed(false)(c.Reject(ctx, by, "small", at("c7", "f4"), many))
	history, err := c.Log.Read(ctx, events.SuiteSubject("small"))
	if err != nil {
		t.Fatal(err)
	}
	last := history[len(history)-1].Fact.(events.DefinitionsRejected)
	if n := len(last.Problems); n != maxProblems || last.Problems[n-1] != "and 11 more" || len(last.Problems[0]) > maxProblem+3 {
		t.Errorf("%d problems: %v", n, last.Problems[n-1])
	}
}

// What a request chooses is checked when it is made, and recorded only if the suite has something of its own for branches.
func TestRequestsChoose(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	ask := func(tag string, change func(*NewRequest)) (*NewRequest, error) {
		n := NewRequest{Suite: "small", Kind: events.Try, Tag: events.Tag(tag)}
		change(&n)
		_, _, err := c.CreateRequest(ctx, by, n)
		return &n, err
	}
	_, err := ask("t1", func(n *NewRequest) { n.Branch = "main" })
	refused(t, err, Invalid, "leave the branch out")
	_, err = ask("t1", func(n *NewRequest) { n.Branch, n.AsItIs = "main", true })
	if err != nil {
		t.Fatal(err)
	}
	long := func(n *NewRequest) { n.Branch, n.AsItIs = strings.Repeat("b", 201), true }
	if _, err := ask("t0", long); err != nil {
		t.Fatal("a branch that means nothing keeps a program from asking:", err)
	}
	if _, err := c.PublishFrom(ctx, by, released(), Origin{Branch: "release/1.2"}); err != nil {
		t.Fatal(err)
	}
	for what, wrong := range map[string]struct {
		change func(*NewRequest)
		kind   RefusalKind
		says   string
	}{
		"unknown option":      {func(n *NewRequest) { n.Options = map[string]string{"pgo": "on"} }, Invalid, "no options"},
		"unknown value":       {func(n *NewRequest) { n.Branch, n.Options = "release/1.2", map[string]string{"pgo": "1"} }, Invalid, "off or on"},
		"unknown graph":       {func(n *NewRequest) { n.Branch, n.Graph = "release/1.2", "full" }, Invalid, "no graphs"},
		"above the cap":       {func(n *NewRequest) { n.Branch, n.Priority = "release/1.2", events.PriorityVIP }, Forbidden, "max_priority"},
		"no name of a branch": {func(n *NewRequest) { n.Branch = "a b" }, Invalid, "branch"},
		"too long a name":     {long, Invalid, "200 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := ask("t2", wrong.change)
			refused(t, err, wrong.kind, wrong.says)
		})
	}
	for tag, change := range map[string]func(*NewRequest){
		"t3": func(n *NewRequest) { n.Branch, n.Options = "release/1.2", map[string]string{"pgo": "off"} },
		"t4": func(n *NewRequest) { n.Branch = "main" },
		"t6": func(n *NewRequest) { n.Branch = "teams/a@b" },
		"t7": func(n *NewRequest) { n.Branch, n.Priority, n.AsItIs = "release/1.2", events.PriorityVIP, true },
		"t5": func(n *NewRequest) { n.Branch, n.Priority = "release/1.2", events.PriorityLow },
	} {
		n, err := ask(tag, change)
		if err != nil {
			t.Fatal(tag, err)
		}
		known, err := requestIn(ctx, c.Log, events.NewRequestID("small", events.Try, tag))
		if err != nil {
			t.Fatal(err)
		}
		is := known.Choice()
		if diff := cmp.Diff(n.Options, is.Options); diff != "" || is.Branch != n.Branch {
			t.Errorf("%s: %+v", tag, is)
		}
		if want := map[string]events.Priority{"t3": events.PriorityHigh, "t4": "", "t5": events.PriorityLow, "t7": events.PriorityHigh}[tag]; known.Priority != want {
			t.Errorf("%s has priority %q, want %q", tag, known.Priority, want)
		}
	}
	id := events.NewRequestID("small", events.Try, "t3")
	_, _, err = c.PrioritiseRequest(ctx, by, id, events.PriorityVIP, "")
	refused(t, err, Forbidden, "branch release/1.2")
	_, err = ask("t3", func(n *NewRequest) { n.Branch, n.Options = "release/1.2", map[string]string{"pgo": "on"} })
	refused(t, err, Conflict, "options pgo=on instead of pgo=off")
}

// An older program could not read a file and refused it. This one can.
func TestWhatWasRejectedCanBePublished(t *testing.T) {
	c, _ := start(t)
	d := definitions()
	d.Name = "mine"
	from := Origin{Branch: "main", Revision: "r1", File: "f1"}
	for i, existed := range []bool{false, true} {
		answer, err := c.Reject(t.Context(), by, d.Name, from, []string{"f.toml:1:1: version is 9"})
		if err != nil || answer.Existed != existed {
			t.Fatalf("rejection %d: %+v %v", i, answer, err)
		}
	}
	_, err := c.Definitions(t.Context(), d.Name, "")
	refused(t, err, NotFound, "those in its repository were refused")
	for i, existed := range []bool{false, true} {
		answer, err := c.PublishFrom(t.Context(), by, d, from)
		if err != nil || answer.Existed != existed {
			t.Fatalf("publication %d: %+v %v", i, answer, err)
		}
	}
	// The older one, which is still running, changes nothing.
	if answer, err := c.Reject(t.Context(), by, d.Name, from, []string{"f.toml:1:1: version is 9"}); err != nil || !answer.Existed {
		t.Errorf("%+v %v", answer, err)
	}
	published, err := c.Published(t.Context(), d.Name)
	if line := published.lines["main"]; err != nil || line.Problems != nil || line.Digest != d.Digest() || line.File != "f1" {
		t.Errorf("%+v %v", line, err)
	}
	_, err = c.Definitions(t.Context(), d.Name, "")
	refused(t, err, NotFound, "for main alone")
}
