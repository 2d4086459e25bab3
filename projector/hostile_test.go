package projector

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/job"
)

// The scheduler has the same test: whatever collectors write, both come to the same.
func TestWhateverCollectorsWriteTheProjectorKnowsWhatIsTrue(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		story := hostile.Draw(t)
		s := newState(1)
		for i, f := range story.Facts {
			s.fold(newFact(events.Recorded{Seq: events.Seq(i + 1), Event: events.Event{Time: noon, Fact: f}}))
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
			got = append(got, hostile.JobWords(id, s.jobs[id].State))
		}
		for l := range story.Lanes {
			if s.works[l] == nil {
				s.works[l] = &laneRow{}
			}
		}
		for _, l := range slices.SortedFunc(maps.Keys(s.works), func(a, b events.Lane) int { return int(a.Set - b.Set) }) {
			row := s.works[l]
			got = append(got, hostile.LaneWords(l, row.Place, row.Phase == job.Current, row.Phase == job.Ended))
			if running := s.lanes[l]; (running != nil) != (row.Phase == job.Current) || running != nil && running.Token != row.Token {
				t.Fatalf("lane %s is %+v, and its attempt %+v", l, row, running)
			}
		}
		if diff := cmp.Diff(story.Words(), append(got, fmt.Sprint(s.stale, " changed nothing"))); diff != "" {
			t.Fatalf("(-true +known):\n%s", diff)
		}
	})
}
