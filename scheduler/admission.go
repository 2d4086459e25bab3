package scheduler

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/share"
)

// The bounds of the starts of one append. A JobsCreated takes at most 200 jobs.
const (
	startsAtOnce = 100
	jobsAtOnce   = 2000
)

// decideAdmission starts the first request of a queue that can start, or makes jobs for one that has started: for a
// parent that appeared late, in place of cancelled jobs, or for a wish. The admission subject serialises all of this:
// so a job is made only once. A queue without limits starts all that can start together. Requests start before samples are
// made, which come last on the lanes, too: a crowd of wishes keeps no request waiting.
func decideAdmission(s *state, p Policy, now time.Time) (decision, bool) {
	late := slices.AppendSeq(slices.Collect(maps.Keys(s.Late)), maps.Keys(s.Torn))
	slices.Sort(late)
	for _, id := range slices.Compact(late) {
		r := s.Pending[id]
		if parent, known := s.ParentOf(r); known && !s.Backfilled[id] {
			if d, ok := decideLateBackfill(s, r, parent, now); ok {
				return d, true
			}
		}
		if d, ok := decideAgain(s, r); ok {
			return d, true
		}
	}
	if d, ok := decideAmends(s); ok {
		return d, true
	}
	wishing := nextWishes(s)
	for _, r := range wishing {
		if !r.Wishes[0].Kind.Sampled() {
			return decideWish(s, r, p), true
		}
	}
	// Those who have least waiting come first: a crowd in one queue must not delay the first request of another.
	queues := slices.SortedFunc(maps.Keys(s.Ready), func(a, b events.QueueName) int {
		return cmp.Or(cmp.Compare(s.Seats.In[a], s.Seats.In[b]), cmp.Compare(a, b))
	})
	for _, name := range queues {
		if d, ok := decideQueue(s, p, name, now); ok {
			return d, true
		}
	}
	if len(wishing) > 0 {
		return decideWish(s, wishing[0], p), true
	}
	return decision{}, false
}

