package control

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// recorded returns the event that created a request.
func recorded(t testing.TB, log *memory.Log, kind events.RequestKind, key string) events.RequestCreated {
	t.Helper()
	history, err := log.Read(t.Context(), events.RequestSubject(events.NewRequestID("small", kind, key)))
	if err != nil || len(history) == 0 {
		t.Fatal(history, err)
	}
	return history[0].Fact.(events.RequestCreated)
}

// titled returns definitions that differ from others by their description alone.
func titled(d suite.Definitions, title string) suite.Definitions {
	d.Description = title
	return d
}

// aside publishes definitions that no branch uses.
func aside(t testing.TB, c *Control, d suite.Definitions) events.Digest {
	t.Helper()
	if _, err := c.PublishFrom(t.Context(), by, d, Origin{Aside: true}); err != nil {
		t.Fatal(err)
	}
	return d.Digest()
}

func TestARequestNamesItsDefinitions(t *testing.T) {
	c, log := start(t)
	ctx := t.Context()
	own := aside(t, c, titled(released(), "aside"))
	if answer, err := c.PublishFrom(ctx, by, titled(released(), "aside"), Origin{Aside: true}); err != nil || !answer.Existed {
		t.Error("published aside twice", answer, err)
	}
	if answer, err := c.PublishFrom(ctx, by, definitions(), Origin{Aside: true}); err != nil || !answer.Existed {
		t.Error("what a branch uses is published aside", answer, err)
	}
	if d, err := c.Definitions(ctx, "small", ""); err != nil || d.Digest() != definitions().Digest() {
		t.Error("a branch uses what was published aside", err)
	}
	// The profile and the option exist in these alone.
	n := NewRequest{Suite: "small", Kind: events.Try, Tag: "t1", Named: own[:8], Options: map[string]string{"pgo": "on"}, Parameters: events.Parameters{Profiles: []events.Profile{"released"}}}
	made, _, err := c.CreateRequest(ctx, by, n)
	if err != nil {
		t.Fatal(err)
	}
	if p := made.Pins(); p.Definitions != own || !p.Customised {
		t.Errorf("%+v", p)
	}
	if f := recorded(t, log, events.Try, "t1"); f.Definitions != own || !f.Customised {
		t.Errorf("%+v", f)
	}
	if _, answer, err := c.CreateRequest(ctx, by, n); err != nil || !answer.Existed {
		t.Error("asked twice:", answer, err)
	}
	n.Named = definitions().Digest()
	n.Options, n.Parameters = nil, events.Parameters{}
	_, _, err = c.CreateRequest(ctx, by, n)
	refused(t, err, Conflict, "definitions "+string(definitions().Digest())+" instead of "+string(own))
	for tag, tc := range map[string]struct {
		named events.Digest
		kind  RefusalKind
		want  string
	}{
		"t2": {"0123456789ab", NotFound, "`tacho suite promote small` lists"},
		"t3": {own[:3], Invalid, "at least 4 characters"},
	} {
		_, _, err := c.CreateRequest(ctx, by, NewRequest{Suite: "small", Kind: events.Try, Tag: events.Tag(tag), Named: tc.named})
		refused(t, err, tc.kind, tc.want)
	}
	_, _, err = c.CreateRequest(ctx, by, NewRequest{
		Suite: "small", Kind: events.Try, Tag: "t4", Named: definitions().Digest(), Parameters: events.Parameters{Profiles: []events.Profile{"released"}},
	})
	refused(t, err, Invalid, "released")
	// What its branch uses is named without any effect on what it may.
	if _, _, err := c.CreateRequest(ctx, By{Actor: "cli:alice", Source: "cli", Root: "test", Account: "alice"}, NewRequest{Suite: "small", Kind: events.Master, Tag: "m1", Named: definitions().Digest()}); err != nil {
		t.Error(err)
	}
	if f := recorded(t, log, events.Master, "m1"); f.Customised || f.Definitions != definitions().Digest() {
		t.Errorf("%+v", f)
	}
}

