package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
	"github.com/tachobench/tacho/queue"
	"github.com/tachobench/tacho/request"
	"github.com/tachobench/tacho/suite"
)

// Policy is what an operator may choose about scheduling.
type Policy struct {
	// MaxInProgress is how many requests are benchmarked at once; 1 keeps them apart.
	MaxInProgress int
	// ArtifactDeadline is how long a try request may wait for its artifacts; 0 is for ever.
	ArtifactDeadline time.Duration
	// ExpansionRetry is the pause before a request that could not be turned into jobs is tried again. The
	// queue goes on meanwhile.
	ExpansionRetry time.Duration
	// QuarantineAfter is how many different jobs in a row a collector may fail for reasons of its own before it
	// is taken out; 0 never does.
	QuarantineAfter int
	// Retention is how long jobs stay in the tables after they ended; 0 is for ever.
	Retention time.Duration
}

// decision is one all-or-nothing append, taken on the versions that the state has seen.
type decision struct {
	// cause is the event that it follows from; 0 when only time passed. request is whose root it has.
	cause   events.Seq
	request events.RequestID
	what    string
	facts   []events.Fact
	// otherwise is recorded instead where the facts are too much for the log; nil for nothing.
	otherwise []events.Fact
	// lane must have a consumer before the decision is appended; nil for none.
	lane *events.Lane
}

// decide returns what is to be done in state s at the given time. Deciding twice on the same state gives
// the same; what was recorded is not decided again. Each decision stands on subjects of its own, but for
// admissions: at most one is returned.
func decide(s *state, p Policy, now time.Time) []decision {
	if s.owed > 0 {
		return nil
	}
	var out []decision
	for _, ids := range []map[events.RequestID]bool{s.running, s.waiting} {
		for id := range ids {
			if d, ok := decideEnd(s, s.pending[id], p, now); ok {
				out = append(out, d)
			}
		}
	}
	// Few of those that wait come to their end at once: these are put in order, and not all of them each time.
	slices.SortFunc(out, func(a, b decision) int { return strings.Compare(string(a.request), string(b.request)) })
	if d, ok := decideAdmission(s, p, now); ok {
		out = append(out, d)
	}
	out = append(out, decideQuarantine(s, p)...)
	if d, ok := decideRetention(s, p, now); ok {
		out = append(out, d)
	}
	for _, l := range s.laneOrder {
		out = append(out, decideLane(s, l)...)
	}
	return out
}

// decideEnd completes a request whose required jobs all ended, and expires one that waits in vain.
func decideEnd(s *state, r *request.Request, p Policy, now time.Time) (decision, bool) {
	var command request.Command
	switch {
	case r.State == events.WaitingForArtifacts && p.ArtifactDeadline > 0 && now.Sub(r.CreatedAt) > p.ArtifactDeadline:
		command = request.Expire{Limit: p.ArtifactDeadline}
	case r.State == events.InProgress && s.open[r.ID] == 0:
		jobs, failed, ended := progress(s, r)
		if !ended || owesBackfill(s, r) {
			return decision{}, false
		}
		command = request.Complete{Jobs: jobs, Failed: failed}
	default:
		return decision{}, false
	}
	facts, err := request.Decide(*r, command)
	if err != nil || len(facts) == 0 {
		return decision{}, false
	}
	return decision{cause: s.versions[events.RequestSubject(r.ID)], request: r.ID, what: "end request", facts: facts}, true
}

// progress counts the required jobs of a request and those that failed, and tells whether all have ended,
// together with the required jobs that it asked of its parent. Optional jobs never block. A job that it
// shares with a request that was cancelled measured nothing, so it counts as failed.
func progress(s *state, r *request.Request) (jobs, failed int, ended bool) {
	ended = true
	count := func(id events.JobID, backfill bool) {
		j, ok := s.jobs[id]
		if !ok || j.spec.Optional {
			return
		}
		ended = ended && j.state.Terminal()
		if backfill {
			return
		}
		jobs++
		if j.state == events.JobFailure || j.state == events.JobCancelled {
			failed++
		}
	}
	for _, spec := range r.Jobs {
		count(spec.ID, spec.Backfill)
	}
	for _, id := range r.Shared {
		count(id, false)
	}
	return jobs, failed, ended
}

