package scheduler

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// A machine whose own commands fail three times in a row is taken out, also if that is always the same job. A job that ends
// in between shows that it works again.
func TestAMachineThatIsNeverReadyIsQuarantined(t *testing.T) {
	for name, tc := range map[string]struct {
		story string
		want  bool
	}{
		"three times":             {"uuu", true},
		"two times":               {"uu", false},
		"a job ends in between":   {"uufu", false},
		"activated in between":    {"uuau", false},
		"shutdowns count nothing": {"usus", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lives{s: shared(events.JobsCreated{RequestID: "r1", Jobs: []events.JobSpec{
				{ID: "j0", Target: "here", Artifact: events.Artifact{Suite: "s", Tag: "t0"}}, {ID: "j1", Target: "here", Artifact: events.Artifact{Suite: "s", Tag: "t1"}},
			}})}
			next := true
			for _, what := range tc.story {
				if what == 'a' {
					l.say(events.CollectorActivated{Name: "a"})
					continue
				}
				token := l.begin("a", next)
				released := events.AttemptReleased{Lane: shareLane, Place: l.place, JobID: l.job(), Collector: "a", Token: token, Reason: "no governor"}
				switch next = what == 'f'; what {
				case 'u':
					released.Unready = true
					l.say(released)
				case 's':
					l.say(released)
				case 'f':
					l.say(events.JobFinished{Lane: shareLane, Place: l.place, JobID: l.job(), Collector: "a", Token: token, Outcome: events.Success})
				}
			}
			if l.s.Littered > 0 {
				t.Fatalf("the story contradicts itself: %+v", l.s.Litter)
			}
			got := decideQuarantine(l.s, Policy{QuarantineAfter: 3})
			if (len(got) == 1) != tc.want {
				t.Fatalf("got %+v", got)
			}
			if tc.want && !strings.Contains(got[0].facts[0].(events.CollectorQuarantined).Reason, "could not be made ready 3 times in a row, the last: no governor") {
				t.Errorf("got %+v", got[0].facts)
			}
		})
	}
}