// A file that no branch has used lifts no limit: what a request may do is what the branch says that it uses.
func TestNamedDefinitionsLiftNoLimit(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	inForce := released()
	inForce.Branches = []suite.Branch{
		{Match: "main", MaxPriority: events.PriorityLow, Customise: suite.CustomiseNone}, {Match: "try", Customise: suite.CustomiseAny}, {Match: "*"},
	}
	if _, err := c.Publish(ctx, by, inForce); err != nil {
		t.Fatal(err)
	}
	lax := titled(released(), "lax")
	lax.Branches = []suite.Branch{{Match: "*", MaxPriority: events.PriorityVIP, Customise: suite.CustomiseAny}}
	named := aside(t, c, lax)
	alice := By{Actor: "cli:alice", Source: "cli", Root: "test", Account: "alice"}
	for tag, tc := range map[string]struct {
		by   By
		n    NewRequest
		kind RefusalKind
		want string
	}{
		"a": {by, NewRequest{Branch: "main", Priority: events.PriorityNormal}, Forbidden, "max_priority"},
		"b": {by, NewRequest{Branch: "main", Options: map[string]string{"pgo": "on"}}, Invalid, "set no options"},
		"c": {alice, NewRequest{Branch: "main"}, Forbidden, "branch main has never used them"},
		"d": {alice, NewRequest{}, Forbidden, "the suite has never used them"},
		"e": {alice, NewRequest{Branch: "other"}, Forbidden, `customise = "any"`},
	} {
		tc.n.Suite, tc.n.Kind, tc.n.Tag, tc.n.Named = "small", events.Try, events.Tag(tag), named
		_, _, err := c.CreateRequest(ctx, tc.by, tc.n)
		refused(t, err, tc.kind, tc.want)
		_, err = c.CreateRequests(ctx, tc.by, Batch{Requests: []NewRequest{tc.n}})
		refused(t, err, tc.kind, tc.want)
	}
	_, _, err := c.CreateRequest(ctx, alice, NewRequest{Suite: "small", Kind: events.Try, Tag: "f", Branch: "try", Named: named})
	refused(t, err, Forbidden, "lacks the right customise")
	rights := []events.Right{events.RightRequest, events.RightCustomise}
	if _, err := c.ConfigureAccount(ctx, by, "alice", AccountChange{May: &rights}); err != nil {
		t.Fatal(err)
	}
	for tag, n := range map[string]NewRequest{
		"f": {Branch: "try"}, "g": {Branch: "try", Options: map[string]string{"pgo": "on"}}, "h": {Branch: "other", Named: inForce.Digest(), Options: map[string]string{"pgo": "on"}},
	} {
		n.Suite, n.Kind, n.Tag = "small", events.Try, events.Tag(tag)
		if n.Named == "" {
			n.Named = named
		}
		if _, _, err := c.CreateRequest(ctx, alice, n); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
	}
}

// What a branch has ever used is its own, also after it was moved on. What is promoted later changes nothing of before.
func TestWhatABranchHasUsedIsItsOwn(t *testing.T) {
	c, log := start(t)
	ctx := t.Context()
	first, second := definitions().Digest(), titled(released(), "second")
	ask := func(branch string, tag events.Tag, d events.Digest) bool {
		t.Helper()
		if _, _, err := c.CreateRequest(ctx, by, NewRequest{Suite: "small", Kind: events.Try, Tag: tag, Branch: branch, Named: d}); err != nil {
			t.Fatal(err)
		}
		return recorded(t, log, events.Try, string(tag)).Customised
	}
	named := aside(t, c, second)
	if !ask("main", "a", named) {
		t.Error("definitions that no branch used are its own")
	}
	if _, err := c.Promote(ctx, by, "small", "release/1", named, ""); err != nil {
		t.Fatal(err)
	}
	if !ask("main", "b", named) || ask("release/1", "c", named) || ask("release/1", "d", first) {
		t.Error("a branch has used what another one uses, or has not used its own")
	}
	if _, err := c.Promote(ctx, by, "small", "release/1", first, "back"); err != nil {
		t.Fatal(err)
	}
	if ask("release/1", "e", named) || !recorded(t, log, events.Try, "a").Customised {
		t.Error("history has changed")
	}
}

