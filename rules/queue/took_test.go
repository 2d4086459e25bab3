package queue

import (
	"math"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

func TestTook(t *testing.T) {
	month := (30 * 24 * time.Hour).Milliseconds()
	usual := events.JobFinished{Outcome: events.Success, Attempt: 1, Measured: 3, DurationMS: 1000}
	for _, test := range []struct {
		name    string
		command bool
		change  func(*events.JobFinished)
		want    time.Duration // 0 if it tells nothing
	}{
		{"a measurement", false, func(*events.JobFinished) {}, time.Second},
		{"one that waited for its turn", false, func(f *events.JobFinished) { f.Phases = &events.Phases{Wait: 400, Run: 600} }, 600 * time.Millisecond},
		{"one that did nothing but wait", false, func(f *events.JobFinished) { f.Phases = &events.Phases{Wait: 1000} }, 0},
		{"one that waited longer than it took", false, func(f *events.JobFinished) { f.Phases = &events.Phases{Wait: math.MaxInt64} }, 0},
		{"a negative wait", false, func(f *events.JobFinished) { f.Phases = &events.Phases{Wait: math.MinInt64} }, time.Second},
		{"a failure", false, func(f *events.JobFinished) { f.Outcome = events.Failure }, 0},
		{"a cancelled one", false, func(f *events.JobFinished) { f.Outcome = events.Cancelled }, 0},
		{"one that has measured nothing", false, func(f *events.JobFinished) { f.Measured = 0 }, 0},
		{"commands, which measure nothing", true, func(f *events.JobFinished) { f.Measured = 0 }, time.Second},
		{"commands that failed", true, func(f *events.JobFinished) { f.Measured, f.Outcome = 0, events.Failure }, 0},
		{"the rest of another attempt", false, func(f *events.JobFinished) { f.Skipped = 1 }, 0},
		{"a second attempt", true, func(f *events.JobFinished) { f.Attempt = 2 }, 0},
		{"one that took over another run", true, func(f *events.JobFinished) { f.ReusedFrom = "j" }, 0},
		{"no time", false, func(f *events.JobFinished) { f.DurationMS = 0 }, 0},
		{"a clock that was set back", false, func(f *events.JobFinished) { f.DurationMS = -5 }, 0},
		{"thirty days", false, func(f *events.JobFinished) { f.DurationMS = month }, 30 * 24 * time.Hour},
		{"more than thirty days", false, func(f *events.JobFinished) { f.DurationMS = month + 1 }, 0},
		{"a clock that was set far ahead", false, func(f *events.JobFinished) { f.DurationMS = math.MaxInt64 }, 0},
	} {
		f := usual
		test.change(&f)
		if got, tells := Took(f, !test.command); got != test.want || tells != (test.want > 0) {
			t.Errorf("%s: %v, %v; want %v", test.name, got, tells, test.want)
		}
	}
}
