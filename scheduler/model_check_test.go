package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
)

// lawyer reads the log of a world event by event and knows what must never happen. It folds in its own way and shares
// no code with the product: only the same mistake in both could pass.
type lawyer struct {
	policy   Policy
	attempts int // budget of lost executions

	log      []events.Recorded
	requests map[events.RequestID]*fate
	tags     map[events.Tag][]*fate
	jobs     map[events.JobID]*task
	identity map[identity]events.JobID
	lanes    map[events.Lane]*track
	running  int
	// owed counts the jobs that are still to come in the batch of the last start.
	owed   int
	owedBy events.RequestID
	// granted is the admission of a wish whose jobs come next.
	granted   *events.GraphAdmitted
	ownBegan  map[events.Lane]bool
	violation error
	// admitted are the requests that the newest admission starts and that have not started yet.
	admitted map[events.RequestID]bool
	// shared is set once the farm is shared: then other rules say what comes first.
	shared bool
}

// identity is the identity of a job. All jobs of these worlds measure all benchmarks.
type identity struct {
	artifact events.Artifact
	kind     events.JobKind
	lane     events.Lane
	backend  events.Backend
	profile  events.Profile
}

// identityOf leaves out the kind of request that the job was made for: another kind makes the next round of the same
// job.
func identityOf(spec events.JobSpec) identity {
	spec.Artifact.Kind = ""
	return identity{spec.Artifact, spec.Kind, spec.Lane(), spec.Backend, spec.Profile}
}

// fate is one request for the lawyer. A sequence is 0 until its event has happened.
type fate struct {
	facts                events.RequestCreated
	state                events.RequestState
	tag, parent          events.Tag
	known, ready         events.Seq // the events from which its tag is known and from which it may start
	started, ended       events.Seq
	beginning            events.Recorded
	failures             int
	firstFailure         events.Seq
	own, backfill, stand []*task // stand are shared ones
}

// task is one job for the lawyer.
type task struct {
	spec events.JobSpec
	// ended is its first end, which stays; over is the last one: a job can be dispatched at the moment at which it is withdrawn.
	created, dispatched, ended, over events.Seq
	place                            uint64
	outcome                          events.Outcome
	fault                            events.ErrorKind
	endedAt                          time.Time
	attempts, lost                   int
	tokens                           []events.Seq
	closed                           events.Seq
	repaired                         bool
	transient                        bool
	measured                         map[events.TestCase]bool
}

// track is one lane for the lawyer.
type track struct {
	places  uint64
	place   uint64
	current *task
	jobs    []*task // in the order they were made
}

func newLawyer(p Policy, attempts int) *lawyer {
	return &lawyer{
		policy: p, attempts: attempts, requests: map[events.RequestID]*fate{}, tags: map[events.Tag][]*fate{},
		jobs: map[events.JobID]*task{}, identity: map[identity]events.JobID{}, lanes: map[events.Lane]*track{},
		admitted: map[events.RequestID]bool{},
	}
}

func (l *lawyer) never(happened bool, format string, args ...any) {
	if happened && l.violation == nil {
		l.violation = fmt.Errorf("event %d: "+format, append([]any{len(l.log)}, args...)...)
	}
}

func (l *lawyer) lane(name events.Lane) *track {
	t, ok := l.lanes[name]
	if !ok {
		t = &track{}
		l.lanes[name] = t
	}
	return t
}

