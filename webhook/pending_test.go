package webhook

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// What an account may have, and what the farm takes, is the same for comments as for the API.
func TestTooManyRequestsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		account, farm int
		want          string
	}{
		"of the account": {1, 0, "Account gh-alice has 1 request that has not ended, and may have 1 (max_pending)"},
		"of all":         {0, 1, "1 request has not ended, and the farm takes no more than 1"},
		"no limit":       {0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				r.rules.Accounts = true
				operator := control.By{Actor: "test", Source: "test"}
				if tc.account > 0 {
					if _, err := r.control().ConfigureAccount(t.Context(), operator, "gh-alice", control.AccountChange{MaxPending: &tc.account}); err != nil {
						t.Fatal(err)
					}
				}
				b := r.bot()
				b.Control.MaxPending = tc.farm
				CountPending(b.Control, b.Ledger)
				r.start(b)
				if h := r.deliver("issue_comment", by(alice, "@tacho queue").payload()); h.Outcome != events.DeliveryAccepted {
					t.Fatalf("the first: %+v", h)
				}
				second := by(alice, "@tacho queue")
				second.id, second.pr = second.id+1, 15
				h := r.deliver("issue_comment", second.payload())
				if made := len(facts[events.RequestCreated](r)); tc.want == "" {
					if h.Outcome != events.DeliveryAccepted || made != 2 {
						t.Errorf("the second: %+v", h)
					}
					return
				} else if h.Outcome != events.DeliveryRefused || made != 1 {
					t.Errorf("the second: %+v", h)
				}
				if got := r.lastAnswer(); !strings.Contains(got, tc.want) || !strings.Contains(got, "wait until some have ended") {
					t.Errorf("answer %q", got)
				}
			})
		})
	}
}
