package projector_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
)

// Results that were taken over are shown as those of the run that measured them, and are no evidence, whatever the batches are.
func TestWhatWasTakenOverIsShownAsThat(t *testing.T) {
	for _, batch := range []int{1, 7, 1000} {
		s := &sampled{&farm{story: newStory(t), parent: job("sha1", lanes[0], "opt"), child: job("sha2", lanes[0], "opt")}}
		grandchild := job("sha3", lanes[0], "opt")
		s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
		s.man(lanes[:]...)
		s.tell(events.CollectorOnline{Name: collectorOf(lanes[0]), Instance: "i1", Version: "v1", Environment: events.Environment{Fingerprint: "env1"}})
		s.tell(created("sha1", "", 0))
		s.startRequest("sha1", s.parent)
		s.measures(s.parent, 1.00)
		s.tell(events.RequestCompleted{RequestID: requestID("sha1"), Jobs: 1})
		s.tell(created("sha2", "sha1", 0))
		s.tell(events.RequestStarted{RequestID: requestID("sha2"), Definitions: "d1", Jobs: 1})
		s.tell(events.JobsCreated{RequestID: requestID("sha2"), Jobs: []events.JobSpec{s.child}})
		s.tell(events.JobReused{RequestID: requestID("sha2"), JobID: s.child.ID, From: s.parent.ID, Key: "k"})
		s.tell(events.RequestCompleted{RequestID: requestID("sha2"), Jobs: 1})
		s.tell(created("sha3", "sha2", 0))
		s.startRequest("sha3", grandchild)
		end := finished(grandchild, s.tell(dequeued(grandchild, 1, 0)), events.Success)
		end.Key, end.ReusedFrom = "k", s.parent.ID
		s.tell(end)
		s.tell(events.RequestCompleted{RequestID: requestID("sha3"), Jobs: 1})

		r := open(t, project(t, s.stored, batch))
		for tag, parent := range map[events.Tag]events.Tag{"sha2": "sha1", "sha3": "sha2"} {
			c, err := comparison.Tables{Reader: r}.Compare(t.Context(), comparison.Query{B: tag, A: parent, Suite: suite})
			if err != nil || len(c.Changes) != 1 || c.Changes[0].Judgement != compare.Unchanged || c.Same != 1 {
				t.Fatalf("batches of %d: %s: %v: %+v", batch, tag, err, c)
			}
			if notes := strings.Join(c.Notes(), " "); !strings.Contains(notes, "byte for byte the same") || !strings.Contains(notes, "nothing was measured again") {
				t.Errorf("%s: %q", tag, notes)
			}
			results, err := r.Results(t.Context(), suite, tag)
			if err != nil || len(results) != 1 || results[0].ReusedFrom != s.parent.ID || results[0].JobID == s.parent.ID {
				t.Errorf("%s: %v: %+v", tag, err, results)
			}
		}
		reused, err := r.Job(t.Context(), s.child.ID)
		if err != nil || reused.State != events.JobSuccess || reused.Reused() != "took over from run "+string(s.parent.ID)+" of sha1" {
			t.Errorf("%v: %+v", err, reused.Job)
		}
		history, err := r.History(t.Context(), suite, "sha3", 10, "")
		if err != nil || len(history) != 1 || !slices.Equal(history[0].Tags, []events.Tag{"sha1"}) {
			t.Errorf("the history counts what was taken over: %v: %+v", err, history)
		}
		took, err := r.Durations(t.Context(), suite, lanes[0].Target)
		if err != nil || len(took) != 1 || took[0].Artifacts != 1 {
			t.Errorf("durations count what was taken over: %v: %+v", err, took)
		}
	}
}

// A job that runs already does not end because somebody says that it takes a run over.
func TestAJobThatRunsTakesNothingOver(t *testing.T) {
	s := newSampled(t)
	more := job("sha3", lanes[0], "opt")
	s.tell(created("sha3", "sha2", 0))
	s.startRequest("sha3", more)
	token := s.tell(dequeued(more, 1, 0))
	s.tell(events.JobReused{RequestID: requestID("sha3"), JobID: more.ID, From: s.parent.ID, Key: "k"})
	f := measured(more, token, "b0")
	s.tell(f)
	s.tell(finished(more, token, events.Success))
	r := open(t, project(t, s.stored, 7))
	results, err := r.Results(t.Context(), suite, "sha3")
	if err != nil || len(results) != 1 || results[0].ReusedFrom != "" {
		t.Errorf("%v: %+v", err, results)
	}
	var found readmodel.JobHistory
	if found, err = r.Job(t.Context(), more.ID); err != nil || found.Reused() != "" {
		t.Errorf("%v: %+v", err, found.Job)
	}
}
