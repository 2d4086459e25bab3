package watchdog

import (
	"testing"
	"time"
)

// The clock of the machine is set while a job runs and while jobs wait for a collector. Neither lasts longer by that.
func TestAClockThatIsSetRaisesNoAlert(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		var m moments
		look := func(now, told time.Time) (age time.Duration) {
			m.look()
			age = now.Sub(m.since("x", told, now))
			m.done()
			return age
		}
		now := time.Now() // with a reading of the clock that never jumps
		if age := look(now, now.Round(0).Add(-5*time.Minute)); age != 5*time.Minute {
			t.Errorf("the first look: %s", age)
		}
		told := now.Round(0).Add(jump) // by another clock, which is wrong
		for _, passed := range []time.Duration{0, time.Minute, time.Hour} {
			if age := look(now.Add(passed), told); age != passed {
				t.Errorf("a clock that is off by %s, after %s: %s", jump, passed, age)
			}
		}
		if age := look(now.Add(time.Hour), now.Round(0).Add(time.Hour-time.Second)); age != time.Second {
			t.Errorf("told a second ago: %s", age)
		}
		look(now, time.Time{})
		if len(m.all) != 0 {
			t.Errorf("it keeps %v", m.all)
		}
	}
}