// decideAdmission starts the first request of the queue that can be started, or makes the jobs of a parent
// that appeared late. Both are serialised by the admission subject, which is what makes a job once.
func decideAdmission(s *state, p Policy, now time.Time) (decision, bool) {
	for _, id := range slices.Sorted(maps.Keys(s.running)) {
		r := s.pending[id]
		if parent, known := s.parentOf(r); known && !s.backfilled[id] {
			if d, ok := decideLateBackfill(s, r, parent); ok {
				return d, true
			}
		}
	}
	if len(s.running) >= p.MaxInProgress || len(s.pending) == len(s.running)+len(s.waiting) {
		return decision{}, false
	}
	for _, place := range queue.Order(s.entries(), s.done) {
		r := s.pending[place.ID]
		if place.State != events.ArtifactsReady || !place.Startable ||
			r.ExpansionFailures > 0 && now.Sub(r.ExpansionFailedAt).Abs() < p.ExpansionRetry {
			continue
		}
		return decideStart(s, r, place.Reason), true
	}
	return decision{}, false
}

func (s *state) entries() []queue.Entry {
	entries := make([]queue.Entry, 0, len(s.pending))
	for id, r := range s.pending {
		entries = append(entries, queue.Entry{
			ID: id, Kind: r.Kind, State: r.State, Suite: r.Artifact.Suite, Tag: r.Artifact.Tag, Parent: r.Parent,
			PR: r.PR, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, ReleasedOn: r.ReleasedOn,
		})
	}
	return entries
}

// done reports whether a request for the artifact has ended.
func (s *state) done(name events.SuiteName, tag events.Tag) bool {
	return s.ended[artifactKey{name, tag}]
}

func decideStart(s *state, r *request.Request, reason string) decision {
	cause := s.versions[events.RequestSubject(r.ID)]
	own, backfill, digest, err := expand(s, r)
	if err != nil {
		facts, _ := request.Decide(*r, request.FailExpansion{Reason: err.Error()})
		return decision{cause: cause, request: r.ID, what: "fail expansion", facts: facts}
	}
	start := request.Start{Definitions: digest}
	for _, spec := range own {
		if spec, lacks := s.lacks(spec); lacks {
			start.Jobs = append(start.Jobs, spec)
		} else {
			start.Shared = append(start.Shared, spec.ID)
		}
	}
	start.Backfill = s.missing(backfill)
	facts, err := request.Decide(*r, start)
	if err != nil {
		return decision{}
	}
	admitted := events.RequestAdmitted{RequestID: r.ID, Tag: r.Artifact.Tag, Reason: reason}
	tooMuch, _ := request.Decide(*r, request.FailExpansion{Reason: "its jobs are too large to be recorded: ask for fewer benchmarks, by shorter names"})
	return decision{
		cause: cause, request: r.ID, what: "start request", facts: append([]events.Fact{admitted}, facts...), otherwise: tooMuch,
	}
}

func decideLateBackfill(s *state, r, parent *request.Request) (decision, bool) {
	_, backfill, _, err := expand(s, r)
	if err != nil {
		return decision{}, false
	}
	missing := s.missing(backfill)
	facts, err := request.Decide(*r, request.AddBackfill{Jobs: missing})
	if err != nil {
		return decision{}, false
	}
	admitted := events.BackfillAdmitted{RequestID: r.ID, Parent: parent.Artifact.Tag, Jobs: len(missing)}
	return decision{
		cause: s.versions[events.RequestSubject(parent.ID)], request: r.ID, what: "backfill late parent", facts: append([]events.Fact{admitted}, facts...),
	}, true
}

// owesBackfill reports whether the parent of a request in progress appeared and was not asked for its jobs yet.
func owesBackfill(s *state, r *request.Request) bool {
	parent, known := s.parentOf(r)
	if !known || s.backfilled[r.ID] {
		return false
	}
	_, owes := decideLateBackfill(s, r, parent)
	return owes
}

// missing returns those of jobs that are to be made, each in its round.
func (s *state) missing(jobs []events.JobSpec) []events.JobSpec {
	var out []events.JobSpec
	for _, spec := range jobs {
		if spec, lacks := s.lacks(spec); lacks {
			out = append(out, spec)
		}
	}
	return out
}

// lacks returns the job in its newest round, and whether that is still to be made. A job that went with the
// request that had it made is made again for the next one that needs it.
func (s *state) lacks(spec events.JobSpec) (events.JobSpec, bool) {
	for {
		j, exists := s.jobs[spec.ID]
		if !exists || !s.withdrawn(j) {
			return spec, !exists
		}
		spec = spec.Again()
	}
}

// withdrawn reports whether a job was cancelled, or will be as soon as its lane is told.
func (s *state) withdrawn(j *jobState) bool {
	if j.state.Terminal() {
		return j.state == events.JobCancelled
	}
	return s.stopped(j.spec.RequestID)
}

// stopped reports whether a request was cancelled.
func (s *state) stopped(id events.RequestID) bool {
	r, ok := s.requests[id]
	return ok && r.State == events.RequestStopped
}

