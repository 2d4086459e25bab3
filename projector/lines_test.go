package projector_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	defs "github.com/tachobench/tacho/rules/suite"
)

// The tables say which definitions each branch uses, whatever came in one batch, and after a restart between any two
// batches.
func TestTheTablesKnowTheBranches(t *testing.T) {
	s := newStory(t)
	publish := func(branch, digest, file string) {
		f := events.DefinitionsPublished{Suite: suite, Digest: events.Digest(digest), Content: definitions(), Branch: branch, File: file}
		if file != "" {
			f.Revision = "rev-" + file
		}
		s.tell(f)
	}
	publish("", "d1", "")
	publish("release/1.2", "d2", "f2")
	s.tell(events.DefinitionsRejected{Suite: suite, Branch: "release/1.2", Revision: "c3", File: "f3", Problems: []string{"line 1", "line\x00 2"}})
	s.tell(events.DefinitionsPromoted{Suite: suite, Digest: "d2", From: "d1"})
	publish("next", "d1", "f1") // what serves the others keeps its mark
	publish("other\x00", "d4", "")
	s.tell(events.DefinitionsPromoted{Suite: suite, Branch: "next", From: "d1"})
	publish("main", "d3", "f9")
	choice := created("sha1", "", 0)
	choice.Branch, choice.Graph, choice.Options = "release/1.2", "full", map[string]string{"pgo": "on"}
	s.tell(choice)
	s.tell(events.RequestStarted{
		RequestID: choice.RequestID, Definitions: "d2", Jobs: 0,
		Template: &events.Template{Graph: "full", Branch: "release/*", Options: map[string]string{"lto": "off", "pgo": "on"}},
	})

	// What the ledger and control fold from the same log.
	var folded defs.Lines
	for _, stored := range s.stored {
		e, err := events.Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		folded = folded.Evolve(e.Fact)
	}

	type line struct{ Digest, Revision, File, Problems string }
	for _, size := range []int{1, 3, 100} {
		t.Run(fmt.Sprint(size, " in a batch"), func(t *testing.T) {
			url := project(t, s.stored, size)
			r := open(t, url)
			lines, err := r.Branches(t.Context(), suite)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]line{}
			for _, l := range lines {
				if own := folded[l.Branch]; l.Digest != own.Digest || l.File != own.File || l.Revision != own.Revision || len(l.Problems) != len(own.Problems) {
					t.Errorf("branch %q is %+v, and folded %+v", l.Branch, l, own)
				}
				got[l.Branch] = line{string(l.Digest), l.Revision, l.File, fmt.Sprint(l.Problems)}
				if since := s.stored[1].StoredAt.Truncate(time.Second); l.Branch == "release/1.2" && !l.MovedAt.Equal(since) {
					t.Errorf("the branch whose file was refused has its definitions since %s, want %s", l.MovedAt, since)
				}
			}
			if diff := cmp.Diff(map[string]line{
				"": {"d2", "", "", "[]"}, "release/1.2": {"d2", "c3", "f3", "[line 1 line� 2]"}, "next": {"", "rev-f1", "f1", "[]"}, "main": {"d3", "rev-f9", "f9", "[]"},
			}, got); diff != "" {
				t.Errorf("branches (-want +got):\n%s", diff)
			}
			published, err := r.Definitions(t.Context(), readmodel.DefinitionFilter{})
			if err != nil {
				t.Fatal(err)
			}
			marks := map[events.Digest]bool{}
			for _, d := range published {
				marks[d.Digest] = d.Current
			}
			if diff := cmp.Diff(map[events.Digest]bool{"d1": false, "d2": true, "d3": false}, marks); diff != "" {
				t.Errorf("current (-want +got):\n%s", diff)
			}
			q, err := r.Request(t.Context(), choice.RequestID)
			if err != nil {
				t.Fatal(err)
			}
			want := readmodel.Choice{Branch: "release/1.2", Graph: "full", Options: map[string]string{"lto": "off", "pgo": "on"}}
			if diff := cmp.Diff(want, q.Takes()); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
			if _, err := r.Branches(t.Context(), "nothing"); err == nil {
				t.Error("a suite that was never published has branches")
			}
		})
	}
}
