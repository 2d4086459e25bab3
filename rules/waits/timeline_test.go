package waits

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// A smoke test makes two long jobs ready. One of them loses an attempt, and a report follows the later one. A fifth job is
// skipped until the graph ends.
func TestTheTimelineOfASmallGraph(t *testing.T) {
	rounds := []Round{
		{Number: 0, Job: "smoke", From: at(0), Ready: at(0), Ended: at(3), Attempts: []Span{{From: at(1), To: at(3)}}},
		{Number: 1, Job: "short", From: at(0), Ready: at(3), Ended: at(5), Attempts: []Span{{From: at(3), To: at(5)}}, Needs: []int{0}},
		{
			Number: 2, Job: "long", From: at(0), Ready: at(3), Ended: at(12), Needs: []int{0},
			Attempts: []Span{{From: at(4), To: at(6), Lost: true, Phases: &events.Phases{Run: 4}}, {From: at(7), To: at(12), Phases: &events.Phases{Run: 2, Wait: 1}}},
		},
		{Number: 3, Job: "report", From: at(0), Ready: at(12), Ended: at(13), Attempts: []Span{{From: at(12), To: at(13)}}, Needs: []int{1, 2}},
		{Number: 4, Job: "skipped", From: at(0), Ended: at(13), Needs: []int{1}, Skipped: []Span{{From: at(5)}}},
	}
	l := Follow(rounds, at(0), at(13))
	minute := time.Minute.Milliseconds()
	want := Timeline{
		From: at(0), To: at(13), RunningMS: 12 * minute, WaitingMS: 3 * minute, BlockedMS: 23 * minute, SkippedMS: 8 * minute, LostMS: 2 * minute,
		Points: []Point{
			{0, 0, 1, 4, 0},
			{1 * minute, 1, 0, 4, 0},
			{3 * minute, 1, 1, 2, 0},
			{4 * minute, 2, 0, 2, 0},
			{5 * minute, 1, 0, 1, 1},
			{6 * minute, 0, 1, 1, 1},
			{7 * minute, 1, 0, 1, 1},
			{12 * minute, 1, 0, 0, 1},
			{13 * minute, 0, 0, 0, 0},
		},
		Phases: &events.Phases{Wait: 1, Run: 6},
		Path: []Step{
			{Number: 0, Job: "smoke", ReadyMS: 0, WaitingMS: 1 * minute, RunningMS: 2 * minute},
			{Number: 2, Job: "long", ReadyMS: 3 * minute, WaitingMS: 2 * minute, RunningMS: 7 * minute},
			{Number: 3, Job: "report", ReadyMS: 12 * minute, RunningMS: 1 * minute},
		},
		Rounds: []Timing{
			{Number: 0, Job: "smoke", WaitingMS: minute, RunningMS: 2 * minute, BegunMS: new(1 * minute), EndedMS: new(3 * minute), Unblocked: []int{1, 2}},
			{Number: 1, Job: "short", BlockedMS: 3 * minute, RunningMS: 2 * minute, BegunMS: new(3 * minute), EndedMS: new(5 * minute)},
			{Number: 2, Job: "long", BlockedMS: 3 * minute, WaitingMS: 2 * minute, RunningMS: 7 * minute, LostMS: 2 * minute, Phases: &events.Phases{Wait: 1, Run: 6}, BegunMS: new(4 * minute), EndedMS: new(12 * minute), Unblocked: []int{3}},
			{Number: 3, Job: "report", BlockedMS: 12 * minute, RunningMS: minute, BegunMS: new(12 * minute), EndedMS: new(13 * minute)},
			{Number: 4, Job: "skipped", BlockedMS: 5 * minute, SkippedMS: 8 * minute, EndedMS: new(13 * minute)},
		},
	}
	if diff := cmp.Diff(want, l, cmpopts.IgnoreFields(Timing{}, "Parts")); diff != "" {
		t.Error(diff)
	}
	if got := l.Slices(13)[4]; got != (Slice{FromMS: 4 * minute, ToMS: 5 * minute, Running: 2, Blocked: 2}) {
		t.Errorf("the fifth minute: %+v", got)
	}
}

