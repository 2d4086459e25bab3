package projector

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// foldShare applies a fact about how the farm is shared. It refuses what no table can hold, and what is said about an
// account or queue that was never configured, or is closed. Settings open it again.
func (s *state) foldShare(m moment, f events.ShareFact) {
	took := false
	switch f := f.(type) {
	case events.AccountConfigured:
		took = s.accountConfigured(m, f)
	case events.AccountTokenIssued:
		if f.Digest == "" {
			break
		}
		if a := s.account(m, f.Account); a != nil {
			a.TokenDigest, a.TokenSince, took = f.Digest, pointer(m.at), true
		}
	case events.AccountTokenRevoked:
		if a := s.account(m, f.Account); a != nil {
			a.TokenDigest, a.TokenSince, took = "", nil, true
		}
	case events.AccountClosed:
		if a := s.account(m, f.Account); a != nil {
			a.TokenDigest, a.TokenSince = "", nil
			a.ClosedAt, a.ClosedReason, took = pointer(m.at), f.Reason, true
		}
	case events.QueueConfigured:
		took = s.queueConfigured(m, f)
	case events.QueueClosed:
		if q := s.namedQueues[f.Queue]; q != nil && q.ClosedAt == nil {
			q.ClosedAt, q.ClosedReason, q.ChangedAt, q.ChangedSeq, took = pointer(m.at), f.Reason, m.at, m.seq, true
			s.dirtyQueues[f.Queue] = true
		}
	case events.SharePolicySet:
		s.policySet(m, f)
		took = true
	}
	if !took {
		s.refused++
	}
}

// policySet changes the policy. One that is recorded again as it stands stays as it is.
func (s *state) policySet(m moment, f events.SharePolicySet) {
	if p := s.policy; p != nil && p.FloorDefault == f.FloorDefault && p.FloorIdle == f.FloorIdle && p.LagMS == f.LagMS {
		return
	}
	s.policyChanged = true
	s.policy = &readmodel.SharePolicy{
		One: true, FloorDefault: f.FloorDefault, FloorIdle: f.FloorIdle, LagMS: f.LagMS, SetAt: m.at, Seq: m.seq,
	}
}

// account returns the row of an account that an event changes; nil if the account was never configured, or was closed.
func (s *state) account(m moment, name events.AccountName) *accountRow {
	a := s.accounts[name]
	if a == nil || a.ClosedAt != nil {
		return nil
	}
	a.ChangedAt, a.ChangedSeq = m.at, m.seq
	s.dirtyAccounts[name] = true
	return a
}

func (s *state) accountConfigured(m moment, f events.AccountConfigured) bool {
	if !storable(f.Account) || f.Weight < 1 || f.MaxVIP < 0 || !holdable(f.Limits) {
		return false
	}
	a := s.accounts[f.Account]
	if a == nil {
		a = &accountRow{Name: f.Account, CreatedAt: m.at}
		s.accounts[f.Account] = a
	}
	s.dirtyAccounts[f.Account] = true
	a.ChangedAt, a.ChangedSeq, a.ClosedAt, a.ClosedReason = m.at, m.seq, nil, ""
	a.Weight, a.MaxPriority, a.MaxVIP = f.Weight, events.Priority(f.MaxPriority.String()), f.MaxVIP
	a.MaxRunning, a.MaxQueued, a.MaxPending = f.MaxRunning, f.MaxQueued, f.MaxPending
	a.May, a.Branches = append([]events.Right{}, f.May...), append([]string{}, f.Branches...)
	return true
}

func (s *state) queueConfigured(m moment, f events.QueueConfigured) bool {
	known := f.Order == events.OrderFIFO || f.Order == events.OrderLevels
	if !storable(f.Queue) || !known || f.Weight < 1 || f.InProgress < 0 || !holdable(f.Limits) {
		return false
	}
	q := &namedQueueRow{CreatedAt: m.at}
	if before := s.namedQueues[f.Queue]; before != nil {
		q.CreatedAt = before.CreatedAt
	}
	q.Name, q.Parent, q.Weight, q.Order, q.InProgress = f.Queue, f.Parent, f.Weight, f.Order, f.InProgress
	q.MaxRunning, q.MaxQueued, q.MaxPending = f.MaxRunning, f.MaxQueued, f.MaxPending
	q.Members, q.Paused = append([]events.AccountName{}, f.Members...), f.Paused
	q.Requires = append([]string{}, f.Requires...)
	q.ChangedAt, q.ChangedSeq = m.at, m.seq
	s.namedQueues[f.Queue] = q
	s.dirtyQueues[f.Queue] = true
	return true
}

