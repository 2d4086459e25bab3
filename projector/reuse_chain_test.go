package projector_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// A run that was taken over may have taken one over itself, in the log of a collector that says so. The tables name the one that
// really ran: its warnings, results and outputs are shown, whatever the batches are, and also when the run between has left.
func TestARunThatTookOneOverIsTakenOver(t *testing.T) {
	s := &farm{story: newStory(t)}
	s.tell(events.DefinitionsPublished{Suite: suite, Digest: "d1", Content: definitions()})
	s.man(lanes[:]...)
	ran, second, third, fourth := job("sha1", lanes[0], "opt"), job("sha2", lanes[0], "opt"), job("sha3", lanes[0], "opt"), job("sha4", lanes[0], "opt")
	s.tell(created("sha1", "", 0))
	s.startRequest("sha1", ran)
	token := s.tell(dequeued(ran, 1, 0))
	s.tell(saying(ran, token, "a warning"))
	s.tell(measured(ran, token, "b0"))
	s.tell(events.OutputStored{
		Lane: ran.Lane(), JobID: ran.ID, Collector: collectorOf(ran.Lane()), Token: token, Attempt: 1, Output: events.Output{Name: "out", Digest: "d", Bytes: 3},
	})
	s.tell(finished(ran, token, events.Success))
	before := ran
	for i, j := range []events.JobSpec{second, third, fourth} {
		s.tell(created(j.Artifact.Tag, "", 0))
		if i == 1 { // the scheduler's word, and a collector's
			s.tell(events.RequestStarted{RequestID: j.RequestID, Definitions: "d1", Jobs: 1})
			s.tell(events.JobsCreated{RequestID: j.RequestID, Jobs: []events.JobSpec{j}})
			s.tell(events.JobReused{RequestID: j.RequestID, JobID: j.ID, From: before.ID, Key: "k"})
		} else {
			s.startRequest(j.Artifact.Tag, j)
			end := finished(j, s.tell(dequeued(j, 1, 0)), events.Success)
			end.Key, end.ReusedFrom = "k", before.ID
			s.tell(end)
		}
		before = j
	}
	url := project(t, s.stored, 3)
	for _, size := range []int{1, 1000} {
		if diff := gocmp.Diff(contents(t, url), contents(t, project(t, s.stored, size))); diff != "" {
			t.Errorf("batch size %d:\n%s", size, diff)
		}
	}
	r := open(t, url)
	for _, j := range []events.JobSpec{second, third, fourth} {
		got, err := r.Job(t.Context(), j.ID)
		if err != nil || got.Reused() != "took over from run "+string(ran.ID)+" of sha1" || len(got.Outputs) != 1 {
			t.Errorf("%s: %v: %s, outputs %v", j.Artifact.Tag, err, got.Reused(), got.Outputs)
		}
		if d := got.Diagnostics; d == nil || d.Of != ran.ID || len(d.Items) != 1 || d.Items[0].Text != "a warning" {
			t.Errorf("%s: what it said is %+v", j.Artifact.Tag, d)
		}
		results, err := r.Results(t.Context(), suite, j.Artifact.Tag)
		if err != nil || len(results) != 1 || results[0].ReusedFrom != ran.ID {
			t.Errorf("%s: %v: %+v", j.Artifact.Tag, err, results)
		}
		said, err := r.Diagnostics(t.Context(), j.RequestID)
		if err != nil || len(said) != 1 || len(said[0].Jobs) != 1 || said[0].Jobs[0].SaidBy != ran.ID {
			t.Errorf("%s: %v: %+v", j.Artifact.Tag, err, said)
		}
	}
}

// A job that names itself, or a run that names it, took nothing over.
func TestRunsThatTakeEachOtherOver(t *testing.T) {
	s := &farm{story: newStory(t)}
	s.man(lanes[:]...)
	own, other := job("sha1", lanes[0], "opt"), job("sha2", lanes[0], "opt")
	for _, j := range []events.JobSpec{own, other} {
		s.tell(created(j.Artifact.Tag, "", 0))
		s.startRequest(j.Artifact.Tag, j)
	}
	for _, claim := range [][2]events.JobSpec{{own, other}, {other, own}} {
		end := finished(claim[0], s.tell(dequeued(claim[0], 1, 0)), events.Success)
		end.Key, end.ReusedFrom = "k", claim[1].ID
		s.tell(end)
	}
	r := open(t, project(t, s.stored, 7))
	for id, want := range map[events.JobID]events.JobID{own.ID: other.ID, other.ID: ""} {
		if got, err := r.Job(t.Context(), id); err != nil || got.ReusedFrom != want || got.State != events.JobSuccess {
			t.Errorf("%v: job %s took over %q", err, id, got.ReusedFrom)
		}
	}
}
