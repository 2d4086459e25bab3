package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

func TestAMoveEndsThePlace(t *testing.T) {
	for name, tc := range map[string]struct {
		// before are the commands until the job at place 2 is moved.
		before []Command
		move   Move
		// want are the facts; nil when the move is refused.
		want []events.Fact
	}{
		"before it began": {
			nil,
			Move{Place: 2, JobID: "b", Reason: "drained", Attempt: 4, Losses: 1},
			[]events.Fact{events.JobMoved{Lane: lane, Place: 2, JobID: "b", Attempt: 4, Lost: 1, Reason: "drained"}},
		},
		"after a release": {
			[]Command{Dequeue{Place: 2, Job: spec("b"), Collector: "c0", Instance: "i1", Attempt: 4, Lost: 1}, Release{Token: 3, Reason: "stop"}},
			Move{Place: 2, JobID: "b", Reason: "drained", Attempt: 4, Losses: 1},
			[]events.Fact{events.JobMoved{Lane: lane, Place: 2, JobID: "b", Collector: "c0", Token: 3, Attempt: 5, Lost: 1, Reason: "drained"}},
		},
		"while it runs, and its collector is there": {
			[]Command{Dequeue{Place: 2, Job: spec("b"), Collector: "c0", Instance: "i1"}},
			Move{Place: 2, JobID: "b", Reason: "removed"},
			[]events.Fact{
				events.AttemptReleased{Lane: lane, Place: 2, JobID: "b", Collector: "c0", Token: 3, Attempt: 1, Reason: "removed"},
				events.JobMoved{Lane: lane, Place: 2, JobID: "b", Collector: "c0", Token: 3, Attempt: 1, Reason: "removed"},
				events.ResultsClosed{Lane: lane, JobID: "b", Attempt: 1, Token: 3},
			},
		},
		"while it runs, and its collector is gone": {
			[]Command{Dequeue{Place: 2, Job: spec("b"), Collector: "c0", Instance: "i1", Attempt: 1, Lost: 1}},
			Move{Place: 2, JobID: "b", Reason: "silent", Lost: true},
			[]events.Fact{
				events.AttemptLost{Lane: lane, Place: 2, JobID: "b", Collector: "c0", Token: 3, Attempt: 2, Lost: 2, Reason: "silent"},
				events.JobMoved{Lane: lane, Place: 2, JobID: "b", Collector: "c0", Token: 3, Attempt: 2, Lost: 2, Reason: "silent"},
				events.ResultsClosed{Lane: lane, JobID: "b", Attempt: 2, Token: 3},
			},
		},
		"before the place before it has ended": {nil, Move{Place: 3, JobID: "c"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history{t: t}
			h.must(dequeue(1, "a", "c0", "i1"))
			h.must(Finish{Token: 1, Outcome: events.Success})
			for _, c := range tc.before {
				h.must(c)
			}
			if tc.want == nil {
				h.refused(tc.move)
				return
			}
			if diff := cmp.Diff(tc.want, h.must(tc.move)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if h.state.Phase != Ended || h.state.Place != tc.move.Place {
				t.Errorf("then the lane is %+v", h.state)
			}
			if facts := h.must(tc.move); facts != nil {
				t.Errorf("the same again gives %v", facts)
			}
			h.refused(Finish{Token: 3, Outcome: events.Success})
			h.must(dequeue(3, "c", "c0", "i1"))
		})
	}
}

// A job that goes from lane to lane keeps its counts, and fails when its losses are spent, on whatever lanes they were.
func TestTheBudgetGoesWithTheJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempts, losses := 0, 0
		lanes := [2]history{}
		for range rapid.IntRange(1, 40).Draw(t, "stays") {
			h := &lanes[rapid.IntRange(0, 1).Draw(t, "lane")]
			place := h.state.Place + 1
			facts, err := h.do(Dequeue{Place: place, Job: spec("a"), Collector: "c0", Instance: "i1", MaxAttempts: 3, Attempt: attempts, Lost: losses})
			if err != nil {
				t.Fatal(err)
			}
			if f, ended := facts[0].(events.JobFinished); ended {
				if losses < 3 || f.Attempt != attempts || f.Lost != losses || f.Fault != events.ErrorExhausted {
					t.Fatalf("after %d attempts, %d lost: %+v", attempts, losses, f)
				}
				return
			}
			attempts++
			lost := rapid.Bool().Draw(t, "lost")
			if lost {
				losses++
			}
			if facts, err = h.do(Move{Place: place, JobID: "a", Lost: lost}); err != nil {
				t.Fatal(err)
			}
			if f := facts[1].(events.JobMoved); f.Attempt != attempts || f.Lost != losses {
				t.Fatalf("after %d attempts, %d lost: %+v", attempts, losses, f)
			}
		}
	})
}
