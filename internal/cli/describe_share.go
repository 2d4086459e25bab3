package cli

import (
	"fmt"

	"github.com/tachobench/tacho/events"
)

// describeShare describes the events of accounts, queues and shares.
func describeShare(f events.ShareFact) string {
	switch f := f.(type) {
	case events.AccountConfigured:
		return fmt.Sprintf("account %s has weight %d and may ask up to priority %s", f.Account, f.Weight, f.MaxPriority) + limited(f.Limits) + named("may", f.May) + named("for branches", f.Branches)
	case events.AccountTokenIssued:
		return fmt.Sprintf("account %s has a new token", f.Account)
	case events.AccountTokenRevoked:
		return fmt.Sprintf("account %s has no token any more", f.Account)
	case events.AccountClosed:
		return join(fmt.Sprintf("account %s is closed", f.Account), f.Reason)
	case events.QueueConfigured:
		s := fmt.Sprintf("queue %s has weight %d", f.Queue, f.Weight)
		if f.Parent != "" {
			s += fmt.Sprintf(" in queue %s", f.Parent)
		}
		return s + when(f.Paused, " and is paused") + some(f.InProgress, "in progress at once") + limited(f.Limits) + named("requires", f.Requires)
	case events.QueueClosed:
		return join(fmt.Sprintf("queue %s is closed", f.Queue), f.Reason)
	case events.SharePolicySet:
		return fmt.Sprintf("floors: default %s, idle %s; lag %s", parts(f.FloorDefault), parts(f.FloorIdle), duration(f.LagMS))
	}
	return ""
}

// limited mentions limits.
func limited(l events.Limits) string {
	return some(l.MaxRunning, "running at most") + some(l.MaxQueued, "jobs waiting at most") + some(l.MaxPending, "requests pending at most")
}

// whose says to whom a dispatch is charged; nothing on a farm that is not shared.
func whose(s *events.Share) string {
	if s == nil {
		return ""
	}
	return ": " + s.Why
}
