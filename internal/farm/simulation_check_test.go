package farm

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// patience is how long the farm may do nothing although it could do something. It is the time between two ticks, after
// which a scheduler that missed its turn takes it.
const patience = 2 * time.Minute

// observer folds the log for itself and looks at what the scheduler did.
//
// What must hold: the admitted request is the first startable one of the queue. A lane gets the jobs
// of the requests in the order in which these started, and the jobs of one request in the order in which they were
// made. While a request could start or a free collector could get a job, something happens within
// the patience above. At the end every request has ended.
type observer struct {
	t             *testing.T
	maxInProgress int
	requests      map[events.RequestID]request.Request
	open          map[events.RequestID]bool
	running       map[events.RequestID]bool
	ready         int
	tags          queue.Tags
	// jobs are the jobs that have not ended; lanes, what is on each lane.
	jobs  map[events.JobID]*observedJob
	lanes map[events.Lane]*observedLane
	now   time.Time
	// before are the queues since the last moment at which anything happened: a decision at this moment
	// may not have seen all of its events.
	before               []observedQueue
	admitted, dispatched int
	deepest              int // the most requests that were ready at once
	forecasts
}

type observedJob struct {
	spec       events.JobSpec
	dispatched bool
	dequeuedAt time.Time
}

type observedLane struct {
	// queued are the jobs that were not dispatched, by request in the order in which they were made.
	queued map[events.RequestID][]events.JobID
	// busy is set while a job is dispatched; current while one is executed.
	waiting, current int
}

type observedQueue struct {
	entries []queue.Entry
	done    func(events.SuiteName, events.Tag) bool
}

func checkSimulation(t *testing.T, d suite.Definitions, recorded []events.Recorded, count, maxInProgress int) {
	o := &observer{
		t: t, maxInProgress: maxInProgress, requests: map[events.RequestID]request.Request{}, open: map[events.RequestID]bool{},
		running: map[events.RequestID]bool{}, jobs: map[events.JobID]*observedJob{},
		lanes: map[events.Lane]*observedLane{}, forecasts: newForecasts(),
	}
	for _, l := range d.Lanes() {
		o.lanes[l] = &observedLane{queued: map[events.RequestID][]events.JobID{}}
	}
	c := newChecker(t, maxInProgress)
	for _, e := range recorded {
		c.look(e)
		o.look(e)
		if t.Failed() {
			t.Fatalf("at event %d of %s", e.Seq, e.Time)
		}
	}
	if len(o.open) > 0 || len(o.requests) != count {
		t.Errorf("%d of %d requests have not ended, want %d in all", len(o.open), len(o.requests), count)
	}
	states := map[events.RequestState]int{}
	for _, r := range o.requests {
		states[r.State]++
	}
	t.Logf("ended as: %v; %d admissions, %d dispatches, up to %d ready at once", states, o.admitted, o.dispatched, o.deepest)
	o.report(t)
}

// look judges an event by the state before it, and then folds it.
func (o *observer) look(e events.Recorded) {
	if e.Time.After(o.now) {
		o.noStall(e.Time)
		if len(o.before) > 0 {
			o.foresee(o)
		}
		o.now, o.before = e.Time, nil
	}
	// The other facts are no decisions of the scheduler about the order.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestAdmitted:
		o.admission(f.RequestID)
	case events.JobDispatched:
		o.dispatch(f)
	}
	o.fold(e)
}

// noStall fails if nothing happened until then although something could have happened.
func (o *observer) noStall(until time.Time) {
	if until.Sub(o.now) <= patience {
		return
	}
	if o.ready > 0 && len(o.running) < o.maxInProgress {
		o.t.Errorf("nothing starts for %s, and %d requests are ready", until.Sub(o.now), o.ready)
	}
	for l, lane := range o.lanes {
		if lane.current == 0 && (lane.waiting > 0 || len(lane.queued) > 0) {
			o.t.Errorf("lane %s is idle for %s, and has %d jobs dispatched and those of %d requests queued", l, until.Sub(o.now), lane.waiting, len(lane.queued))
		}
	}
}

// admission checks that the admitted request was the first that could start, at some point of this moment.
func (o *observer) admission(id events.RequestID) {
	o.admitted++
	if len(o.running) >= o.maxInProgress {
		o.t.Errorf("%s is admitted, and %d are in progress", id, len(o.running))
	}
	var first events.RequestID
	for _, q := range append([]observedQueue{o.queue()}, o.before...) {
		if first = q.first(); first == id {
			return
		}
	}
	o.t.Errorf("%s is admitted, and %s is the first of the queue", id, first)
}

func (o *observer) queue() observedQueue {
	q := observedQueue{done: o.tags.Done}
	for id := range o.open {
		q.entries = append(q.entries, entryOf(o.requests[id]))
	}
	return q
}

