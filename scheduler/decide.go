package scheduler

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/request"
)

// Policy is what an operator may choose about scheduling.
type Policy struct {
	// MaxInProgress is how many requests are in progress at once; 1 keeps them apart.
	MaxInProgress int
	// ArtifactDeadline is how long a try request may wait for its artifacts; 0 means for ever.
	ArtifactDeadline time.Duration
	// ExpansionRetry is the pause before a request that could not be turned into jobs is tried again. The rest of the
	// queue continues meanwhile.
	ExpansionRetry time.Duration
	// QuarantineAfter is the number of different artifacts in a row whose jobs a collector fails for reasons of its own
	// before it is quarantined; 0 means never.
	QuarantineAfter int
	// Retention is how long jobs stay in the tables after they ended; 0 means for ever.
	Retention time.Duration
	// MaxWaiting bounds the jobs that wait for dispatch, also those that are blocked; above it no request starts.
	MaxWaiting int
	// AffinityWait is how long a matched job waits for a machine that has its caches; 0 means not at all. RoomWait is how
	// long a job that is first waits for room before a machine is held for it; 0 means for ever.
	AffinityWait, RoomWait time.Duration
}

// decision is one all-or-nothing append, taken on the versions in the state.
type decision struct {
	// cause is the event that led to it; 0 when only time passed. request is the request whose root its events get.
	cause   events.Seq
	request events.RequestID
	what    string
	facts   []events.Fact
	// otherwise is recorded instead if the facts are too large for one append; nil for nothing.
	otherwise []events.Fact
	// lane must have a consumer before the decision is appended; nil for none.
	lane *events.Lane
	// beside are decisions that the same append takes, if there is room for all of them.
	beside []decision
	// turn is set for a dispatch by shares. The next one must know its charge, so of several only the first is carried
	// out that can be.
	turn bool
}

// decide returns what to do in state s at the given time, on the lanes that the scheduler looks at. The same state gives the same
// decisions; what is recorded is not decided again. Each decision has subjects of its own. Admissions would share one, so decide
// returns at most one of them.
func decide(s *state, p Policy, now time.Time, lanes []events.Lane) []decision {
	if s.halved() {
		return nil
	}
	var out []decision
	end := func(id events.RequestID) {
		if d, ok := decideEnd(s, s.Pending[id], p, now); ok {
			out = append(out, d)
		}
	}
	for id := range s.Due {
		end(id)
	}
	if p.ArtifactDeadline > 0 {
		for _, id := range s.WaitingSince(now.Add(-p.ArtifactDeadline)) {
			end(id)
		}
	}
	// Sort only the requests that end now.
	slices.SortFunc(out, func(a, b decision) int { return strings.Compare(string(a.request), string(b.request)) })
	for _, d := range decideDeadlines(s, now) {
		if !slices.ContainsFunc(out, func(o decision) bool { return o.request == d.request }) {
			out = append(out, d)
		}
	}
	out = append(out, decideReuse(s)...)
	waits := match.Waits{Now: now, Affinity: p.AffinityWait, Room: p.RoomWait}
	if s.Shared { // a crowd of requests that start must not delay a dispatch
		out = append(out, decideLanes(s, waits, lanes)...)
	}
	if graphs := decideGraphs(s); len(graphs) > 0 {
		out = append(out, graphs...)
	} else if d, ok := decideAdmission(s, p, now); ok { // a repair must find the graph ended
		out = append(out, d)
	}
	out = append(out, decideQuarantine(s, p)...)
	if d, ok := decideRetention(s, p, now); ok {
		out = append(out, d)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Withdrawn)) {
		if jobs := s.Unwanted(id); len(jobs) > 0 {
			out = append(out, decision{
				cause: s.Versions[events.RequestSubject(id)], request: id, what: "withdraw jobs", facts: []events.Fact{events.JobsWithdrawn{RequestID: id, Jobs: jobs, Expired: s.allLate(id, jobs)}},
			})
		}
	}
	out = append(out, decideEmpty(s, out)...)
	if !s.Shared {
		out = append(out, decideLanes(s, waits, lanes)...)
	}
	return out
}

