package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"pgregory.net/rapid"
)

// Whatever the order of the times, there is something to retire exactly when a job ended before.
func TestRetentionKnowsWhatIsLeft(t *testing.T) {
	epoch := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var r Retention
		var left []int
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			minute := rapid.IntRange(0, 100).Draw(t, "minute")
			at := epoch.Add(time.Duration(minute) * time.Minute)
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				r.retired(events.JobsRetired{EndedBefore: at.Format(time.RFC3339)}, at)
				left = slices.DeleteFunc(left, func(m int) bool { return m < minute })
			} else {
				r.add(at)
				left = append(left, minute)
			}
			slices.Sort(left)
			var got []int
			for _, e := range r.Ended {
				got = append(got, int(e.Sub(epoch)/time.Minute))
			}
			if fmt.Sprint(got) != fmt.Sprint(left) {
				t.Fatalf("left are %v, want %v", got, left)
			}
		}
	})
}
