package projector_test

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// saying returns that the commands of a job printed texts, each of them twice.
func saying(j events.JobSpec, token events.Seq, texts ...string) events.DiagnosticsSeen {
	f := events.DiagnosticsSeen{
		Lane: j.Lane(), JobID: j.ID, Collector: collectorOf(j.Lane()), Token: token, Attempt: 1, Lines: map[string]int{"warning": 2 * len(texts)},
	}
	for _, text := range texts {
		f.Items = append(f.Items, events.Diagnostic{Level: "warning", Code: "W1", Text: text, Hash: fmt.Sprintf("%016x", text), Count: 2})
	}
	return f
}

func TestDiagnosticsOfAGraphAreShownOnce(t *testing.T) {
	s := newStory(t)
	s.man(lanes[:]...)
	first, second, third := job("sha1", lanes[0], "opt"), job("sha1", lanes[0], "debug"), job("sha1", lanes[1], "opt")
	again, alone := job("sha2", lanes[0], "opt"), job("sha2", lanes[0], "debug")
	s.tell(created("sha1", "", 0))
	s.tell(events.RequestStarted{RequestID: first.RequestID, Definitions: "d1", Jobs: 3, Graphs: 1})
	s.tell(events.GraphCreated{RequestID: first.RequestID, Kind: events.GraphInitial, Jobs: 3, Needs: 1})
	s.tell(events.JobsCreated{RequestID: first.RequestID, Jobs: []events.JobSpec{first, second, third}, Graph: &events.GraphPart{Needs: []events.JobNeeds{{Job: 2, On: []int{0}}}}})
	// The second one runs before the first one: the number decides who shows what both say.
	token := s.tell(dequeued(second, 1, 0))
	s.tell(saying(second, token, "shared", "only in debug"))
	s.tell(saying(second, token, "a second time in one attempt"))
	s.tell(finished(second, token, events.Success))
	token = s.tell(dequeued(first, 1, 0))
	s.tell(saying(first, token, "of an attempt that was lost"))
	s.tell(events.AttemptLost{Lane: first.Lane(), JobID: first.ID, Collector: collectorOf(first.Lane()), Token: token, Attempt: 1, Lost: 1, Reason: "gone"})
	late := saying(first, token, "late")
	token = s.tell(dequeued(first, 2, 1))
	s.tell(late)
	f := saying(first, token, "shared")
	f.Attempt, f.More, f.Lines = 2, 9800, map[string]int{"warning": 9801, "error": 1}
	s.tell(f)
	s.tell(finished(first, token, events.Success))

	s.tell(created("sha2", "", 0))
	s.tell(events.RequestStarted{RequestID: again.RequestID, Definitions: "d1", Jobs: 2})
	s.tell(events.JobsCreated{RequestID: again.RequestID, Jobs: []events.JobSpec{again, alone}})
	token = s.tell(dequeued(again, 1, 0))
	over := finished(again, token, events.Success)
	over.ReusedFrom = first.ID
	s.tell(over)
	token = s.tell(dequeued(alone, 1, 0))
	s.tell(saying(alone, token, "shared", "only in debug"))

	url := project(t, s.stored, 3)
	r, ctx := open(t, url), t.Context()
	said := func(id events.JobID) *readmodel.JobDiagnostics {
		t.Helper()
		j, err := r.Job(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return j.Diagnostics
	}
	item := func(text string, by events.JobID) readmodel.Diagnostic {
		return readmodel.Diagnostic{Level: "warning", Code: "W1", Text: text, Count: 2, SaidBy: by}
	}
	lines := map[string]int{"warning": 9801, "error": 1}
	for id, want := range map[events.JobID]*readmodel.JobDiagnostics{
		first.ID:  {JobID: first.ID, Lines: lines, Items: []readmodel.Diagnostic{item("shared", "")}, More: 9800},
		second.ID: {JobID: second.ID, Lines: map[string]int{"warning": 4}, Items: []readmodel.Diagnostic{item("shared", first.ID), item("only in debug", "")}},
		third.ID:  nil,
		again.ID:  {JobID: again.ID, Of: first.ID, Lines: lines, Items: []readmodel.Diagnostic{item("shared", "")}, More: 9800},
		alone.ID:  {JobID: alone.ID, Lines: map[string]int{"warning": 4}, Items: []readmodel.Diagnostic{item("shared", again.ID), item("only in debug", "")}},
	} {
		if diff := gocmp.Diff(want, said(id), cmpopts.IgnoreFields(readmodel.Diagnostic{}, "Hash")); diff != "" {
			t.Errorf("job %s (-want +got):\n%s", id, diff)
		}
	}
	words := func(id events.RequestID) (list []string) {
		found, err := r.Diagnostics(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range found {
			list = append(list, g.Words())
			for _, j := range g.Jobs {
				list = append(list, fmt.Sprintf("%d %s %s: %s", j.Number, j.Label, j.SaidBy, j.Words()))
			}
		}
		return list
	}
	want := []string{
		"1 × error, 9805 × warning, 9802 different (1 duplicate)", "0 compile/linux-amd64/0/gc/opt : 1 × error, 9801 × warning, 9801 different",
		"1 compile/linux-amd64/0/gc/debug : 4 × warning, 2 different (1 duplicate)",
	}
	if diff := gocmp.Diff(want, words(first.RequestID)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := words(again.RequestID); len(got) != 3 || got[0] != "1 × error, 9805 × warning, 9802 different (1 duplicate)" {
		t.Errorf("of a request without graphs: %q", got)
	}
	want2 := contents(t, url)
	for _, size := range []int{1, 1000} {
		if diff := gocmp.Diff(want2, contents(t, project(t, s.stored, size))); diff != "" {
			t.Errorf("batch size %d:\n%s", size, diff)
		}
	}

	s.tell(finished(alone, token, events.Success))
	s.tell(retired(1 << 33))
	url = project(t, slices.Clone(s.stored), 1000)
	if n := count(t, url, `SELECT count(*) FROM tacho.diagnostic`); n != 0 {
		t.Errorf("%d texts of jobs that left the tables are kept", n)
	}
}
