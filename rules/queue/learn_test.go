package queue

import (
	"testing"
	"time"
)

func TestARequestTellsHowLongItsOwnJobsTake(t *testing.T) {
	unknown, minutes := Expected{}, func(n int) Expected { return Known(time.Duration(n) * time.Minute) }
	var nothing, running, ended Own
	running.Runs(10*time.Minute, 5)
	ended.Ended(12*time.Minute, 6)
	ended.Ended(20*time.Minute, 10)
	ended.Ended(time.Second, 0) // a job with nothing to measure
	ended.Ended(0, 6)           // a clock that was set back
	for _, test := range []struct {
		name      string
		got, want Expected
	}{
		{"nothing is known", nothing.Expect(6), unknown},
		{"the job has not measured anything", nothing.ExpectRunning(10*time.Minute, 0, 6), unknown},
		{"five sixths of the job are done", nothing.ExpectRunning(10*time.Minute, 5, 6), minutes(12)},
		{"it has more test cases than it should", nothing.ExpectRunning(10*time.Minute, 7, 6), minutes(10)},
		{"nobody knows how many it has", nothing.ExpectRunning(10*time.Minute, 5, 0), unknown},
		{"another job has as many to measure as the one that runs", running.Expect(6), minutes(12)},
		{"nobody knows how many that has", running.Expect(0), unknown},
		{"jobs have ended", ended.Expect(3), minutes(6)},
		{"jobs have ended, and test cases are not known", ended.Expect(0), minutes(16)},
		{"jobs have ended, and this one has just begun", ended.ExpectRunning(time.Second, 0, 3), minutes(6)},
		{"absurd", running.Expect(1 << 60), Known(longest)},
	} {
		if test.got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, test.got, test.want)
		}
	}
}
