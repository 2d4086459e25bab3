package hook

import (
	"path"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// Filter says which events a hook is on.
type Filter struct {
	// On are names of types without version, or patterns with "*".
	On []string
	// Queue and Account, unless empty, leave only events about requests in the queue, or of the account.
	Queue   events.QueueName
	Account events.AccountName
}

// on reports whether the hook is on a type.
func (f Filter) on(name string) bool {
	return name != "" && slices.ContainsFunc(f.On, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	})
}

// passes reports whether a fact is about a request that the hook is on. The ledger holds the fact.
func (f Filter) passes(l *ledger.Ledger, fact events.Fact) bool {
	if f.Queue == "" && f.Account == "" {
		return true
	}
	queue := f.Queue
	if queue == events.MainQueue {
		queue = "" // as requests have it
	}
	return slices.ContainsFunc(requestsOf(l, fact), func(id events.RequestID) bool {
		r, ok := l.Requests[id]
		return ok && (f.Queue == "" || r.Queue == queue) && (f.Account == "" || r.Account == f.Account)
	})
}

// requestsOf returns the requests that a fact is about. A job belongs to the request that had it made.
func requestsOf(l *ledger.Ledger, fact events.Fact) []events.RequestID {
	// The others are about no request.
	//exhaustive:ignore
	switch f := fact.(type) {
	case events.RequestFact:
		return []events.RequestID{f.Whose()}
	case events.AdmissionFact:
		return []events.RequestID{f.Whose()}
	case events.TryQueued:
		return []events.RequestID{f.RequestID}
	case events.JobDispatched:
		return []events.RequestID{f.Job.RequestID}
	case events.WorkFact:
		return []events.RequestID{l.MakerOf(f.Which())}
	case events.ResultFact:
		return []events.RequestID{l.MakerOf(f.Which())}
	case events.JobsMatched:
		ids := make([]events.RequestID, 0, len(f.Bindings))
		for _, b := range f.Bindings {
			ids = append(ids, l.MakerOf(b.JobID))
		}
		return ids
	case events.CommentWanted:
		return []events.RequestID{f.RequestID}
	case events.DeliveryHandled:
		return f.Requests
	}
	return nil
}

// counts reports whether the ledger believes a fact. It holds the fact.
func counts(l *ledger.Ledger, e events.Recorded) bool {
	f, ok := e.Fact.(events.WorkFact)
	if !ok {
		return true
	}
	lane := l.Lanes[f.Where()]
	return lane != nil && !lane.Forged[e.Seq]
}