// look judges one event. seen is the last event that its writer had read when it decided.
func (l *lawyer) look(e events.Recorded, seen events.Seq) {
	l.log = append(l.log, e)
	if _, ok := e.Fact.(events.JobsCreated); !ok {
		l.never(l.owed > 0, "request %s started without %d of its jobs", l.owedBy, l.owed)
	}
	// The other facts can break none of these rules.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.ShareFact, events.PriorityChanged:
		l.shared = true
	case events.RequestAdmitted:
		l.admitted[f.RequestID] = true
	case events.RequestCreated:
		l.shared = l.shared || f.Account != "" || f.Queue != "" || f.Priority != ""
		l.create(e, f)
	case events.RequestArtifactsReady:
		r := l.living(f.RequestID)
		l.never(r.state != events.StateWaitingForArtifacts, "artifacts of request %s, which is %s", f.RequestID, r.state)
		r.state, r.parent, r.ready = events.StateArtifactsReady, f.Parent, e.Seq
		l.name(r, f.Tag, e.Seq)
	case events.RequestStarted:
		l.start(e, f, seen)
	case events.JobsCreated:
		l.makeJobs(e, f, seen)
	case events.RequestExpansionFailed:
		r := l.living(f.RequestID)
		if r.firstFailure == 0 {
			r.firstFailure = e.Seq
		}
		if f.Waits {
			break
		}
		r.failures++
		l.never(r.failures > 3, "request %s could not be expanded %d times and is still there", f.RequestID, r.failures)
		l.never(f.Failures != r.failures || r.state != events.StateArtifactsReady, "failure %d of request %s is its %d., and it is %s", f.Failures, f.RequestID, r.failures, r.state)
	case events.RequestCompleted:
		l.complete(f.RequestID, f.Jobs, 0, seen)
		l.end(e, f.RequestID, events.StateCompleted)
	case events.RequestFailed:
		if r := l.living(f.RequestID); r.started == 0 {
			l.never(r.failures < 3, "request %s is quarantined after %d failures", f.RequestID, r.failures)
		} else {
			l.never(f.FailedJobs == 0, "request %s failed without a failed job", f.RequestID)
			l.complete(f.RequestID, f.Jobs, f.FailedJobs, seen)
		}
		l.end(e, f.RequestID, events.StateFailed)
	case events.RequestCancelled:
		l.end(e, f.RequestID, events.StateCancelled)
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			t := l.job(id)
			l.never(!l.unwanted(t, seen), "job %s is withdrawn and somebody wants it", id)
			if t.dispatched == 0 && t.ended == 0 {
				t.ended, t.over, t.outcome, t.endedAt = e.Seq, e.Seq, events.Cancelled, e.Time
			}
		}
	case events.GraphAdmitted:
		l.granted = &f
	case events.RequestExpired:
		l.never(l.living(f.RequestID).state != events.StateWaitingForArtifacts, "request %s expires and does not wait", f.RequestID)
		l.end(e, f.RequestID, events.StateExpired)
	case events.RequestSuperseded:
		l.never(l.living(f.RequestID).started > 0, "request %s is superseded and has started", f.RequestID)
		l.end(e, f.RequestID, events.StateSuperseded)
	case events.JobDispatched:
		l.dispatch(e, f, seen)
	case events.JobDequeued:
		l.dequeue(e, f)
	case events.JobFinished:
		l.finish(e, f, seen)
	case events.AttemptLost:
		t := l.current(f.Lane, f.JobID, f.Token)
		t.lost++
		l.never(f.Lost != t.lost || f.Attempt != t.attempts, "loss %d of attempt %d of job %s is its %d. of attempt %d", f.Lost, f.Attempt, f.JobID, t.lost, t.attempts)
		l.lane(f.Lane).current = nil
	case events.AttemptReleased:
		t := l.current(f.Lane, f.JobID, f.Token)
		l.never(f.Lost != t.lost || f.Attempt != t.attempts, "a release of job %s counts %d losses of %d", f.JobID, f.Lost, t.lost)
		t.transient = t.transient || f.Transient
		l.lane(f.Lane).current = nil
	case events.ResultsClosed:
		t := l.job(f.JobID)
		l.never(len(t.tokens) == 0 || l.lane(f.Lane).current == t && f.Token == t.tokens[len(t.tokens)-1] || f.Token != t.tokens[len(t.tokens)-1] && f.Token != t.tokens[max(0, len(t.tokens)-2)], "the results of job %s are closed and nobody lost it", f.JobID)
		t.closed = f.Token
	case events.TestCasesMeasured:
		t := l.job(f.JobID)
		l.never(f.Token != t.tokens[len(t.tokens)-1] || f.Token <= t.closed, "results of attempt %d of job %s, which is over", f.Attempt, f.JobID)
		for _, m := range f.Cases {
			l.never(t.measured[m.TestCase], "%s of job %s is measured twice", m.TestCase, f.JobID)
			t.measured[m.TestCase] = true
		}
	}
}

func (l *lawyer) create(e events.Recorded, f events.RequestCreated) {
	_, exists := l.requests[f.RequestID]
	l.never(exists, "request %s is created twice", f.RequestID)
	r := &fate{facts: f, state: f.State, parent: f.Parent}
	l.requests[f.RequestID] = r
	l.never((f.State == events.StateWaitingForArtifacts) != (f.Tag == ""), "request %s is born %s with the tag %q", f.RequestID, f.State, f.Tag)
	if f.Tag != "" {
		r.ready = e.Seq
		l.name(r, f.Tag, e.Seq)
	}
}

func (l *lawyer) name(r *fate, tag events.Tag, at events.Seq) {
	r.tag, r.known = tag, at
	l.tags[tag] = append(l.tags[tag], r)
}

