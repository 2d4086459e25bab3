package scheduler

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
	"github.com/tachobench/tacho/request"
	"github.com/tachobench/tacho/suite"
)

// artifactKey names an artifact within the log: requests are each other's parents by it.
type artifactKey struct {
	suite events.SuiteName
	tag   events.Tag
}

// state is everything that the scheduler decides on, folded from the log. Nothing else feeds it.
type state struct {
	// seq is the last event folded, versions the last one of each subject that is appended to.
	seq      events.Seq
	versions map[events.Subject]events.Seq
	// newest is the time of the newest event: the log's own clock.
	newest time.Time

	requests map[events.RequestID]*request.Request
	// pending are the requests that have not ended.
	pending map[events.RequestID]*request.Request
	// running and waiting are the pending ones in progress and without artifacts.
	running, waiting map[events.RequestID]bool
	// byTag finds the first request of an artifact.
	byTag map[artifactKey]events.RequestID
	// roots says where each request began.
	roots map[events.RequestID]string
	// backfilled are requests in progress whose parent was known when their jobs were made.
	backfilled map[events.RequestID]bool

	jobs  map[events.JobID]*jobState
	lanes map[events.Lane]*laneState

	collectors map[events.CollectorName]*collectorState
	// definitions by digest, and the current digest of each suite.
	definitions map[events.Digest]suite.Definitions
	current     map[events.SuiteName]events.Digest
	// unusable says why the newest definitions of a suite cannot be used.
	unusable map[events.SuiteName]error
}

type jobState struct {
	spec  events.JobSpec
	state events.JobState
	// place is where it was dispatched on its lane; 0 before.
	place uint64
}

type laneState struct {
	work job.Lane
	// places is the place of the newest dispatch.
	places uint64
	// dispatched are the jobs by place, from the oldest that has not ended.
	dispatched map[uint64]events.JobID
	// queued are the jobs that wait for dispatch, per request in the order they were made.
	queued map[events.RequestID][]events.JobID
	// collectors are those that are assigned to the lane; serving is the one that took it over, empty while
	// nobody did.
	collectors map[events.CollectorName]bool
	serving    events.CollectorName
}

type collectorState struct {
	lane     events.Lane
	active   bool
	online   bool
	draining bool
	// quarantined collectors take no jobs until a person activates them.
	quarantined bool
	instance    string
	// onlineAt is when the process said that it is there.
	onlineAt time.Time
}

func newState() *state {
	return &state{
		versions: map[events.Subject]events.Seq{}, requests: map[events.RequestID]*request.Request{},
		pending: map[events.RequestID]*request.Request{}, running: map[events.RequestID]bool{}, waiting: map[events.RequestID]bool{}, byTag: map[artifactKey]events.RequestID{},
		roots: map[events.RequestID]string{}, backfilled: map[events.RequestID]bool{}, jobs: map[events.JobID]*jobState{}, lanes: map[events.Lane]*laneState{},
		collectors: map[events.CollectorName]*collectorState{}, definitions: map[events.Digest]suite.Definitions{},
		current: map[events.SuiteName]events.Digest{}, unusable: map[events.SuiteName]error{},
	}
}

func (s *state) lane(l events.Lane) *laneState {
	ls, ok := s.lanes[l]
	if !ok {
		ls = &laneState{
			dispatched: map[uint64]events.JobID{}, queued: map[events.RequestID][]events.JobID{}, collectors: map[events.CollectorName]bool{},
		}
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

// parentOf returns the request for the parent of r, if there is one.
func (s *state) parentOf(r *request.Request) (*request.Request, bool) {
	if r.Parent == "" {
		return nil, false
	}
	p, ok := s.requests[s.byTag[artifactKey{r.Artifact.Suite, r.Parent}]]
	return p, ok
}
