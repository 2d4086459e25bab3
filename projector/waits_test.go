package projector_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// waited is what the tables hold of the wait of a job.
type waited struct {
	ready, begun, ended events.Seq
	wished              bool
}

// TestWaitsOfAChain: a job waits from the end of the last job that it needs, and until its first attempt alone. What is blocked,
// was skipped or was withdrawn while it was, never waited.
func TestWaitsOfAChain(t *testing.T) {
	s := newStory(t)
	id := requestID("sha1")
	specs := chainOf(s, "sha1", 4)
	made := events.Seq(len(s.stored))
	free := job("sha1", lanes[1], "free")
	freed := s.tell(events.JobsCreated{RequestID: id, Jobs: []events.JobSpec{free}})

	// Its first attempt is lost.
	first := s.tell(dequeued(specs[0], 1, 0))
	s.tell(events.AttemptLost{Lane: specs[0].Lane(), JobID: specs[0].ID, Token: first, Attempt: 1, Lost: 1, Reason: "silence"})
	again := s.tell(dequeued(specs[0], 2, 1))
	end := finished(specs[0], again, events.Success)
	end.Attempt = 2
	met := s.tell(end)
	second := s.tell(dequeued(specs[1], 1, 0))
	failed := s.tell(finished(specs[1], second, events.Failure))
	// Its next round is ready when it is made. What it makes ready was skipped meanwhile.
	round := specs[1].Again()
	repaired := s.tell(events.JobsCreated{RequestID: id, Key: "k", Jobs: []events.JobSpec{round}, Graph: &events.GraphPart{Again: []int{1}}})
	third := s.tell(dequeued(round, 1, 0))
	unblocked := s.tell(finished(round, third, events.Success))
	withdrawn := s.tell(events.JobsWithdrawn{RequestID: id, Jobs: []events.JobID{specs[2].ID}})
	gone := s.tell(events.JobsWithdrawn{RequestID: id, Jobs: []events.JobID{specs[3].ID}})

	want := map[events.JobID]waited{
		specs[0].ID: {ready: made, begun: first, ended: met},
		specs[1].ID: {ready: met, begun: second, ended: failed},
		round.ID:    {ready: repaired, begun: third, ended: unblocked, wished: true},
		specs[2].ID: {ready: unblocked, ended: withdrawn},
		specs[3].ID: {ended: gone},
		free.ID:     {ready: freed},
	}
	// The times of the writers are three milliseconds before those of the log, so no other clock gives these.
	stored := func(seq events.Seq) *time.Time {
		if seq == 0 {
			return nil
		}
		return new(s.stored[seq-1].StoredAt.UTC())
	}
	for _, size := range []int{1, 3, 1000} {
		r := open(t, project(t, s.stored, size))
		jobs, err := r.Jobs(t.Context(), readmodel.JobFilter{Request: id})
		if err != nil || len(jobs) != len(want) {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		for _, j := range jobs {
			w := want[j.ID]
			for what, pair := range map[string][2]*time.Time{
				"ready": {stored(w.ready), j.LogReadyAt}, "begun": {stored(w.begun), j.LogBegunAt}, "ended": {stored(w.ended), j.LogEndedAt},
			} {
				if (pair[0] == nil) != (pair[1] == nil) || pair[0] != nil && !pair[0].Equal(*pair[1]) {
					t.Errorf("batches of %d, job %s (%s): %s at %v, want %v", size, j.ID, j.Shown(), what, pair[1], pair[0])
				}
			}
			if j.Wished != w.wished {
				t.Errorf("job %s is wished: %t", j.ID, j.Wished)
			}
		}
		found, err := r.Waits(t.Context(), readmodel.WaitsFilter{Window: time.Hour, Now: s.at.Add(time.Minute), Target: 1500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(found.Lanes, func(l readmodel.LaneWaits) bool { return l.Lane == lanes[0].String() })
		if at < 0 || found.Lanes[at].Runs != 2 || found.Lanes[at].Again.Runs != 1 || found.Lanes[at].Retries != 1 || found.Lanes[at].Waiting != 0 {
			t.Errorf("%+v", found.Lanes)
		}
	}
}

// A job that ends with its deadline has missed its target, however early that was. One that a person withdraws says nothing.
func TestADeadlineIsAMiss(t *testing.T) {
	for _, tc := range []struct {
		expired bool
		runs    int
	}{{true, 1}, {false, 0}} {
		s := newStory(t)
		id := requestID("sha1")
		specs := chainOf(s, "sha1", 1)
		s.tell(events.GraphCancelled{RequestID: id, Graph: 0, Reason: "it is late", Expired: tc.expired})
		s.tell(events.JobsWithdrawn{RequestID: id, Jobs: []events.JobID{specs[0].ID}})
		s.tell(events.RequestFailed{RequestID: id, Reason: "it is late", Jobs: 1, FailedJobs: 1})
		outcome := events.Cancelled
		if tc.expired {
			outcome = events.GraphExpired
		}
		s.tell(events.GraphEnded{RequestID: id, Outcome: outcome, Jobs: 1, Failed: 1})
		r := open(t, project(t, s.stored, 3))
		found, err := r.Waits(t.Context(), readmodel.WaitsFilter{Window: 3 * time.Hour, Now: s.at.Add(2 * time.Hour), Target: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		runs, hits := 0, 0
		for _, l := range found.Lanes {
			runs, hits = runs+l.Runs, hits+l.Hits
		}
		if runs != tc.runs || hits != 0 {
			t.Errorf("expired %t: %d runs, %d hits, want %d and 0", tc.expired, runs, hits, tc.runs)
		}
	}
}