// living returns a request that exists and has not ended.
func (l *lawyer) living(id events.RequestID) *fate {
	r, ok := l.requests[id]
	if !ok {
		l.never(true, "request %s does not exist", id)
		return &fate{}
	}
	l.never(r.ended > 0, "request %s is %s since event %d, and terminal is final", id, r.state, r.ended)
	return r
}

func (l *lawyer) end(e events.Recorded, id events.RequestID, to events.RequestState) {
	r := l.living(id)
	if r.started > 0 {
		l.running--
	}
	r.state, r.ended = to, e.Seq
	for n, other := range l.waitingTries() {
		l.never(other > 1, "pull request %d has %d tries that wait", n, other)
	}
}

// waitingTries counts the tries that wait for artifacts by pull request.
func (l *lawyer) waitingTries() map[int]int {
	waiting := map[int]int{}
	for _, r := range l.requests {
		if r.state == events.StateWaitingForArtifacts && r.facts.PR > 0 {
			waiting[r.facts.PR]++
		}
	}
	return waiting
}

func (l *lawyer) start(e events.Recorded, f events.RequestStarted, seen events.Seq) {
	r := l.living(f.RequestID)
	l.never(r.state != events.StateArtifactsReady, "request %s starts and is %s", f.RequestID, r.state)
	l.never(!l.admitted[f.RequestID], "request %s starts without its admission", f.RequestID)
	delete(l.admitted, f.RequestID)
	r.state, r.started, r.beginning = events.StateInProgress, e.Seq, e
	l.running++
	l.never(l.running > l.policy.MaxInProgress && !l.shared, "%d requests are in progress", l.running)
	for _, id := range f.Shared {
		l.never(l.withdrawn(id, seen), "request %s shares job %s, which was withdrawn", f.RequestID, id)
		r.stand = append(r.stand, l.job(id))
	}
	l.owed, l.owedBy, l.ownBegan = f.Jobs+f.Backfill, f.RequestID, map[events.Lane]bool{}
	if r.facts.Kind == events.Release || l.shared {
		return
	}
	for _, other := range l.requests {
		l.never(other.facts.Kind == events.Release && other.ready > 0 && other.ready <= seen && other.started == 0 && other.ended == 0 &&
			(other.firstFailure == 0 || other.firstFailure > seen), "request %s starts before release %s", f.RequestID, other.tag)
	}
	l.never(l.ahead(r, seen), "request %s of %s starts before its parent %s", f.RequestID, r.tag, r.parent)
}

// ahead reports whether a request had to wait for its parent, given what its writer had read. In a cycle of parents no
// request can be first.
func (l *lawyer) ahead(r *fate, seen events.Seq) bool {
	pending := func(tag events.Tag) bool {
		known := false
		for _, p := range l.tags[tag] {
			if p.known > seen {
				continue
			}
			over := p.ended > 0 && p.ended <= seen
			switch {
			case over && p.state != events.StateCompleted && p.state != events.StateFailed:
				// It was withdrawn: that says nothing about another request for the artifact.
			case over, p.started > 0 && p.started <= seen:
				return false
			default:
				known = true
			}
		}
		return known
	}
	if r.parent == "" || !pending(r.parent) {
		return false
	}
	met := map[events.Tag]bool{r.tag: true}
	for next := []events.Tag{r.parent}; len(next) > 0; {
		tag := next[0]
		next = next[1:]
		if met[tag] {
			return false
		}
		met[tag] = true
		for _, p := range l.tags[tag] {
			if p.known <= seen && p.parent != "" && pending(p.parent) {
				next = append(next, p.parent)
			}
		}
	}
	return true
}

func (l *lawyer) makeJobs(e events.Recorded, f events.JobsCreated, seen events.Seq) {
	r, ok := l.requests[f.RequestID]
	l.never(!ok, "jobs of request %s, which does not exist", f.RequestID)
	if !ok {
		return
	}
	granted := f.Key != ""
	l.never(granted && (l.granted == nil || l.granted.Key != f.Key || l.granted.RequestID != f.RequestID || l.granted.Jobs != len(f.Jobs)), "jobs of the wish %s, which was not admitted", f.Key)
	l.never(!granted && r.state != events.StateInProgress, "jobs of request %s, which is %s", f.RequestID, r.state)
	late := l.owed == 0
	for _, spec := range f.Jobs {
		identity := identityOf(spec)
		_, exists := l.jobs[spec.ID]
		twin, same := l.identity[identity]
		l.never(exists || same && !l.again(twin, seen, granted), "job %s is made twice, before as %s", spec.ID, twin)
		l.never(spec.RequestID != f.RequestID, "a job of %s is made for %s", spec.RequestID, f.RequestID)
		l.never(late && !granted && !spec.Backfill, "job %s of the request itself is made after the start", spec.ID)
		t := &task{spec: spec, created: e.Seq, measured: map[events.TestCase]bool{}, repaired: granted}
		l.jobs[spec.ID], l.identity[identity] = t, spec.ID
		lane := l.lane(spec.Lane())
		lane.jobs = append(lane.jobs, t)
		if spec.Backfill {
			l.never(!late && l.ownBegan[spec.Lane()], "job %s of the parent stands behind the request's own on lane %s", spec.ID, spec.Lane())
			l.never(spec.Artifact.Tag != r.parent, "a job for %s, which is not the parent of %s", spec.Artifact.Tag, r.tag)
			r.backfill = append(r.backfill, t)
		} else {
			l.ownBegan[spec.Lane()] = true
			l.never(spec.Artifact.Tag != r.tag, "a job for %s by the request for %s", spec.Artifact.Tag, r.tag)
			r.own = append(r.own, t)
		}
		if !late {
			l.owed--
		}
	}
	l.granted = nil
}

