package queue

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Took returns how long a job took that others are expected to take as well; false if its end tells nothing of them.
// measures says that the job measures benchmarks: one that has measured none did nothing. Jobs that failed, went on where
// another attempt had stopped, were tried again or took over the end of an earlier run tell nothing, and a clock that was
// moved does not either. What a job waited for its turn on the machine is no part of its length.
func Took(f events.JobFinished, measures bool) (time.Duration, bool) {
	ms := f.DurationMS
	if f.Phases != nil && f.Phases.Wait > 0 {
		ms -= min(f.Phases.Wait, ms)
	}
	tells := f.Outcome == events.Success && f.Attempt <= 1 && f.Skipped == 0 && f.ReusedFrom == "" && (f.Measured > 0 || !measures)
	if !tells || ms <= 0 || ms > longest.Milliseconds() {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}