// halved reports whether the ledger holds only a part of the newest append that must be known as a whole.
func (s *state) halved() bool { return s.Owed > 0 || s.Binding > 0 }

// allLate reports whether jobs of a request are in graphs whose deadline has passed.
func (s *state) allLate(id events.RequestID, jobs []events.JobID) bool {
	return !slices.ContainsFunc(jobs, func(j events.JobID) bool {
		g, _, ok := s.NumberOf(id, j)
		return !ok || !g.Expired
	})
}

func decideLanes(s *state, w match.Waits, lanes []events.Lane) (out []decision) {
	for _, l := range lanes {
		out = append(out, decideLane(s, l)...)
	}
	return append(out, decideMatched(s, w)...)
}

// decideEnd ends a request whose required jobs have all ended, and expires one that has waited too long for its
// artifacts.
func decideEnd(s *state, r *request.Request, p Policy, now time.Time) (decision, bool) {
	var command request.Command
	switch {
	case r.State == events.StateWaitingForArtifacts && p.ArtifactDeadline > 0 && now.Sub(r.CreatedAt) > p.ArtifactDeadline:
		command = request.Expire{Limit: p.ArtifactDeadline}
	case r.State == events.StateInProgress && s.Open[r.ID] == 0:
		done, ended := progress(s, r)
		_, again := decideAgain(s, r)
		if !ended || again || s.amends(r) || len(r.Wishes) > 0 || owesBackfill(s, r, now) {
			return decision{}, false
		}
		command = done
	default:
		return decision{}, false
	}
	facts, err := request.Decide(*r, command)
	if err != nil || len(facts) == 0 {
		return decision{}, false
	}
	return decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "end request", facts: facts}, true
}

// progress counts the required jobs of a request and those that failed or were skipped. ended says whether all of them have ended, and
// the required jobs of its parent that it asked for. Optional jobs do not count. Of the rounds of a job the newest
// counts.
func progress(s *state, r *request.Request) (done request.Complete, ended bool) {
	ended = true
	for _, j := range s.NewestRounds(r) {
		if g := s.AddedIn(r.ID, j.ID); j.Spec().Optional || g != nil && g.Cancelled && j.State.Terminal() {
			continue // no request wants it any more
		}
		_, skipped := s.Skips(r.ID, j)
		ended = ended && (j.State.Terminal() || skipped)
		if j.Spec().Artifact.Tag != r.Artifact.Tag { // it measures the parent
			continue
		}
		done.Jobs++
		switch {
		case skipped:
			done.Skipped++
			g, _, ok := s.NumberOf(r.ID, j.ID)
			done.FailFast = done.FailFast || ok && g.States.Rule() == events.FailFast
		case j.State == events.JobFailure || j.State == events.JobCancelled:
			done.Failed++
		}
	}
	return done, ended
}

// decideLane gives a free lane its next job, and ends the jobs of cancelled requests that are already on the lane.
func decideLane(s *state, l events.Lane) []decision {
	lane := s.Lanes[l]
	for _, place := range s.cancelled(lane) {
		j := s.Jobs[lane.Work.Dispatched[place]]
		why := "its request was cancelled"
		if g, _, ok := s.NumberOf(j.Spec().RequestID, j.ID); ok && g.Expired {
			why = job.Late
		}
		var command job.Command = job.Withdraw{Place: place, Job: j.Spec(), Reason: why}
		if lane.Work.Phase == job.Current && lane.Work.Place == place {
			command = job.Finish{Token: lane.Work.Token, Outcome: events.Cancelled, Reason: why, At: s.Newest}
		}
		facts, err := job.Decide(lane.Work.Lane, l, command)
		if err == nil && len(facts) > 0 {
			return []decision{{
				cause: s.Versions[events.RequestSubject(j.Spec().RequestID)], request: j.Spec().RequestID, what: "cancel job", facts: facts,
			}}
		}
	}
	if lane.Machine != "" {
		return decideMove(s, l)
	}
	if d, ok := decideRelease(s, l); ok {
		return []decision{d}
	}
	if len(lane.Queued) == 0 || !s.free(lane) {
		return nil
	}
	if d, ok := decideDispatch(s, l, match.Waits{}); ok {
		return []decision{d}
	}
	return nil
}

