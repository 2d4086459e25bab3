package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/internal/hostile"
	"github.com/tachobench/tacho/job"
)

// The projector has the same test: whatever collectors write, both come to the same.
func TestWhateverCollectorsWriteTheSchedulerKnowsWhatIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story := hostile.Draw(t)
		s := told(story.Facts...)
		var got []string
		for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
			got = append(got, hostile.JobWords(id, s.jobs[id].State))
		}
		for _, l := range s.laneOrder {
			work := s.lanes[l].work
			got = append(got, hostile.LaneWords(l, work.Place, work.Phase == job.Current, work.Phase == job.Ended))
		}
		if diff := cmp.Diff(story.Words(), append(got, fmt.Sprint(s.littered, " changed nothing"))); diff != "" {
			t.Fatalf("(-true +known):\n%s", diff)
		}
	})
}
