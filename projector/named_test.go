package projector_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
)

// The tables know which definitions no branch uses, and which requests name them; sets of requests are found.
func TestTheTablesKnowWhatRequestsName(t *testing.T) {
	s := newStory(t)
	publish := func(digest string, aside bool) {
		s.tell(events.DefinitionsPublished{Suite: suite, Digest: events.Digest(digest), Content: definitions(), Aside: aside})
	}
	publish("d0", true)
	publish("d1", false)
	publish("d2", true)
	publish("d1", true) // control writes no such event; the mark of what is in use must stay all the same
	for i, f := range []events.RequestCreated{created("sha1", "", 0), created("sha2", "", 0), created("sha3", "", 0), created("sha4", "", 0)} {
		switch i {
		case 0:
			f.Definitions, f.Together = "d2", "bisect-7"
		case 1:
			f.Definitions, f.Customised, f.Together = "d0", true, "bisect-7"
		case 2:
			f.DefinitionsProblem = "suite.toml:3:1: a\x00b"
		}
		s.tell(f)
	}
	s.tell(events.DefinitionsPromoted{Suite: suite, Digest: "d2", From: "d1"})
	for _, size := range []int{1, 3, 100} {
		t.Run(fmt.Sprint(size, " in a batch"), func(t *testing.T) {
			url := project(t, s.stored, size)
			r := open(t, url)
			marks := map[events.Digest]string{}
			published, err := r.Definitions(t.Context(), readmodel.DefinitionFilter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range published {
				marks[d.Digest] = fmt.Sprintf("current %v aside %v", d.Current, d.Aside)
			}
			if diff := cmp.Diff(map[events.Digest]string{"d0": "current false aside true", "d1": "current false aside true", "d2": "current true aside true"}, marks); diff != "" {
				t.Error(diff)
			}
			list, err := r.Requests(t.Context(), readmodel.RequestFilter{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, q := range list {
				got = append(got, fmt.Sprintf("%s %s %v %s %q", q.Tag, q.Named, q.Customised, q.Together, q.DefinitionsProblem))
			}
			slices.Reverse(got)
			want := []string{`sha1 d2 false bisect-7 ""`, `sha2 d0 true bisect-7 ""`, `sha3  false  "suite.toml:3:1: a` + "�" + `b"`, `sha4  false  ""`}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			set, err := r.Requests(t.Context(), readmodel.RequestFilter{Together: "bisect-7"})
			if err != nil || len(set) != 2 || set[0].Tag != "sha2" {
				t.Errorf("%+v %v", set, err)
			}
			verify(t, newFeed("log", s.stored...), url)
		})
	}
}

// Before definitions are promoted, a definition that was published aside does not take the mark from the one in use.
func TestWhatIsAsideIsNotInUse(t *testing.T) {
	s := newStory(t)
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d2", Content: definitions(), Aside: true})
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions(), Aside: true})
	for _, size := range []int{1, 100} {
		r := open(t, project(t, s.stored, size))
		if d, err := r.CurrentDefinition(t.Context(), suite); err != nil || d.Digest != "d1" {
			t.Errorf("%d in a batch: %s %v", size, d.Digest, err)
		}
		if lines, err := r.Branches(t.Context(), suite); err != nil || len(lines) != 1 || lines[0].Digest != "d1" {
			t.Errorf("%d in a batch: %+v %v", size, lines, err)
		}
	}
	only := newStory(t)
	only.tell(events.DefinitionsPublished{Suite: suite, Digest: "d2", Content: definitions(), Aside: true})
	if lines, err := open(t, project(t, only.stored, 1)).Branches(t.Context(), suite); err != nil || len(lines) > 0 {
		t.Errorf("%+v %v", lines, err)
	}
}

// What was measured with definitions that the branch never used is in no history and makes no noise, and the comparison says
// so. With definitions that are named, but were the branch's own, it is as usual.
func TestCustomisedResultsAreNoEvidence(t *testing.T) {
	for _, customised := range []bool{false, true} {
		s := newSampled(t)
		tell := created("sha3", "sha2", 0)
		tell.Definitions, tell.Customised = "d1", customised
		s.tell(tell)
		own := job("sha3", lanes[0], "opt")
		s.startRequest("sha3", own)
		s.measures(own, 1.05)
		s.tell(events.RequestCompleted{RequestID: requestID("sha3"), Jobs: 1})
		s.tell(created("sha4", "sha3", 0))
		r := open(t, project(t, s.stored, 7))
		history, err := r.History(t.Context(), suite, "sha4", 30, "")
		if err != nil || len(history) != 1 {
			t.Fatal(history, err)
		}
		want := []events.Tag{"sha3", "sha2", "sha1"}
		if customised {
			want = want[1:]
		}
		if diff := cmp.Diff(want, history[0].Tags); diff != "" {
			t.Errorf("customised %v: %s", customised, diff)
		}
		c, err := comparison.Tables{Reader: r}.Compare(t.Context(), comparison.Query{B: "sha3", Suite: suite})
		if err != nil || len(c.Notes()) > 0 != customised {
			t.Errorf("customised %v: %q %v", customised, c.Notes(), err)
		}
	}
}
