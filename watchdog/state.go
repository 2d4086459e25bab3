package watchdog

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
	"github.com/tachobench/tacho/queue"
)

// state is what the log says about whether the farm works, folded from it. All times in it are those at which
// the log stored the events: one clock for all who wrote them.
type state struct {
	// seq is the last event folded, reader tells what is litter.
	seq    events.Seq
	reader events.Reader
	// requests are those that have not ended, jobs those of all requests that have not ended.
	requests   map[events.RequestID]*requestState
	jobs       map[events.JobID]*jobState
	lanes      map[events.Lane]*laneState
	collectors map[events.CollectorName]*collectorState
	// standing are the alerts that stand, whoever raised them.
	standing map[events.AlertKey]standing
	// unreachable is when the newest alert about an unreachable log was raised.
	unreachable time.Time
	// poison are the requests that could not be turned into jobs.
	poison  map[events.RequestID]*poison
	lengths lengths
	// able counts the requests that could move; moved is when work went on for the last time, idle until when there
	// was none.
	able        int
	moved, idle time.Time
}

type requestState struct {
	suite  events.SuiteName
	tag    events.Tag
	state  events.RequestState
	failed events.RequestExpansionFailed
	cause  events.Seq
}

type jobState struct {
	spec       events.JobSpec
	dispatched bool
	// collector executes the job since then, in the attempt of that token; empty while it is queued.
	collector events.CollectorName
	since     time.Time
	token     events.Seq
}

func (j *jobState) sort() queue.Sort {
	return queue.Sort{Suite: j.spec.Artifact.Suite, Lane: j.spec.Lane(), Kind: j.spec.Kind, Backend: j.spec.Backend, Profile: j.spec.Profile}
}

// laneState counts the jobs of a lane that are queued, and those of them that block their requests.
type laneState struct {
	queued, required int
	running          map[events.JobID]*jobState
	// serving counts the collectors that take its jobs, or would if they were there.
	serving int
	// work is where the lane's work is, places are the jobs that were dispatched to it and have not ended there.
	work   job.Lane
	places map[uint64]events.JobID
	// unserved is since when jobs are queued and no collector serves the lane; zero when that is not so.
	unserved time.Time
	cause    events.Seq
}

type collectorState struct {
	lane                      events.Lane
	standby, active, draining bool
	// removed is set for ever.
	removed bool
	// met is set once a process of it was online.
	met      bool
	instance string
	// quarantined says why it is; empty when it is not.
	quarantined string
	// updating is when it left to be replaced by the version wanted; zero when it did not.
	updating time.Time
	wanted   string
	// unfetched says why the wanted version could not be had; empty when nothing failed.
	unfetched string
	// since is when it was last expected anew: registered, activated or online.
	since time.Time
	// cause is the last event about it.
	cause events.Seq
}

// serves reports whether the collector takes jobs, or would if it were there.
func (c *collectorState) serves() bool { return c.active && !c.draining && c.quarantined == "" }

type standing struct {
	events.AlertRaised
	at  time.Time
	seq events.Seq
}

// poison is a request that was quarantined; resolved says that its suite has new definitions since.
type poison struct {
	suite    events.SuiteName
	tag      events.Tag
	reason   string
	at       time.Time
	cause    events.Seq
	resolved bool
}

func newState() *state {
	return &state{
		requests: map[events.RequestID]*requestState{}, jobs: map[events.JobID]*jobState{}, lanes: map[events.Lane]*laneState{},
		collectors: map[events.CollectorName]*collectorState{}, standing: map[events.AlertKey]standing{},
		poison: map[events.RequestID]*poison{}, lengths: lengths{},
	}
}

// working reports whether there is work that could move.
func (s *state) working() bool { return s.able > 0 }

// turn gives a request another state.
func (s *state) turn(r *requestState, to events.RequestState) {
	moves := func(state events.RequestState) int {
		if state == events.InProgress || state == events.ArtifactsReady {
			return 1
		}
		return 0
	}
	s.able += moves(to) - moves(r.state)
	r.state = to
}

func (s *state) lane(l events.Lane) *laneState {
	ls, ok := s.lanes[l]
	if !ok {
		ls = &laneState{running: map[events.JobID]*jobState{}, places: map[uint64]events.JobID{}}
		s.lanes[l] = ls
	}
	return ls
}

func (s *state) collector(name events.CollectorName) *collectorState {
	c, ok := s.collectors[name]
	if !ok {
		c = &collectorState{}
		s.collectors[name] = c
	}
	return c
}

// look notes since when a lane has jobs and nobody for them.
func (s *state) look(l events.Lane, at time.Time, seq events.Seq) {
	lane := s.lane(l)
	switch unserved := lane.queued > 0 && lane.serving == 0; {
	case !unserved:
		lane.unserved = time.Time{}
	case lane.unserved.IsZero():
		lane.unserved, lane.cause = at, seq
	}
}

// add makes a queued job unless it is known.
func (s *state) add(spec events.JobSpec) *jobState {
	j, ok := s.jobs[spec.ID]
	if !ok {
		j = &jobState{spec: spec}
		s.jobs[spec.ID] = j
		s.count(j, 1)
	}
	return j
}

// count changes the counts of the lane by a queued job.
func (s *state) count(j *jobState, by int) {
	lane := s.lane(j.spec.Lane())
	lane.queued += by
	if !j.spec.Optional {
		lane.required += by
	}
}

// counts applies a fact to the work of its lane, and reports whether it counts (job.Counts).
func (s *state) counts(l events.Lane, f events.Fact, e events.Recorded) bool {
	lane := s.lane(l)
	dispatched := func(place uint64) (id events.JobID, ok bool) { id, ok = lane.places[place]; return id, ok }
	if !job.Counts(lane.work, f, dispatched) {
		return false
	}
	if lane.work = job.Evolve(lane.work, f, e.Seq, e.Time); lane.work.Phase == job.Ended {
		delete(lane.places, lane.work.Place)
	}
	return true
}

// run makes a queued job a running one.
func (s *state) run(j *jobState, by events.CollectorName, at time.Time, token events.Seq) {
	if j.collector == "" {
		s.count(j, -1)
	}
	j.collector, j.since, j.token = by, at, token
	s.lane(j.spec.Lane()).running[j.spec.ID] = j
}

// requeue makes a running job a queued one.
func (s *state) requeue(id events.JobID) {
	j, ok := s.jobs[id]
	if !ok || j.collector == "" {
		return
	}
	delete(s.lane(j.spec.Lane()).running, id)
	j.collector, j.since, j.token = "", time.Time{}, 0
	s.count(j, 1)
}

// end forgets a job.
func (s *state) end(id events.JobID) {
	s.requeue(id)
	if j, ok := s.jobs[id]; ok {
		s.count(j, -1)
		delete(s.jobs, id)
	}
}
