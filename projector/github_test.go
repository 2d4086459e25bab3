package projector_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

// deliver tells a delivery, sometimes again, or what came of one, even of one that never came.
func (w *walker) deliver() {
	hook, id := events.HookID("7"), events.DeliveryID(fmt.Sprintf("d%d", w.r.IntN(6)))
	switch w.r.IntN(4) {
	case 0, 1:
		w.tell(events.DeliveryReceived{Hook: hook, Delivery: id, Event: "issue_comment\x00", Size: w.r.IntN(1000), Payload: []byte(`{"a":"\u0000"}`)})
	case 2:
		w.tell(events.DeliveryPart{Hook: hook, Delivery: id, Part: 1, Raw: []byte("\x00\xff")})
	case 3:
		f := events.DeliveryHandled{Hook: hook, Delivery: id, Outcome: events.DeliveryAccepted, PR: w.r.IntN(3), Sender: "mallory\x00", Command: "queue"}
		if w.r.IntN(2) == 0 {
			f.Outcome, f.Comment, f.Requests = events.DeliveryRefused, 99, []events.RequestID{"r1", "r\x002"}
		}
		if w.r.IntN(6) == 0 {
			f.Outcome = ""
		}
		w.tell(f)
	}
}

// comment tells a random fact about one of a few comments, mostly about their newest revisions.
func (w *walker) comment() {
	key := events.OutboxKey(fmt.Sprintf("answer-%d", w.r.IntN(4)))
	revision := w.r.IntN(5)
	untils := []string{"2026-11-21T10:00:00Z", "2026-11-21T10:00:00.123456789+02:00", "0000-01-01T00:00:00Z", "soon"}
	facts := []events.Fact{
		events.CommentWanted{Key: key, Revision: revision, Purpose: events.CommentReport, Repo: "o/n", PR: 3, Body: "no change\x00", RequestID: "r1", AddLabels: []string{"a,b\x00"}},
		events.CommentWanted{Key: key, Revision: revision, Purpose: events.CommentAnswer, Repo: "o/n", Body: "queued", Temporary: true, RemoveLabels: []string{"x", "y"}},
		events.CommentAttempted{Key: key, Revision: revision, Attempt: w.r.IntN(4), Instance: "i1"},
		events.CommentPosted{Key: key, Revision: revision, CommentID: int64(w.r.IntN(3)), URL: "https://github.com/o/n/pull/3"},
		events.CommentPostponed{Key: key, Revision: revision, Attempt: 1, Reason: "GitHub answers 500", Until: untils[w.r.IntN(len(untils))]},
		events.CommentRefused{Key: key, Revision: revision, Reason: "the pull request is locked"},
		events.LabelsSet{Key: key, Revision: revision},
		events.CommentMinimised{Key: key},
		events.CommentMinimised{Key: key, Reason: "it was deleted"},
	}
	w.tell(facts[w.r.IntN(len(facts))])
}

// everywhere runs a check on the tables of the first n events, for different sizes of batches.
func everywhere(t *testing.T, s *story, n int, check func(t *testing.T, r *readmodel.Reader)) {
	t.Helper()
	for _, size := range []int{1, 7} {
		t.Run(fmt.Sprintf("%d events in batches of %d", n, size), func(t *testing.T) { check(t, open(t, project(t, s.stored[:n], size))) })
	}
}

