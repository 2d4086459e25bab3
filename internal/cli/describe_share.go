package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// describeShare describes an event about how the farm is shared, in one line.
func describeShare(f events.ShareFact) string {
	switch f := f.(type) {
	case events.AccountConfigured:
		return fmt.Sprintf("account %s has weight %d, at most priority %s, %d vip", f.Account, f.Weight, f.MaxPriority, f.MaxVIP) + describeLimits(f.Limits)
	case events.AccountTokenIssued:
		return fmt.Sprintf("account %s has a new token", f.Account)
	case events.AccountTokenRevoked:
		return fmt.Sprintf("account %s has no token", f.Account)
	case events.AccountClosed:
		return join("account "+string(f.Account), f.Reason)
	case events.QueueConfigured:
		s := fmt.Sprintf("queue %s has weight %d, order %s", f.Queue, f.Weight, f.Order)
		if f.Parent != "" {
			s += ", part of " + string(f.Parent)
		}
		s += some(f.InProgress, "in progress") + describeLimits(f.Limits)
		if len(f.Members) > 0 {
			s += ", " + phrase.Count(len(f.Members), "member")
		}
		return s + when(f.Paused, ", paused")
	case events.QueueClosed:
		return join("queue "+string(f.Queue), f.Reason)
	case events.SharePolicySet:
		return fmt.Sprintf("tier default has at least %g %%, idle %g %%; lag %s",
			float64(f.FloorDefault)/10, float64(f.FloorIdle)/10, phrase.Duration(time.Duration(f.LagMS)*time.Millisecond))
	}
	return ""
}

func describeLimits(l events.Limits) string {
	return some(l.MaxRunning, "running") + some(l.MaxQueued, "queued") + some(l.MaxPending, "pending")
}

// describePlace describes who asks for a request, where it waits and how urgently; empty on a farm that nobody shares.
func describePlace(f events.RequestCreated) string {
	var parts []string
	if f.Account != "" {
		parts = append(parts, "account "+string(f.Account))
	}
	if f.Queue != events.QueueName(f.Account) {
		parts = append(parts, "queue "+string(cmp.Or(f.Queue, events.MainQueue)))
	}
	if f.Priority != "" {
		parts = append(parts, "priority "+f.Priority.String())
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