func entryOf(r request.Request) queue.Entry {
	return queue.Entry{
		ID: r.ID, Kind: r.Kind, State: r.State, Suite: r.Artifact.Suite, Tag: r.Artifact.Tag, Parent: r.Parent, PR: r.PR,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, ReleasedOn: r.ReleasedOn,
	}
}

func (q observedQueue) places() []queue.Place {
	return queue.Order(q.entries, q.done)
}

// first returns the request that must start next.
func (q observedQueue) first() events.RequestID {
	for _, p := range q.places() {
		if p.State == events.StateArtifactsReady && p.Startable {
			return p.ID
		}
	}
	return ""
}

// dispatch checks that the job is the next of its lane.
func (o *observer) dispatch(f events.JobDispatched) {
	o.dispatched++
	lane := o.lanes[f.Job.Lane()]
	var first request.Request
	for id := range lane.queued {
		if r := o.requests[id]; !first.Exists() || startsBefore(r, first) {
			first = r
		}
	}
	if !first.Exists() || lane.queued[first.ID][0] != f.Job.ID {
		o.t.Errorf("job %s of request %s is dispatched, and request %s comes first", f.Job.ID, f.Job.RequestID, first.ID)
	}
}

func startsBefore(a, b request.Request) bool {
	return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.PR, b.PR), cmp.Compare(a.ID, b.ID)) < 0
}

// fold applies an event to the observer's state.
func (o *observer) fold(e events.Recorded) {
	// The other facts change neither requests nor jobs.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestCreated:
		o.change(f.RequestID, e)
	case events.RequestArtifactsReady:
		o.change(f.RequestID, e)
	case events.RequestStarted:
		o.change(f.RequestID, e)
	case events.RequestCompleted:
		o.change(f.RequestID, e)
	case events.RequestFailed:
		o.change(f.RequestID, e)
	case events.RequestExpired:
		o.change(f.RequestID, e)
	case events.RequestSuperseded:
		o.change(f.RequestID, e)
	case events.RequestCancelled:
		o.change(f.RequestID, e)
	case events.JobsWithdrawn:
		for _, id := range f.Jobs {
			j := o.jobs[id]
			lane := o.lanes[j.spec.Lane()]
			left := slices.DeleteFunc(lane.queued[j.spec.RequestID], func(q events.JobID) bool { return q == id })
			if lane.queued[j.spec.RequestID] = left; len(left) == 0 {
				delete(lane.queued, j.spec.RequestID)
			}
			delete(o.jobs, id)
		}
	case events.JobsCreated:
		for _, j := range f.Jobs {
			o.jobs[j.ID] = &observedJob{spec: j}
			lane := o.lanes[j.Lane()]
			lane.queued[f.RequestID] = append(lane.queued[f.RequestID], j.ID)
		}
		o.requests[f.RequestID] = request.Evolve(o.requests[f.RequestID], f, e.Time)
		o.made(f)
	case events.JobDispatched:
		lane := o.lanes[f.Job.Lane()]
		lane.waiting++
		o.jobs[f.Job.ID].dispatched = true
		list := lane.queued[f.Job.RequestID]
		if lane.queued[f.Job.RequestID] = slices.Delete(list, 0, 1); len(list) == 1 {
			delete(lane.queued, f.Job.RequestID)
		}
	case events.JobDequeued:
		o.lanes[f.Lane].waiting--
		o.lanes[f.Lane].current++
		o.jobs[f.Job.ID].dequeuedAt = e.Time
	case events.JobFinished:
		j := o.jobs[f.JobID]
		if j.dequeuedAt.IsZero() {
			o.lanes[f.Lane].waiting--
		} else {
			o.lanes[f.Lane].current--
		}
		if f.Outcome != events.Cancelled {
			o.measured(j.spec, f)
		}
		delete(o.jobs, f.JobID)
	}
}

// change folds a fact about a request.
func (o *observer) change(id events.RequestID, e events.Recorded) {
	o.before = append(o.before, o.queue())
	old := o.requests[id]
	r := request.Evolve(old, e.Fact, e.Time)
	o.requests[id] = r
	if old.State == events.StateArtifactsReady {
		o.ready--
	}
	if r.State == events.StateArtifactsReady {
		o.ready++
		o.deepest = max(o.deepest, o.ready)
	}
	delete(o.running, id)
	if r.State == events.StateInProgress {
		o.running[id] = true
	}
	if o.open[id] = true; r.State.Terminal() {
		delete(o.open, id)
	}
	o.tags.Leave(old.Artifact.Suite, old.Artifact.Tag, old.State)
	o.tags.Enter(r.Artifact.Suite, r.Artifact.Tag, r.State)
	o.follow(o, r)
}