func TestADeliveryIsHandledOnce(t *testing.T) {
	s := newStory(t)
	received := func(id events.DeliveryID) events.DeliveryReceived {
		return events.DeliveryReceived{Hook: "7", Delivery: id, Event: "issue_comment", Size: 20, Payload: []byte(`{"action":"created"}`)}
	}
	handled := events.DeliveryHandled{
		Hook: "7", Delivery: "d1", Outcome: events.DeliveryRefused, Reason: "there is no profile Foo", Repo: "o/n", PR: 14, Comment: 99,
		Sender: "alice", SenderID: 5, Command: "queue profiles=Foo", Requests: []events.RequestID{"r1"},
	}
	s.tell(received("d1"))
	s.tell(received("d2"))
	s.tell(handled)
	s.tell(received("d1")) // again
	other := handled
	other.Outcome = events.DeliveryAccepted
	s.tell(other) // again, otherwise
	other.Delivery = "d3"
	s.tell(other) // of what never came

	everywhere(t, s, 2, func(t *testing.T, r *readmodel.Reader) {
		d, err := r.Delivery(t.Context(), "7", "d1")
		if err != nil || d.Handled() || d.Outcome != "" || d.PR != nil || d.Size != 20 || d.Event != "issue_comment" {
			t.Errorf("%+v, %v", d, err)
		}
	})
	everywhere(t, s, 6, func(t *testing.T, r *readmodel.Reader) {
		list, err := r.Deliveries(t.Context(), readmodel.DeliveryFilter{})
		if err != nil || len(list) != 2 || list[0].ID != "d2" || list[0].Handled() {
			t.Fatalf("%+v, %v", list, err)
		}
		d := list[1]
		want := readmodel.Delivery{
			Hook: "7", ID: "d1", Event: "issue_comment", Size: 20, ReceivedAt: d.ReceivedAt, ReceivedSeq: 1, HandledAt: d.HandledAt, HandledSeq: d.HandledSeq,
			Outcome: events.DeliveryRefused, Reason: "there is no profile Foo", Repo: "o/n", PR: d.PR, Comment: d.Comment, Sender: "alice", SenderID: 5,
			Command: "queue profiles=Foo", Requests: []events.RequestID{"r1"},
		}
		if diff := cmp.Diff(want, d); diff != "" || *d.PR != 14 || *d.Comment != 99 || *d.HandledSeq != 3 {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestACommentGoesThroughItsStates(t *testing.T) {
	const key = events.OutboxKey("report-r1")
	s := newStory(t)
	type seen struct {
		State            readmodel.CommentState
		Revision, Posted int
		Attempts, Labels int
		Reason, Body     string
		Waits            bool
	}
	want := map[int]seen{}
	tell := func(f events.Fact, then seen) { want[int(s.tell(f))] = then }
	wanted := events.CommentWanted{
		Key: key, Revision: 1, Purpose: events.CommentReport, Repo: "o/n", PR: 14, RequestID: "r1", Body: "no change", Temporary: true, AddLabels: []string{"perf"},
	}
	until := s.at.Add(time.Minute).Format(time.RFC3339)
	tell(wanted, seen{State: readmodel.CommentWanted, Revision: 1, Body: "no change"})
	tell(events.CommentAttempted{Key: key, Revision: 1, Attempt: 1}, seen{State: readmodel.CommentWanted, Revision: 1, Attempts: 1, Body: "no change"})
	tell(events.CommentPostponed{Key: key, Revision: 1, Attempt: 1, Reason: "GitHub answers 500", Until: until},
		seen{State: readmodel.CommentPostponed, Revision: 1, Attempts: 1, Reason: "GitHub answers 500", Body: "no change", Waits: true})
	posted := events.CommentPosted{Key: key, Revision: 1, CommentID: 77, URL: "https://github.com/o/n/pull/14#issuecomment-77"}
	tell(posted, seen{State: readmodel.CommentPosted, Revision: 1, Posted: 1, Attempts: 1, Body: "no change"})
	tell(posted, seen{State: readmodel.CommentPosted, Revision: 1, Posted: 1, Attempts: 1, Body: "no change"})
	// The comment is on GitHub; its labels have to wait.
	tell(events.CommentPostponed{Key: key, Revision: 1, Attempt: 2, Reason: "slow down", Until: until},
		seen{State: readmodel.CommentPosted, Revision: 1, Posted: 1, Attempts: 2, Reason: "slow down", Body: "no change", Waits: true})
	tell(events.LabelsSet{Key: key, Revision: 1}, seen{State: readmodel.CommentPosted, Revision: 1, Posted: 1, Attempts: 2, Labels: 1, Body: "no change"})
	wanted.Revision, wanted.Body = 2, "a regression"
	second := seen{State: readmodel.CommentWanted, Revision: 2, Posted: 1, Labels: 1, Body: "a regression"}
	tell(wanted, second)
	tell(events.CommentRefused{Key: key, Revision: 1, Reason: "late word of the first"}, second)
	tell(events.CommentAttempted{Key: key, Revision: 3, Attempt: 1}, second) // there is no third
	tell(events.CommentRefused{Key: key, Revision: 2, Reason: "the pull request is locked"},
		seen{State: readmodel.CommentRefused, Revision: 2, Posted: 1, Labels: 1, Reason: "the pull request is locked", Body: "a regression"})
	tell(events.CommentMinimised{Key: key, Reason: "it was deleted"},
		seen{State: readmodel.CommentRefused, Revision: 2, Posted: 1, Labels: 1, Reason: "it was deleted", Body: "a regression"})
	last := seen{State: readmodel.CommentMinimised, Revision: 2, Posted: 1, Labels: 1, Body: "a regression"}
	tell(events.CommentMinimised{Key: key}, last)
	tell(events.CommentPostponed{Key: key, Revision: 2, Attempt: 9, Reason: "late"}, last)
	tell(events.CommentPosted{Key: "nobody", Revision: 1, CommentID: 3}, last)

	check := func(t *testing.T, r *readmodel.Reader, n int) {
		t.Helper()
		c, err := r.Comment(t.Context(), key)
		got := seen{c.State, c.Revision, c.PostedRevision, c.Attempts, c.LabelsRevision, c.Reason, c.Body, c.Until != nil}
		if diff := cmp.Diff(want[n], got); err != nil || diff != "" {
			t.Errorf("after %d events: %v (-want +got):\n%s", n, err, diff)
		}
		if c.WantedSeq != 1 || c.PostedRevision > 0 && *c.CommentID != 77 {
			t.Errorf("after %d events: %+v", n, c)
		}
	}
	url, log := database(t), newFeed("log")
	p, r := start(t, projector.Config{Log: log, URL: url}), open(t, url)
	for i, e := range s.stored { // a batch each
		log.add(e)
		p.await(t, r, e.Seq)
		check(t, r, i+1)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{7, len(s.stored)} {
		everywhere(t, s, n, func(t *testing.T, r *readmodel.Reader) { check(t, r, n) })
	}
	report, err := projector.Replay(t.Context(), newFeed("log", s.stored...), project(t, s.stored, 2), projector.ReplayOptions{Verify: true})
	if err != nil || !report.Identical() {
		t.Errorf("replay: %+v, %v", report, err)
	}
}

// A request shows the reason of a failed build until a build succeeds.
func TestAFailedBuildIsForgottenWithTheNextOne(t *testing.T) {
	s := newStory(t)
	f := created("t1", "", 14)
	f.State, f.Tag = events.StateWaitingForArtifacts, ""
	s.tell(f)
	s.tell(events.RequestBuildFailed{RequestID: f.RequestID, Reason: "the try build failed"})
	s.tell(events.RequestArtifactsReady{RequestID: f.RequestID, Tag: "t1", Parent: "p"})
	for n, want := range map[int]string{2: "the try build failed", 3: ""} {
		everywhere(t, s, n, func(t *testing.T, r *readmodel.Reader) {
			if got, err := r.Request(t.Context(), f.RequestID); err != nil || got.Reason != want {
				t.Errorf("%q, %v", got.Reason, err)
			}
		})
	}
}
