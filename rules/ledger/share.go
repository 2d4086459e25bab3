package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/share"
)

// A job that waits for dispatch stands in the tree of shares, once for each account and queue that wants it. There it is
// one of an item: the jobs for one lane that one request had made. A farm without accounts and queues has one leaf, so
// its tree gives the order of the requests alone.

// startsSharing reports whether a fact makes the farm a shared one, for ever.
func startsSharing(f events.Fact) bool {
	// The others share nothing.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.ShareFact, events.MachineFact:
		return true
	case events.PriorityChanged:
		return f.Graph == nil // samples have priorities of their own on every farm
	case events.RequestCreated:
		return f.Account != "" || f.Queue != "" || f.Priority != "" || len(f.Requires) > 0
	}
	return false
}

// foldShare applies a fact about how the farm is shared.
func (l *Ledger) foldShare(f events.ShareFact) {
	switch f := f.(type) {
	case events.AccountConfigured:
		l.Accounts[f.Account] = f
		l.Tree.SetAccount(f.Account, share.Account{Weight: f.Weight, MaxRunning: f.MaxRunning})
	case events.QueueConfigured:
		if f.Queue == events.MainQueue {
			f.Queue = "" // as its requests have it
		}
		var jobs []events.JobID
		if l.OrderOf(f.Queue) != f.Order {
			jobs = slices.Sorted(maps.Keys(l.Jobs)) // each touches its lane: the same log, the same order
		}
		l.reseat(jobs, func() { l.Queues[f.Queue] = f })
		l.Tree.SetQueue(f.Queue, share.Queue{Parent: f.Parent, Weight: f.Weight, MaxRunning: f.MaxRunning, Paused: f.Paused})
	case events.SharePolicySet:
		l.Tree.SetPolicy(share.Policy{FloorDefault: f.FloorDefault, FloorIdle: f.FloorIdle, LagMS: f.LagMS})
	case events.AccountClosed, events.QueueClosed, events.AccountTokenIssued, events.AccountTokenRevoked:
	}
}

// OrderOf returns the order of the requests of one account in a queue.
func (l *Ledger) OrderOf(name events.QueueName) events.QueueOrder {
	switch q, ok := l.Queues[name]; {
	case ok && q.Order != "":
		return q.Order
	case name == "":
		return events.OrderLevels
	}
	return events.OrderFIFO
}

// Account returns the settings of an account.
func (l *Ledger) Account(name events.AccountName) events.AccountConfigured {
	if a, ok := l.Accounts[name]; ok {
		return a
	}
	return events.UsualAccount(name)
}

// LeafOf returns where the jobs of a request wait.
func LeafOf(r *request.Request) share.Leaf {
	return share.Leaf{Tier: r.Priority.Tier(), Queue: r.Queue, Account: r.Account}
}

// seats calls f with each leaf in which a waiting job stands, and its item there.
func (l *Ledger) seats(j *Job, f func(share.Leaf, share.Item)) {
	maker, ok := l.Requests[j.of.request]
	if !ok || j.State != events.JobQueued || j.Place > 0 || !j.lined {
		return
	}
	var leaves []share.Leaf // a job has few wanters
	var levels []int8
	for _, w := range j.wantedBy() {
		r, known := l.Requests[w.Request]
		if !known || w.Looks || !w.Repair && r.State == events.StateCancelled {
			continue
		}
		leaf, level := LeafOf(r), int8(r.Priority.Level())
		if j.Sampled() {
			priority := l.PriorityFor(r, j)
			leaf.Tier, level = priority.Tier(), int8(priority.Level())
		}
		if i := slices.Index(leaves, leaf); i >= 0 {
			levels[i] = min(levels[i], level)
			continue
		}
		leaves, levels = append(leaves, leaf), append(levels, level)
	}
	for i, leaf := range leaves {
		f(leaf, l.item(maker, leaf.Queue, levels[i]))
	}
}

// item returns the item of the jobs that a request had made, in a queue.
func (l *Ledger) item(maker *request.Request, queue events.QueueName, level int8) share.Item {
	at, pr := maker.StartedAt, maker.PR
	if l.OrderOf(queue) == events.OrderFIFO {
		at, pr = maker.CreatedAt, 0
	}
	return share.Item{Level: level, Keys: [3]int64{at.Unix(), int64(at.Nanosecond()), int64(pr)}, ID: maker.ID}
}

// seat is a place of one job in the tree. One that is empty counts, and never has its turn: no collector of the lane can execute
// the job.
type seat struct {
	leaf  share.Leaf
	class share.Class
	item  share.Item
	empty bool
}

// reseat makes a change that the seats of some jobs may depend on. The new seats are taken before the old ones are
// left, so that an account that has a job in both does not leave and join again.
func (l *Ledger) reseat(jobs []events.JobID, change func()) {
	before := l.seatsOf(jobs)
	change()
	l.sit(l.seatsOf(jobs))
	for _, s := range before {
		if !s.empty {
			l.Tree.Remove(s.leaf, s.class, s.item)
		}
		l.Seats.add(s.leaf, -1)
	}
}

func (l *Ledger) sit(seats []seat) {
	for _, s := range seats {
		if !s.empty {
			l.Tree.Add(s.leaf, s.class, s.item)
		}
		l.Seats.add(s.leaf, 1)
	}
}

// Seats counts the jobs that wait for dispatch: all of them, those of each queue, and those of each account. A job that
// several want counts for each.
type Seats struct {
	All int
	In  map[events.QueueName]int
	Of  map[events.AccountName]int
}

func (q *Seats) add(at share.Leaf, n int) {
	q.All += n
	add(q.In, at.Queue, n)
	add(q.Of, at.Account, n)
}

