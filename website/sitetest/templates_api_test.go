package sitetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// The list has every branch of every suite that leaves something to choose, once, in pages of any size.
func TestTheListOfTemplatesHasPages(t *testing.T) {
	s := open(t, nil)
	s.published() // leaves nothing to choose
	d := s.choices()
	old := choicesOf(t)
	old.Options = old.Options[:1]
	for i := range 3 {
		s.publishes(old, fmt.Sprintf("old/%d", i))
	}
	plain := choicesOf(t)
	plain.Options, plain.Graphs, plain.Branches = nil, nil, nil
	for i := range plain.Kinds {
		plain.Kinds[i].When = ""
	}
	s.publishes(plain, "plain")
	other := choicesOf(t)
	other.Name = "zebra"
	s.publishes(other, "")
	want := []string{"choices@", "choices@old/0", "choices@old/1", "choices@old/2", "zebra@"}
	for limit := range 7 {
		var got []string
		for after, pages := "", 0; ; pages++ {
			list, err := s.client.Templates(s.ctx, after, limit)
			if err != nil || pages > 10 || limit > 0 && len(list.Templates) > limit {
				t.Fatalf("%v: page %d of %+v", err, pages, list)
			}
			for _, one := range list.Templates {
				got = append(got, string(one.Suite)+"@"+one.Branch)
			}
			if after = list.Next; after == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	list, err := s.client.Templates(s.ctx, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	one := list.Templates[0]
	sizes, err := d.Sizes()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sizes, one.Sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
	if one.Digest != d.Digest() || len(one.Branches) != 3 || one.Graphs[1].OnFailure != suite.FailFast || one.Options[0].Who != suite.WhoRequest || one.Options[1].Who != suite.WhoBranch {
		t.Errorf("%+v", one)
	}
	// A file for some branches alone begins with the first of them.
	other.Name = "lonely"
	s.publishes(other, "main")
	for path, says := range map[string]string{
		"/templates/lonely": "for branch main", "/templates/choices?name=old/1": "for branch old/1", "/templates/choices?name=plain&kind=master": "A master request for branch plain",
	} {
		if resp, body := s.get(path); resp.StatusCode != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: %s, want %q\n%s", path, resp.Status, says, body)
		}
	}
	for query, says := range map[string]string{
		"suite=lonely": "suite lonely has definitions for main alone", "suite=lonely&branch=other": "suite lonely has definitions for main alone",
		"suite=go&branch=main": "suite go has nothing of its own for branches", "": "which suite? There are 3",
	} {
		resp, body := s.get("/api/v1/graphs/plan?" + query)
		if e := refusal(t, body); resp.StatusCode < 400 || !strings.Contains(e.Error(), says) {
			t.Errorf("%s: %s %s, want %q", query, resp.Status, body, says)
		}
	}
}

// The API compares what is published as the command compares files, by name and by digest, in pages.
func TestTheAPIComparesPublishedTemplates(t *testing.T) {
	s := open(t, nil)
	d := s.choices()
	old := choicesOf(t)
	old.Kinds[1].Needs, old.Kinds[3].PerProfile, old.Kinds[3].Profile = nil, false, "opt"
	s.publishes(old, "old/1")
	expand := func(d suite.Definitions, c suite.Choice) suite.Expansion {
		x, err := d.Expansion(suite.Request{Artifact: events.Artifact{Suite: d.Name, Tag: "x", Kind: events.Try}, Choice: c})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	on := map[string]string{"pgo": "on"}
	byDigest := string(old.Digest()) + ",pgo=on " + string(d.Digest()) + "@release/7"
	for reference, want := range map[string][]suite.Difference{
		"choices choices":                   {},
		"choices@main choices@release/7":    suite.DiffJobs(d, expand(d, suite.Choice{}), d, expand(d, suite.Choice{Branch: "release/7"})),
		"choices choices:quick,pgo=on":      suite.DiffJobs(d, expand(d, suite.Choice{}), d, expand(d, suite.Choice{Graph: "quick", Options: on})),
		"choices@old/1 choices@main,pgo=on": suite.DiffJobs(old, expand(old, suite.Choice{}), d, expand(d, suite.Choice{Options: on})),
		byDigest:                            suite.DiffJobs(old, expand(old, suite.Choice{Options: on}), d, expand(d, suite.Choice{Branch: "release/7"})),
	} {
		a, b, _ := strings.Cut(reference, " ")
		got, err := s.client.GraphDiff(s.ctx, a, b, events.Try, nil, 0)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", reference, err, diff)
		}
		var pages []suite.Difference
		for offset := 0; ; offset += 2 {
			_, body := s.get(fmt.Sprintf("/api/v1/definitions/diff?kind=try&limit=2&offset=%d&a=%s&b=%s", offset, url.QueryEscape(a), url.QueryEscape(b)))
			var page []suite.Difference
			if err := json.Unmarshal([]byte(body), &page); err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			pages = append(pages, page...)
		}
		if len(pages) != len(want) || len(want) > 0 && cmp.Diff(want, pages) != "" {
			t.Errorf("%s: the pages have %d differences, want %d", reference, len(pages), len(want))
		}
	}
	both, err := s.client.GraphDiff(s.ctx, "choices", "choices,pgo=off", events.Try, on, 0)
	if err != nil || len(both) == 0 {
		t.Errorf("%v %v: an option of both counts for the side that does not set it", both, err)
	}
	for query, says := range map[string]string{
		"a=choices": "parameter b is missing", "a=choices&b=rust": `there is no suite "rust"`, "a=choices&b=choices:fast": "unknown graph", "a=choices&b=choices,pgo": "has no value",
		"a=choices&b=choices,docs=off": "set by branches alone", "a=choices&b=" + strings.Repeat("0", 64): "not found", "a=choices&b=choices@a..b": "use the name of a branch",
		"a=choices&b=choices&limit=1000": "must be at most 200", "a=choices&b=choices&kind=x": "unknown kind", "a=%ff&b=choices": "is not a valid text",
		"a=choices&b=choices" + strings.Repeat(",x=y", 10_000): "", "a=choices&b=" + strings.Repeat("x,", 200_000): "",
	} {
		resp, body := s.get("/api/v1/definitions/diff?" + query)
		if e := refusal(t, body); resp.StatusCode < 400 || resp.StatusCode > 499 || !strings.Contains(e.Error(), says) || len(body) > 5000 {
			t.Errorf("%s: %s %s, want %q", query[:min(len(query), 80)], resp.Status, body[:min(len(body), 500)], says)
		}
	}
}
