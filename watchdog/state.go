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
	held   held
}

// held is what the farm lacks to start a request, and the event that said it; zero for nothing.
type held struct {
	reason string
	cause  events.Seq
}

type jobState struct {
	job.Life
	spec events.JobSpec
	// since is when its current attempt began.
	since time.Time
}

// executor returns who executes the job now; empty for nobody.
func (j *jobState) executor() events.CollectorName {
	if j.State != events.JobInProgress {
		return ""
	}
	return j.Collector
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
	// work is where the lane's work is, with the jobs that were dispatched to it.
	work job.Work
	// unserved is since when jobs are queued and no collector serves the lane; zero when that is not so.
	unserved time.Time
	cause    events.Seq
}

type collectorState struct {
	job.Standing
	// met is set once a process of it was online.
	met bool
	// quarantine says why it is in quarantine.
	quarantine string
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

// lane returns the lane that it is registered for; none when it is not.
func (c *collectorState) lane() events.Lane {
	if c.Registered == nil {
		return events.Lane{}
	}
	return c.Registered.Lane()
}

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
		ls = &laneState{running: map[events.JobID]*jobState{}}
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
func (s *state) add(spec events.JobSpec) {
	if _, known := s.jobs[spec.ID]; !known {
		j := &jobState{Life: job.Made(), spec: spec}
		s.jobs[spec.ID] = j
		s.count(j, 1)
	}
}

// count changes what the lane of a job has of it in its state.
func (s *state) count(j *jobState, by int) {
	lane := s.lane(j.spec.Lane())
	// Of what has ended a lane has nothing.
	//exhaustive:ignore
	switch j.State {
	case events.JobQueued:
		lane.queued += by
		if !j.spec.Optional {
			lane.required += by
		}
	case events.JobInProgress:
		if by > 0 {
			lane.running[j.spec.ID] = j
		} else {
			delete(lane.running, j.spec.ID)
		}
	}
}

// live applies a fact to the life of a job that has not ended.
func (s *state) live(id events.JobID, f events.Fact, e events.Recorded, at time.Time) {
	j, ok := s.jobs[id]
	if !ok {
		return
	}
	s.count(j, -1)
	if j.Life, _ = job.Live(j.Life, f, e.Seq, e.Time); j.Token == e.Seq {
		j.since = at
	}
	s.count(j, 1)
	if j.State.Terminal() {
		delete(s.jobs, id)
	}
}
