package watchdog

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/queue"
)

// recent is how many of the last jobs alike tell how long the next will take.
const recent = 10

// lengths are how long the last jobs took, by sort. An estimate may fall back on jobs that are merely similar;
// an alarm may not: a sort without a job of its own is unknown, and unknown is compared with nothing.
type lengths map[queue.Sort][]time.Duration

// tells reports whether a job that finished so tells how long one like it takes: it ran to its end, in one
// piece, and something was measured.
func tells(f events.JobFinished) bool {
	return f.Outcome == events.Success && f.Measured > 0 && f.Skipped == 0 && f.DurationMS > 0
}

func (l lengths) add(s queue.Sort, took time.Duration) {
	list := append(l[s], took)
	l[s] = list[max(len(list)-recent, 0):]
}

// expect returns the median of the last jobs of a sort; unknown without any.
func (l lengths) expect(s queue.Sort) queue.Expected {
	list := l[s]
	if len(list) == 0 {
		return queue.Expected{}
	}
	sorted := slices.Sorted(slices.Values(list))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return queue.Known(low + (high-low)/2)
}
