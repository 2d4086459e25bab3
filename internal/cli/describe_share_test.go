package cli

import (
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestSharesAreDescribed(t *testing.T) {
	for want, f := range map[string]events.Fact{
		"try request r1 for b: artifacts_ready":                                 events.RequestCreated{Kind: "try", RequestID: "r1", Tag: "b", State: "artifacts_ready"},
		"try request r1 for b, by a, in queue q, priority low: artifacts_ready": events.RequestCreated{Kind: "try", RequestID: "r1", Tag: "b", State: "artifacts_ready", Account: "a", Queue: "q", Priority: "low"},
		"account a has weight 10 and may ask up to priority high":               events.AccountConfigured{Account: "a", Weight: 10, MaxPriority: "high", MaxVIP: 3},
		"account a has weight 10 and may ask up to priority high, may request cancel, for branches try/* main": events.AccountConfigured{
			Account: "a", Weight: 10, MaxPriority: "high", MaxVIP: 3, May: []events.Right{"request", "cancel"}, Branches: []string{"try/*", "main"},
		},
		"account a has a new token":                                            events.AccountTokenIssued{Account: "a"},
		"account a has no token any more":                                      events.AccountTokenRevoked{Account: "a"},
		"account a is closed: left":                                            events.AccountClosed{Account: "a", Reason: "left"},
		"queue q has weight 5 in queue p and is paused, 1 in progress at once": events.QueueConfigured{Queue: "q", Parent: "p", Weight: 5, Order: "fifo", InProgress: 1, Paused: true},
		"queue q is closed":                                                    events.QueueClosed{Queue: "q"},
		"floors: default 10 %, idle 0.5 %; lag 1 h":                            events.SharePolicySet{FloorDefault: 100, FloorIdle: 5, LagMS: 3_600_000},
	} {
		if got := describe(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