// decideDispatch dispatches the job whose turn it is to a lane. On a shared farm all dispatches are serialised by one
// subject: so each one knows the charges and the free places that the ones before it have left.
func decideDispatch(s *state, l events.Lane, w match.Waits) (decision, bool) {
	lane := s.Lanes[l]
	choice, next, ok := s.Next(lane, w)
	if !ok {
		return decision{}, false
	}
	if d, ok := s.taken(next.ID, l); ok {
		return d, len(d.facts) > 0
	}
	spec, left := s.Divide(next, w)
	if !left {
		return decision{}, false
	}
	spec = spec.Bound(l)
	spec.Inputs = s.Inputs(next)
	spec.Tokens = s.Tokens(lane, next)
	dispatched := events.JobDispatched{
		Place: lane.Work.Places + 1, Job: spec, Closes: spec.Matched || s.closes(lane, spec),
		Since: job.Stamp(s.Artifacts[ledger.KeyOf(spec.Artifact)].Since),
	}
	d := decision{
		cause: s.Versions[events.RequestSubject(spec.RequestID)], request: spec.RequestID, what: "dispatch job", lane: &l, turn: s.Shared,
	}
	if spec.Matched {
		dispatched.Attempt, dispatched.Lost = next.Attempt, next.Lost
	}
	if s.Shared {
		dispatched.Share = &events.Share{
			Tier: choice.Leaf.Tier, Queue: choice.Leaf.Queue, Account: choice.Leaf.Account, ExpectMS: s.Expected(next).Milliseconds(),
			Part: s.Part(lane, next), Waiting: choice.Waiting, Why: choice.Why,
		}
		d.facts = append(d.facts, events.JobsMatched{Bindings: []events.Binding{{JobID: spec.ID, Lane: l, Place: dispatched.Place}}})
	}
	d.facts = append(d.facts, dispatched)
	return d, true
}

// cancelled returns the places of a lane whose jobs must not run any more, in order.
func (s *state) cancelled(lane *ledger.Lane) []uint64 {
	if !lane.Stopping {
		return nil
	}
	var places []uint64
	for place, id := range lane.Work.Dispatched {
		if s.Astray(s.Jobs[id]) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return places
}

// closes reports whether next is the last job for the lane of its own request and of all requests that began on the
// lane.
func (s *state) closes(lane *ledger.Lane, next events.JobSpec) bool {
	l := next.Lane()
	if s.others(lane, next.RequestID, next.ID) || s.Awaits(next.RequestID, l) {
		return false
	}
	for id := range lane.Entered {
		if s.others(lane, id, next.ID) || s.Awaits(id, l) {
			return false
		}
	}
	return true
}

// others reports whether a request has jobs to run on the lane besides next.
func (s *state) others(lane *ledger.Lane, id events.RequestID, next events.JobID) bool {
	return slices.ContainsFunc(lane.Queued[id], func(id events.JobID) bool { return id != next && s.Wanted(s.Jobs[id]) })
}

// takesJobs reports whether any collector of the lane, standby or not, could take a job.
func (s *state) takesJobs(l *ledger.Lane) bool {
	for name := range l.Assignment.Collectors {
		if c, ok := s.Collectors[name]; ok && c.Active && !c.Quarantined {
			return true
		}
	}
	return false
}
