package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// A delivery that has to be read from the log is handled like one whose body was kept.
func TestWhatWasNotKeptIsHandled(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		var all []string
		for i := range ledger.MaxHeld/inline + 3 {
			c := from(int64(100+i), alice, "@tacho build "+merged+strings.Repeat(" ", inline-2000))
			c.pr = 1000 + i
			all = append(all, r.post("issue_comment", c.payload()))
		}
		r.run()
		pass(time.Minute)
		for _, id := range all {
			if h := r.handled(id); h.Outcome != events.DeliveryAccepted {
				t.Fatalf("%+v", h)
			}
		}
	})
}
