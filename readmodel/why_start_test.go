package readmodel

import (
	"testing"
)

func TestWhenAJobStarts(t *testing.T) {
	minute := []whyLength{{60_000}, {50_000}, {900_000}}
	for _, tc := range []struct {
		name  string
		rows  func() whyRows
		words string
	}{
		{"nothing like it has ended", func() whyRows {
			r := waitingJob()
			r.lengths = nil
			return r
		}, ""},
		{"a free lane", waitingJob, "; it starts at once"},
		{"behind a running job", func() whyRows {
			r := waitingJob()
			r.running = []WhyRunning{{"j0", "c1", whyNoon}}
			return r
		}, "; it starts in about 30 s to 2 min"},
		{"behind a running job, where jobs are short", func() whyRows {
			r := waitingJob()
			r.running = []WhyRunning{{"j0", "c1", whyNoon}}
			r.lengths = []whyLength{{MS: 100}, {MS: 100}, {MS: 100}}
			return r
		}, "; it starts in about a second"},
		{"behind three of its own, with half of the lane", func() whyRows {
			r := waitingJob()
			r.leaves[0].Before, r.leaves[0].Waiting = 3, 4
			r.leaves = append(r.leaves, whyLeaf{Tier: "default", Queue: "bob", Account: "bob", Waiting: 9})
			return r
		}, "; it starts in about 3 min to 12 min"},
		{"paused", func() whyRows {
			r := waitingJob()
			r.queues = []NamedQueue{{Name: "alice", Paused: true}}
			return r
		}, ""},
		{"dispatched behind two", func() whyRows {
			r := waitingJob()
			r.job.Place, r.places, r.running = 7, 2, []WhyRunning{{"j0", "c1", whyNoon}}
			return r
		}, "; it starts in about 1 min to 4 min"},
		{"two slots without room", func() whyRows {
			r := freeJob()
			r.runs(0, "memory=12g")
			return r
		}, "; it starts in about 15 s to 1 min"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.rows()
			if tc.words != "" && r.lengths == nil {
				r.lengths = minute
			}
			w := r.why()
			if got := w.Starts.words(); got != tc.words {
				t.Errorf("%s: %q, want %q", w.Reason, got, tc.words)
			}
		})
	}
}