// nextWishes returns the requests with unanswered wishes, those first that got the fewest answers so far: an endless asker
// delays the others a little.
func nextWishes(s *state) []*request.Request {
	list := make([]*request.Request, 0, len(s.Wishing))
	for id := range s.Wishing {
		list = append(list, s.Requests[id])
	}
	slices.SortFunc(list, func(a, b *request.Request) int {
		return cmp.Or(cmp.Compare(len(a.Asked)-len(a.Wishes), len(b.Asked)-len(b.Wishes)), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// decideQueue starts requests of one queue: the first that can, and of a queue without limits also others.
func decideQueue(s *state, p Policy, name events.QueueName, now time.Time) (decision, bool) {
	limit := s.Queues[name].InProgress
	if name == "" {
		limit = p.MaxInProgress
	}
	if s.Seats.All+s.Blocked >= cmp.Or(p.MaxWaiting, usualWaiting) || !s.mayStartAny(name, limit) {
		return decision{}, false
	}
	var first *decision
	jobs := map[events.JobID]bool{} // those that the starts so far make
	for place := range s.startable(name) {
		r := s.Pending[place.ID]
		if limit > 0 && s.InProgress[ledger.Stand{Queue: name, Tier: place.CountsAs.Tier()}] >= limit || !s.mayStart(r) ||
			r.Troubles().Failures > 0 && now.Sub(r.Troubles().FailedAt).Abs() < p.ExpansionRetry {
			continue
		}
		d, ok := decideStart(s, r, place.Reason, now)
		switch {
		case !ok:
			continue
		case first == nil:
			first = &d
		case !d.starts() || !fits(d, jobs):
			return *first, true
		default:
			first.beside = append(first.beside, d)
		}
		if limit > 0 || s.limited(r) || !d.starts() || len(first.beside)+1 >= startsAtOnce || len(jobs) >= jobsAtOnce {
			return *first, true
		}
		d.eachJob(func(id events.JobID) { jobs[id] = true })
	}
	if first == nil {
		return decision{}, false
	}
	return *first, true
}

// fits reports whether a start needs none of the jobs that others make in the same append, and is small enough for it.
func fits(d decision, jobs map[events.JobID]bool) bool {
	fits, n := true, 0
	d.eachJob(func(id events.JobID) { fits, n = fits && !jobs[id], n+1 })
	return fits && len(jobs)+n <= jobsAtOnce
}

// starts reports whether the decision starts a request.
func (d decision) starts() bool {
	_, ok := d.facts[0].(events.RequestAdmitted)
	return ok
}

// eachJob calls f with the jobs that a start makes.
func (d decision) eachJob(f func(events.JobID)) {
	for _, fact := range d.facts {
		if made, ok := fact.(events.JobsCreated); ok {
			for _, spec := range made.Jobs {
				f(spec.ID)
			}
		}
	}
}

// startable returns the places of a queue whose requests can start, in the order in which they should: by tier, then by
// the account that has had least, then by the queue's own order.
func (s *state) startable(name events.QueueName) iter.Seq[queue.Place] {
	if s.Front != nil && s.Front.Knows() {
		return s.Front.Each
	}
	return slices.Values(s.inOrder(name))
}

// inOrder returns the same, from the order of all requests of the queue.
func (s *state) inOrder(name events.QueueName) (places []queue.Place) {
	if s.OrderOf(name) == events.OrderFIFO {
		places = queue.Line(s.entries(name), s.Tags.Done)
	} else {
		places = queue.Order(s.entries(name), s.Tags.Done)
	}
	places = slices.DeleteFunc(places, func(p queue.Place) bool { return p.State != events.StateArtifactsReady || !p.Startable })
	if !s.Shared {
		return places
	}
	leaf := func(p queue.Place) share.Leaf {
		return share.Leaf{Tier: p.CountsAs.Tier(), Queue: name, Account: s.Pending[p.ID].Account}
	}
	slices.SortStableFunc(places, func(a, b queue.Place) int {
		x, y := leaf(a), leaf(b)
		if x.Tier != y.Tier {
			return cmp.Compare(a.CountsAs.Level(), b.CountsAs.Level())
		}
		return s.Tree.Before(x, y)
	})
	return places
}

// entries returns the requests of a queue that its order depends on.
func (s *state) entries(name events.QueueName) []queue.Entry {
	var entries []queue.Entry
	add := func(r *request.Request) { entries = append(entries, ledger.EntryOf(r)) }
	if s.OrderOf(name) == events.OrderFIFO {
		for id := range s.Ready[name] {
			add(s.Pending[id])
		}
		return entries
	}
	for _, r := range s.Pending {
		if r.Queue == name {
			add(r)
		}
	}
	return entries
}

// mayStartAny reports whether the queue has room for another request in any tier.
func (s *state) mayStartAny(name events.QueueName, limit int) bool {
	q := s.Queues[name]
	if q.Paused || q.MaxQueued > 0 && s.Seats.In[name] >= q.MaxQueued {
		return false
	}
	for _, tier := range []events.Tier{events.TierVIP, events.TierDefault, events.TierIdle} {
		if at := (ledger.Stand{Queue: name, Tier: tier}); s.Outside[at] > 0 && (limit == 0 || s.InProgress[at] < limit) {
			return true
		}
	}
	return false
}

// usualWaiting bounds the jobs that wait if the policy does not.
const usualWaiting = 100_000

// mayStart reports whether the account of a request has room for it.
func (s *state) mayStart(r *request.Request) bool {
	if r.Account == "" {
		return true
	}
	a := s.Account(r.Account)
	return (a.MaxQueued == 0 || s.Seats.Of[r.Account] < a.MaxQueued) &&
		(r.Priority.Tier() != events.TierVIP || s.VIPs[r.Account] < a.MaxVIP)
}

// limited reports whether the start of one request of an account or queue can end the room for the next.
func (s *state) limited(r *request.Request) bool {
	return s.Queues[r.Queue].MaxQueued > 0 || s.Account(r.Account).MaxQueued > 0 || r.Priority.Tier() == events.TierVIP
}