// expand turns a request into jobs with the definitions that it started with, or the current ones.
func expand(s *state, r *request.Request) (own, backfill []events.JobSpec, digest events.Digest, err error) {
	name := r.Artifact.Suite
	digest = r.Definitions
	if digest == "" {
		if err := s.unusable[name]; err != nil {
			return nil, nil, "", fmt.Errorf("the definitions of suite %s cannot be used: %w", name, err)
		}
		digest = s.current[name]
	}
	d, ok := s.definitions[digest]
	if !ok {
		return nil, nil, "", fmt.Errorf("no definitions of suite %s were published", name)
	}
	wish := suite.Request{ID: r.ID, Artifact: r.Artifact, Parameters: r.Parameters, Definitions: digest}
	if parent, known := s.parentOf(r); known {
		wish.Parent = &parent.Artifact
	}
	own, backfill, err = d.Expand(wish)
	return own, backfill, digest, err
}

// decideLane keeps one job ahead of the running one, so that a change of order still counts, and ends the
// jobs of cancelled requests that are on the lane already.
func decideLane(s *state, l events.Lane) []decision {
	lane := s.lanes[l]
	for _, place := range s.cancelled(lane) {
		spec := s.jobs[lane.dispatched[place]].spec
		var command job.Command = job.Withdraw{Place: place, Job: spec, Reason: "its request was cancelled"}
		if lane.work.Phase == job.Current && lane.work.Place == place {
			command = job.Finish{Token: lane.work.Token, Outcome: events.Cancelled, Reason: "its request was cancelled", At: s.newest}
		}
		facts, err := job.Decide(lane.work, l, command)
		if err == nil && len(facts) > 0 {
			return []decision{{
				cause: s.versions[events.RequestSubject(spec.RequestID)], request: spec.RequestID, what: "cancel job", facts: facts,
			}}
		}
	}
	if d, ok := decideRelease(s, l); ok {
		return []decision{d}
	}
	if !lane.takesJobs(s) || lane.ahead() > 0 {
		return nil
	}
	id, ok := s.nextJob(lane)
	if !ok {
		return nil
	}
	spec := s.jobs[id].spec
	return []decision{{
		cause: s.versions[events.RequestSubject(spec.RequestID)], request: spec.RequestID, what: "dispatch job", lane: &l,
		facts: []events.Fact{events.JobDispatched{Place: lane.places + 1, Job: spec, Closes: s.closes(lane, spec)}},
	}}
}

// cancelled returns the places of a lane that hold jobs of cancelled requests, in order.
func (s *state) cancelled(lane *laneState) []uint64 {
	if !lane.stopping {
		return nil
	}
	var places []uint64
	for place, id := range lane.dispatched {
		if j, ok := s.jobs[id]; ok && s.stopped(j.spec.RequestID) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return places
}

// closes reports whether, once the next job is over, no request that was begun on the lane has a job left for it.
func (s *state) closes(lane *laneState, next events.JobSpec) bool {
	for id, waiting := range lane.queued {
		r, ok := s.requests[id]
		switch {
		case !ok:
		case id == next.RequestID && len(waiting) > 1, id != next.RequestID && s.begun(r, next.Lane()):
			return false
		}
	}
	return true
}

// begun reports whether a job of the request was dispatched on the lane.
func (s *state) begun(r *request.Request, l events.Lane) bool {
	return slices.ContainsFunc(r.Jobs, func(spec events.JobSpec) bool {
		j, ok := s.jobs[spec.ID]
		return ok && j.place > 0 && spec.Lane() == l
	})
}

// takesJobs reports whether any collector of the lane could take a job, be it by standing by for another.
func (l *laneState) takesJobs(s *state) bool {
	for name := range l.assignment.Collectors {
		if c, ok := s.collectors[name]; ok && c.standing.Active && !c.standing.Quarantined {
			return true
		}
	}
	return false
}

// ahead counts the jobs that are dispatched and not being executed.
func (l *laneState) ahead() int {
	n := len(l.dispatched)
	if _, ok := l.dispatched[l.work.Place]; ok && l.work.Phase == job.Current {
		n--
	}
	return n
}

// nextJob returns the next job of a lane: the requests that have started in queue order, of each its jobs in the
// order they were made. One that has ended may have optional jobs left, which are done all the same.
func (s *state) nextJob(lane *laneState) (events.JobID, bool) {
	var first *request.Request
	for id := range lane.queued {
		if r, ok := s.requests[id]; ok && (first == nil || startedBefore(r, first)) {
			first = r
		}
	}
	if first == nil {
		return "", false
	}
	return lane.queued[first.ID][0], true
}

func startedBefore(a, b *request.Request) bool {
	if c := a.StartedAt.Compare(b.StartedAt); c != 0 {
		return c < 0
	}
	if a.PR != b.PR {
		return a.PR < b.PR
	}
	return a.ID < b.ID
}
