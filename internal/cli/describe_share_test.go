package cli

import (
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestSharesAreDescribed(t *testing.T) {
	for want, f := range map[string]events.Fact{
		"try request r1 for b: artifacts_ready":                                                   events.RequestCreated{Kind: "try", RequestID: "r1", Tag: "b", State: "artifacts_ready"},
		"try request r1 for b: artifacts_ready (account a)":                                       events.RequestCreated{Kind: "try", RequestID: "r1", Tag: "b", State: "artifacts_ready", Account: "a", Queue: "a"},
		"try request r1 for b: artifacts_ready (account a, queue main, priority low)":             events.RequestCreated{Kind: "try", RequestID: "r1", Tag: "b", State: "artifacts_ready", Account: "a", Priority: "low"},
		"request r1 has priority normal: no hurry":                                                events.PriorityChanged{RequestID: "r1", Reason: "no hurry"},
		"account a has weight 10, at most priority high, 3 vip, 2 pending":                        events.AccountConfigured{Account: "a", Weight: 10, MaxPriority: "high", MaxVIP: 3, Limits: events.Limits{MaxPending: 2}},
		"account a has a new token":                                                               events.AccountTokenIssued{Account: "a"},
		"account a has no token":                                                                  events.AccountTokenRevoked{Account: "a"},
		"account a: left":                                                                         events.AccountClosed{Account: "a", Reason: "left"},
		"queue q has weight 5, order fifo, part of p, 1 in progress, 1 running, 1 member, paused": events.QueueConfigured{Queue: "q", Parent: "p", Weight: 5, Order: "fifo", InProgress: 1, Limits: events.Limits{MaxRunning: 1}, Members: []events.AccountName{"a"}, Paused: true},
		"queue q": events.QueueClosed{Queue: "q"},
		"tier default has at least 10 %, idle 0.5 %; lag 1 h": events.SharePolicySet{FloorDefault: 100, FloorIdle: 5, LagMS: 3_600_000},
	} {
		if got := describe(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