// seatsOf returns the seats of some jobs. A list may name a job twice; it has its seats once.
func (l *Ledger) seatsOf(jobs []events.JobID) (out []seat) {
	seen := map[events.JobID]bool{}
	for _, id := range jobs {
		j, ok := l.Jobs[id]
		if !ok || seen[id] {
			continue
		}
		if len(jobs) > 1 {
			seen[id] = true
		}
		l.seats(j, func(leaf share.Leaf, item share.Item) {
			out = append(out, seat{leaf, l.lineOf(j).class, item, !l.able(j)})
		})
	}
	return out
}

// seatedBy returns the jobs whose seats a fact about a request may change.
func (l *Ledger) seatedBy(id events.RequestID, f events.RequestFact) []events.JobID {
	r, ok := l.Requests[id]
	if !ok {
		if _, creates := f.(events.RequestCreated); creates && l.busy[id] > 0 {
			return l.madeBefore(id)
		}
		return nil
	}
	// The others change no seat.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.PriorityChanged:
		if f.Graph == nil {
			return slices.Concat(r.Jobs, r.Shared)
		}
		if g := l.graph(id, *f.Graph); g != nil {
			return g.Jobs
		}
	case events.RequestCancelled, events.RequestCancelledWithJobs, events.RequestStarted:
		return slices.Concat(r.Jobs, r.Shared)
	}
	return nil
}

// madeBefore returns the jobs that stand in the log before the request that wants them.
func (l *Ledger) madeBefore(id events.RequestID) (jobs []events.JobID) {
	for job, j := range l.Jobs {
		if slices.ContainsFunc(j.wantedBy(), func(w Wanter) bool { return w.Request == id }) {
			jobs = append(jobs, job)
		}
	}
	slices.Sort(jobs)
	return jobs
}

// keepPlace holds the place of an account in the tree while a request of it could start, as if a job waited. Else an
// account whose jobs have all ended would begin anew, and the next request of its queue could be its own again.
func (l *Ledger) keepPlace(before, after *request.Request) {
	had, has := before.State == events.StateArtifactsReady, after.State == events.StateArtifactsReady
	if had && has && LeafOf(before) == LeafOf(after) {
		return
	}
	if has {
		l.Tree.Hold(LeafOf(after))
	}
	switch {
	case had && after.State == events.StateInProgress:
		l.Starting = append(l.Starting, after.ID)
	case had:
		l.Tree.Unhold(LeafOf(before))
	}
}

// leavePlaces lets go of the places of requests that have started, once all their jobs are there.
func (l *Ledger) leavePlaces() {
	if l.Owed > 0 {
		return
	}
	for _, id := range l.Starting {
		l.Tree.Unhold(LeafOf(l.Requests[id]))
	}
	l.Starting = nil
}

// Next returns whose turn it is on a lane, and the job; false when no job waits that may run.
func (l *Ledger) Next(lane *Lane, w match.Waits) (share.Choice, *Job, bool) {
	choice, ok := l.Tree.Pick(l.expecting(lane), l.classesFor(lane, w)...)
	if !ok {
		return share.Choice{}, nil, false
	}
	j := l.first(lane, choice)
	return choice, j, j != nil
}

// expecting returns what choices would be charged on a lane.
func (l *Ledger) expecting(lane *Lane) func(share.Choice) int64 {
	return func(c share.Choice) int64 {
		if j := l.first(lane, c); j != nil {
			s := events.Share{Part: l.Part(lane, j)}
			return s.Charge(l.Expected(j).Milliseconds())
		}
		return 0
	}
}

// first returns the first job of a choice; nil when there is none.
func (l *Ledger) first(lane *Lane, c share.Choice) (found *Job) {
	leaf, item, line := c.Leaf, c.Item, lane.Line
	if lane.Machine != "" {
		for _, class := range l.Machines[lane.Machine].serves {
			if class.Number == c.Class {
				line = class.Line
			}
		}
	}
	for _, id := range line.Queued[item.ID] {
		j := l.Jobs[id]
		if j == nil || !l.able(j) {
			continue
		}
		l.seats(j, func(at share.Leaf, i share.Item) {
			if at == leaf && i == item {
				found = j
			}
		})
		if found != nil {
			return found
		}
	}
	return nil
}

// charge charges a dispatch.
func (l *Ledger) charge(s *events.Share) {
	if s != nil {
		l.Tree.Serve(leafOfShare(s), s.Charge(s.ExpectMS), s.Waiting)
	}
}

// correct replaces the expected length of a dispatched job by what its attempts took, by the times at which the log
// stored their beginnings and ends. d is the dispatch, before is the lane before the fact f.
func (l *Ledger) correct(d Dispatch, before job.Lane, begun time.Time, f events.WorkFact) {
	if d.Share == nil {
		return
	}
	leaf, charged := leafOfShare(d.Share), d.Share.Charge(d.Share.ExpectMS)
	var took int64
	if before.Phase == job.Current {
		took = d.Share.Charge(max(l.stored.Sub(begun).Milliseconds(), 0))
	}
	switch f.(type) {
	case events.AttemptLost, events.AttemptReleased:
		l.Tree.Correct(leaf, took, d.Share.Waiting...)
	case events.JobFinished:
		l.Tree.Correct(leaf, took-charged, d.Share.Waiting...)
		l.Tree.End(leaf)
	case events.JobMoved:
		l.Tree.Correct(leaf, -charged, d.Share.Waiting...)
		l.Tree.End(leaf)
	case events.JobDequeued:
	}
}

func leafOfShare(s *events.Share) share.Leaf {
	return share.Leaf{Tier: s.Tier, Queue: s.Queue, Account: s.Account}
}
