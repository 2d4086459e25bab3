package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"pgregory.net/rapid"
)

// In any order of times: jobs are due exactly when an hour is over in which a remaining job ended.
func TestRetentionKnowsWhatIsLeft(t *testing.T) {
	epoch := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var r Retention
		var left []int
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			minute := rapid.IntRange(0, 1000).Draw(t, "minute")
			at := epoch.Add(time.Duration(minute) * time.Minute)
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				r.retired(events.JobsRetired{EndedBefore: at.Format(time.RFC3339)}, at)
				left = slices.DeleteFunc(left, func(m int) bool { return m/60 < minute/60 })
			} else {
				r.add(at)
				left = append(left, minute)
			}
			hours := map[int64]bool{}
			for _, m := range left {
				hours[epoch.Unix()/hour+int64(m/60)] = true
			}
			if got := fmt.Sprint(r.Hours); len(hours) != len(r.Hours) || !slices.IsSorted(r.Hours) {
				t.Fatalf("left are %v, want %v", got, hours)
			}
			for m := range 1001 {
				want := slices.ContainsFunc(left, func(l int) bool { return l/60 < m/60 })
				if got := r.Due(epoch.Add(time.Duration(m) * time.Minute)); got != want {
					t.Fatalf("due at minute %d: %t, want %t", m, got, want)
				}
			}
		}
	})
}