func holdable(l events.Limits) bool {
	return l.MaxRunning >= 0 && l.MaxQueued >= 0 && l.MaxPending >= 0
}

// maxCharge bounds what one expectation or attempt is charged with, in milliseconds, whatever the clocks said. So no sum
// is too large for its column.
const maxCharge = int64(366 * 24 * time.Hour / time.Millisecond)

func chargeable(ms int64) int64 { return min(max(ms, 0), maxCharge) }

// dispatched charges a job at its dispatch with what it is expected to take. A job is charged once, and again after a
// move.
func (s *state) dispatched(m moment, j *jobRow, f *events.Share) {
	if f == nil || j.Share != nil || j.DispatchedAt != nil || j.State.Terminal() {
		return
	}
	known := f.Tier == events.TierVIP || f.Tier == events.TierDefault || f.Tier == events.TierIdle
	if !known || !storable(f.Queue) || !storable(f.Account) {
		s.refused++
		return
	}
	j.Share = &readmodel.JobShare{
		Tier: f.Tier, Queue: f.Queue, Account: f.Account, ExpectMS: chargeable(f.ExpectMS), Part: f.Part,
		Day: m.at.Format(time.DateOnly), Why: cleanText(f.Why),
	}
	s.charge(j, change{ms: j.charge(j.Share.ExpectMS), running: 1, dispatched: 1, jobs: 1})
}

// attemptGone adds to the charge what a lost or released attempt took.
func (s *state) attemptGone(m moment, j *jobRow) {
	if j.Share != nil {
		took := j.took(m)
		j.Share.TookMS += took
		s.charge(j, change{ms: took})
	}
}

// moved takes back what the job is expected to take. What its attempts took stays charged. The job counts with its next
// place, where it is charged anew: maybe to another account, because another request wants it, too.
func (s *state) moved(j *jobRow) {
	j.DispatchedAt = nil
	if j.Share != nil {
		s.charge(j, change{ms: j.Share.TookMS - j.Share.ChargedMS, running: -1, jobs: -1})
		j.Share = nil
	}
}

// placeOver replaces the expected time by what the last attempt took: the running one, whose token this is. Without one
// it takes the expected time back.
func (s *state) placeOver(m moment, j *jobRow, running events.Seq) {
	if j.Share == nil {
		return
	}
	c, last := change{running: -1}, int64(0)
	if running != 0 {
		last = j.took(m)
	}
	if j.Share.BegunAt == nil {
		c.jobs = -1
	}
	c.ms = j.Share.TookMS + last - j.Share.ChargedMS
	s.charge(j, c)
}

// begin notes when an attempt of a charged job begins.
func (j *jobRow) begin(m moment) {
	if j.Share != nil {
		j.Share.BegunAt = pointer(m.stored)
	}
}

// charge returns what a charged job is charged for a time, in milliseconds.
func (j *jobRow) charge(ms int64) int64 { return events.Share{Part: j.Share.Part}.Charge(ms) }

// took returns what a charged job is charged for its attempt, by the time that this took by the clock of the log. The
// clocks of collectors charge nobody.
func (j *jobRow) took(m moment) int64 {
	if j.Share.BegunAt == nil {
		return 0
	}
	return j.charge(chargeable(m.stored.Sub(*j.Share.BegunAt).Milliseconds()))
}

// change is what one event adds to the counts of an account.
type change struct {
	ms                        int64
	running, dispatched, jobs int
}

// charge adds a change to the job, to its account, and to the account's day. The statements add the sums of a batch to
// the rows: no fold reads them.
func (s *state) charge(j *jobRow, c change) {
	j.Share.ChargedMS += c.ms
	s.dirtyJobs[j.ID] = true
	leaf := shareRow{Tier: j.Share.Tier, Queue: j.Share.Queue, Account: j.Share.Account}
	day := usageRow{Day: j.Share.Day, Tier: leaf.Tier, Queue: leaf.Queue, Account: leaf.Account}
	if s.shares[leaf] == nil {
		s.shares[leaf] = pointer(leaf)
	}
	if s.usages[day] == nil {
		s.usages[day] = pointer(day)
	}
	share, usage := s.shares[leaf], s.usages[day]
	share.Running, share.Dispatched, share.ChargedMS = share.Running+c.running, share.Dispatched+c.dispatched, share.ChargedMS+c.ms
	usage.Jobs, usage.ChargedMS = usage.Jobs+c.jobs, usage.ChargedMS+c.ms
}