// again reports whether a job may be made again, given what was seen: it was withdrawn, or failed by a fault. For a
// person's wish, any job that did not succeed may be made again.
func (l *lawyer) again(id events.JobID, seen events.Seq, granted bool) bool {
	t := l.jobs[id]
	if t.ended > 0 && t.ended <= seen {
		return t.outcome == events.Cancelled || t.outcome == events.Failure && (granted || t.fault != "")
	}
	return l.unwanted(t, seen)
}

// withdrawn reports whether a job ended because all requests that wanted it were cancelled, given what was seen.
func (l *lawyer) withdrawn(id events.JobID, seen events.Seq) bool {
	t := l.jobs[id]
	if t.ended > 0 && t.ended <= seen {
		return t.outcome == events.Cancelled
	}
	return l.unwanted(t, seen)
}

// unwanted reports whether every request that wants a job was cancelled, given what was seen.
func (l *lawyer) unwanted(t *task, seen events.Seq) bool {
	if t.repaired {
		return false
	}
	for _, r := range l.requests {
		wants := slices.Contains(r.own, t) || slices.Contains(r.backfill, t) || slices.Contains(r.stand, t) && r.started <= seen
		if wants && (r.state != events.StateCancelled || r.ended > seen) {
			return false
		}
	}
	return true
}

// newest returns the jobs of a request, each in its newest round.
func (r *fate) newest() []*task {
	var out []*task
	at := map[identity]int{}
	for _, t := range append(r.own[:len(r.own):len(r.own)], r.stand...) {
		key := identityOf(t.spec)
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(out)
			out = append(out, t)
		case t.spec.Round > out[i].spec.Round:
			out[i] = t
		}
	}
	return out
}

// complete checks that a request in progress has no jobs left, and that the numbers of its end are right.
func (l *lawyer) complete(id events.RequestID, jobs, failed int, seen events.Seq) {
	r := l.living(id)
	required, failures := 0, 0
	for _, t := range r.newest() {
		if t.spec.Optional {
			continue
		}
		if t.outcome == events.Cancelled { // another request may have made it again
			t = l.jobs[l.identity[identityOf(t.spec)]]
		}
		required++
		l.never(t.ended == 0, "request %s ends before its job %s", id, t.spec.ID)
		l.never(t.outcome == events.Cancelled, "request %s ends, and its job %s was cancelled with another one", id, t.spec.ID)
		if t.outcome != events.Success {
			failures++
		}
	}
	l.never(jobs != required || failed != failures, "request %s ends with %d failures of %d jobs; there are %d of %d", id, failed, jobs, failures, required)
	for _, t := range r.backfill {
		l.never(!t.spec.Optional && t.ended == 0, "request %s ends before job %s of its parent", id, t.spec.ID)
	}
	for _, p := range l.tags[r.parent] {
		if p.known > seen || r.tag == r.parent {
			continue
		}
		for _, t := range append(r.own[:len(r.own):len(r.own)], r.stand...) {
			l.never(t.spec.Kind == backfilledKind && !l.measuredFor(t.spec, r.parent), "request %s ends without a job like %s for its parent %s", id, t.spec.ID, r.parent)
		}
	}
}

// measuredFor reports whether a job like spec exists for another tag.
func (l *lawyer) measuredFor(spec events.JobSpec, tag events.Tag) bool {
	for _, t := range l.lane(spec.Lane()).jobs {
		if t.spec.Artifact.Tag == tag && t.spec.Profile == spec.Profile && t.spec.Kind == spec.Kind {
			return true
		}
	}
	return false
}
