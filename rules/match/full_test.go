package match

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// found is the end of a job that found too little memory.
func found(free int64) events.AttemptReleased {
	return events.AttemptReleased{Token: 1, HostFull: &events.HostFull{ReservedMiB: 8192, FreeMiB: free}}
}

func TestAFullMachineIsTriedMoreAndMoreSeldom(t *testing.T) {
	at := time.Unix(0, 0)
	var f *Full
	for n, want := range []struct{ only, others time.Duration }{
		{30 * time.Second, 30 * time.Second},
		{time.Minute, time.Minute},
		{2 * time.Minute, 2 * time.Minute},
		{4 * time.Minute, 4 * time.Minute},
		{4 * time.Minute, 8 * time.Minute},
		{4 * time.Minute, 16 * time.Minute},
		{4 * time.Minute, 30 * time.Minute},
	} {
		f = f.After(found(int64(n)), Ended{At: at, Seq: events.Seq(n + 1)})
		if f.Until(false) != at.Add(want.only) || f.Until(true) != at.Add(want.others) || f.Times != n+1 || f.FreeMiB != int64(n) {
			t.Errorf("after %d times: %+v, until %v or %v", n+1, f, f.Until(false), f.Until(true))
		}
	}
	if f.Alarm.FreeMiB != FullAlarm-1 || f.AlarmBy != FullAlarm {
		t.Errorf("the alarm is %+v by %d", f.Alarm, f.AlarmBy)
	}
}

func TestAJobThatRanTellsOfFreeMemory(t *testing.T) {
	before := (*Full)(nil).After(found(4096), Ended{Seq: 7})
	for name, tc := range map[string]struct {
		fact     events.WorkFact
		requires string
		ran      time.Duration
		full     bool
	}{
		"it has ended":         {events.JobFinished{Token: 8, Outcome: events.Failure}, "memory=5g", 0, false},
		"it was cancelled":     {events.JobFinished{Token: 8, Outcome: events.Cancelled}, "memory=5g", time.Second, true},
		"cancelled after long": {events.JobFinished{Token: 8, Outcome: events.Cancelled}, "memory=5g", FullRan, false},
		"it is small":          {events.JobFinished{Token: 8, Outcome: events.Success}, "memory=4g", FullRan, true},
		"it began before":      {events.JobFinished{Token: 6, Outcome: events.Success}, "memory=5g", FullRan, true},
		"it was lost":          {events.AttemptLost{Token: 8}, "memory=5g", FullRan, false},
		"it was given back":    {events.AttemptReleased{Token: 8}, "memory=5g", time.Second, true},
		"it moved":             {events.JobMoved{}, "memory=5g", FullRan, true},
		"of a newer program":   {events.JobFinished{Token: 8, Outcome: events.Success}, "colour=red", FullRan, true},
	} {
		after := before.After(tc.fact, Ended{Seq: 9, Ran: tc.ran, Requires: []string{tc.requires}})
		if (after != nil) != tc.full {
			t.Errorf("%s: %+v", name, after)
		}
	}
	if f := (*Full)(nil).After(events.JobFinished{Token: 8, Outcome: events.Success}, Ended{}); f != nil || f.Lacks(Requirement{memory: 1}) {
		t.Errorf("a machine that was not full: %+v", f)
	}
}