// Used agrees with the lines after each event, whatever moves whichever branch.
func TestUsedIsWhatWasEverInForce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		branches, digests := []string{"", "a", "b"}, []events.Digest{"1", "2", "3"}
		p := &Published{digests: map[events.Digest]bool{}}
		ever := map[move]bool{}
		for range rapid.IntRange(0, 12).Draw(rt, "events") {
			branch, digest := rapid.SampledFrom(branches).Draw(rt, "branch"), rapid.SampledFrom(digests).Draw(rt, "digest")
			var f events.Fact = events.DefinitionsPublished{Branch: branch, Digest: digest}
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				f = events.DefinitionsPromoted{Branch: branch, Digest: digest}
			case 1:
				f = events.DefinitionsPublished{Digest: digest, Aside: true}
			case 2:
				if branch != "" {
					f = events.DefinitionsPromoted{Branch: branch}
				}
			}
			p.lines = p.lines.Evolve(f)
			p.evolve(f)
			for _, b := range append(branches, "c") {
				ever[move{b, p.lines.InForce(b)}] = true
			}
		}
		for _, b := range append(branches, "c") {
			for _, d := range digests {
				if p.Used(b, d) != ever[move{b, d}] {
					rt.Fatalf("branch %q has used %s: %v", b, d, p.Used(b, d))
				}
			}
		}
	})
}

// A commit names what it has itself. That is its branch's own, and cannot be used is said.
func TestACommitHasDefinitionsOfItsOwn(t *testing.T) {
	c, log := start(t)
	named := aside(t, c, titled(released(), "of the commit"))
	alice := By{Actor: "poller:p", Source: "poller", Root: "test", Account: "alice"}
	n := NewRequest{Suite: "small", Kind: events.Master, Tag: "c1", Named: named, Tree: true, AsItIs: true, Branch: "release/1"}
	if _, _, err := c.CreateRequest(t.Context(), alice, n); err != nil {
		t.Fatal(err)
	}
	if f := recorded(t, log, events.Master, "c1"); f.Customised || f.Definitions != named || f.Branch != "release/1" {
		t.Errorf("%+v", f)
	}
	n = NewRequest{Suite: "small", Kind: events.Master, Tag: "c2", AsItIs: true, Problem: strings.Repeat("é", maxProblem)}
	if _, _, err := c.CreateRequest(t.Context(), alice, n); err != nil {
		t.Fatal(err)
	}
	if f := recorded(t, log, events.Master, "c2"); f.Definitions != "" || len(f.DefinitionsProblem) < maxProblem-3 || len(f.DefinitionsProblem) > maxProblem+3 {
		t.Errorf("%+v", f)
	}
}

func TestARequestIsInASet(t *testing.T) {
	c, log := start(t)
	n := NewRequest{Suite: "small", Kind: events.Master, Tag: "c1", Set: "bisect-7"}
	if _, _, err := c.CreateRequest(t.Context(), by, n); err != nil {
		t.Fatal(err)
	}
	if f := recorded(t, log, events.Master, "c1"); f.Together != "bisect-7" {
		t.Errorf("%+v", f)
	}
	n.Set = "other"
	_, _, err := c.CreateRequest(t.Context(), by, n)
	refused(t, err, Conflict, "set other instead of bisect-7")
	n.Tag, n.Set = "c2", strings.Repeat("x", 129)
	_, _, err = c.CreateRequest(t.Context(), by, n)
	refused(t, err, Invalid, "1 to 128")
}

// A suite that has only definitions for requests that name them takes such requests, and says what others lack.
func TestASuiteWhoseBranchesUseNothing(t *testing.T) {
	log := memory.New(memory.Config{})
	c, _ := start(t)
	c.Log = log
	c.published.suites = nil
	named := aside(t, c, definitions())
	if _, _, err := c.CreateRequest(t.Context(), by, NewRequest{Suite: "small", Kind: events.Master, Tag: "c1", Named: named}); err != nil {
		t.Error(err)
	}
	_, _, err := c.CreateRequest(t.Context(), by, NewRequest{Suite: "small", Kind: events.Master, Tag: "c2"})
	refused(t, err, NotFound, "none that its branches use")
}