// randomRounds returns rounds whose instants are in no order.
func randomRounds(t *rapid.T) []Round {
	var rounds []Round
	for i := range rapid.IntRange(0, 12).Draw(t, "rounds") {
		r := Round{Number: i % 7, Job: events.JobID(fmt.Sprint("j", i)), From: noon, Ready: some(t, "ready"), Ended: some(t, "ended")}
		for range rapid.IntRange(0, 3).Draw(t, "attempts") {
			r.Attempts = append(r.Attempts, Span{From: some(t, "begun"), To: some(t, "over"), Lost: rapid.Bool().Draw(t, "lost")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "skips") {
			r.Skipped = append(r.Skipped, Span{From: some(t, "skipped"), To: some(t, "on")})
		}
		r.Needs = rapid.SliceOfN(rapid.IntRange(0, 8), 0, 3).Draw(t, "needs")
		rounds = append(rounds, r)
	}
	return rounds
}

func TestJobsOverTimeAreTheSumOfTheirTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Follow(randomRounds(t), noon.Add(-time.Minute), noon.Add(time.Duration(rapid.IntRange(-90, 90).Draw(t, "to"))*time.Minute))
		var running, waiting, blocked, skipped int64
		for i, p := range l.Points {
			until := l.To.Sub(l.From).Milliseconds()
			if i+1 < len(l.Points) {
				until = l.Points[i+1].AtMS
			}
			dt := until - p.AtMS
			if dt < 0 || p.Running < 0 || p.Waiting < 0 || p.Blocked < 0 || p.Skipped < 0 || p.AtMS < 0 {
				t.Fatalf("points %+v", l.Points)
			}
			running, waiting, blocked = running+int64(p.Running)*dt, waiting+int64(p.Waiting)*dt, blocked+int64(p.Blocked)*dt
			skipped += int64(p.Skipped) * dt
		}
		var ofJobs Timing
		for _, j := range l.Rounds {
			if j.RunningMS < 0 || j.WaitingMS < 0 || j.BlockedMS < 0 || j.LostMS < 0 || j.LostMS > j.RunningMS {
				t.Fatalf("job %+v", j)
			}
			ofJobs.SkippedMS += j.SkippedMS
			var whole int64
			for i, p := range j.Parts {
				whole += p.ToMS - p.FromMS
				if p.ToMS <= p.FromMS || i > 0 && p.FromMS != j.Parts[i-1].ToMS {
					t.Fatalf("parts %+v", j.Parts)
				}
			}
			if whole != j.RunningMS+j.WaitingMS+j.BlockedMS+j.SkippedMS {
				t.Fatalf("the parts of %+v are %d together", j, whole)
			}
			ofJobs.RunningMS, ofJobs.WaitingMS, ofJobs.BlockedMS = ofJobs.RunningMS+j.RunningMS, ofJobs.WaitingMS+j.WaitingMS, ofJobs.BlockedMS+j.BlockedMS
		}
		if running != ofJobs.RunningMS || waiting != ofJobs.WaitingMS || blocked != ofJobs.BlockedMS || skipped != ofJobs.SkippedMS || skipped != l.SkippedMS || running != l.RunningMS {
			t.Fatalf("over time %d, %d, %d; by jobs %+v; in all %d", running, waiting, blocked, ofJobs, l.RunningMS)
		}
		var parts float64
		for _, s := range l.Slices(rapid.IntRange(1, 20).Draw(t, "slices")) {
			parts += s.Running * float64(s.ToMS-s.FromMS)
		}
		if math.Abs(parts-float64(running)) > 1 {
			t.Fatalf("the slices have %f, the points %d", parts, running)
		}
	})
}

// honest returns rounds as a log of one clock has them: each job of a row of layers is ready when the last one that it needs ends.
func honest(t *rapid.T) (rounds []Round, durations time.Duration) {
	for i := range rapid.IntRange(1, 15).Draw(t, "jobs") {
		r := Round{Number: i, Job: events.JobID(fmt.Sprint("j", i)), From: noon, Ready: noon}
		for _, need := range rapid.SliceOfNDistinct(rapid.IntRange(0, 14), 0, 3, rapid.ID).Draw(t, "needs") {
			if need < i {
				r.Needs = append(r.Needs, need)
				if end := rounds[need].Ended; end.After(r.Ready) {
					r.Ready = end
				}
			}
		}
		now := r.Ready
		for range rapid.IntRange(1, 3).Draw(t, "attempts") {
			begun := now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "wait")) * time.Millisecond)
			now = begun.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "run")) * time.Millisecond)
			r.Attempts = append(r.Attempts, Span{From: begun, To: now, Lost: true})
			durations += now.Sub(begun)
		}
		r.Attempts[len(r.Attempts)-1].Lost = false
		r.Ended = now
		rounds = append(rounds, r)
	}
	return rounds, durations
}

func TestTheCriticalPathHasNoGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds, durations := honest(t)
		end := noon
		for _, r := range rounds {
			if r.Ended.After(end) {
				end = r.Ended
			}
		}
		l := Follow(rounds, noon, end.Add(time.Second))
		if l.RunningMS != durations.Milliseconds() {
			t.Fatalf("running %d, the durations are %s", l.RunningMS, durations)
		}
		at := int64(0)
		for _, s := range l.Path {
			if s.ReadyMS != at {
				t.Fatalf("step %+v begins at %d, the one before ended at %d", s, s.ReadyMS, at)
			}
			at += s.WaitingMS + s.RunningMS
		}
		if at != end.Sub(noon).Milliseconds() {
			t.Fatalf("the path is %d long, the graph took %s", at, end.Sub(noon))
		}
		unblocked := 0
		for _, j := range l.Rounds {
			unblocked += len(j.Unblocked)
		}
		blocked := 0
		for _, r := range rounds {
			if r.Ready.After(noon) {
				blocked++
			}
		}
		if unblocked != blocked {
			t.Fatalf("%d jobs were blocked, %d unblocked", blocked, unblocked)
		}
	})
}
