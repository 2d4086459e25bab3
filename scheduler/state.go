package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/job"
	"github.com/tachobench/tacho/queue"
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
	// reader tells what is litter.
	reader events.Reader
	// litter is what changed nothing and was not told of yet, by subject; littered counts all of it.
	litter   map[events.Subject]litter
	littered int
	// newest is the time of the newest event: the log's own clock.
	newest time.Time

	requests map[events.RequestID]*request.Request
	// pending are the requests that have not ended.
	pending map[events.RequestID]*request.Request
	// running and waiting are the pending ones in progress and without artifacts.
	running, waiting map[events.RequestID]bool
	// byTag finds the first request of an artifact; tags tell which artifacts are done.
	byTag map[artifactKey]events.RequestID
	tags  queue.Tags
	// wishing are the requests with wishes that have no answer, withdrawn those cancelled ones that may leave jobs
	// which nobody wants.
	wishing, withdrawn map[events.RequestID]bool
	// torn are requests in progress of whose jobs some were cancelled with another request.
	torn map[events.RequestID]bool
	// artifacts holds what its jobs have shown of each artifact.
	artifacts map[artifactKey]artifactState
	// roots says where each request began.
	roots map[events.RequestID]string
	// open counts the required jobs that requests in progress wait for.
	open map[events.RequestID]int
	// backfilled are requests in progress that have asked their parent for what it lacked.
	backfilled map[events.RequestID]bool
	// owed counts what is still to come of the batch of the newest admission: a batch is written as a whole and
	// may be read in parts, and nothing is to be decided on half of one.
	owed int

	// at is the time of the event that is folded.
	at        time.Time
	retention retention

	jobs  map[events.JobID]*jobState
	lanes map[events.Lane]*laneState
	// laneOrder holds the lanes by name: the order in which they are looked at.
	laneOrder []events.Lane

	collectors map[events.CollectorName]*collectorState
	// definitions by digest, and the current digest of each suite.
	definitions map[events.Digest]suite.Definitions
	current     map[events.SuiteName]events.Digest
	// unusable says why the newest definitions of a suite cannot be used.
	unusable map[events.SuiteName]error
}

// litter is what was written on a subject and changes nothing: how often, and the last of it.
type litter struct {
	count int
	seq   events.Seq
	// collector is who wrote it by its own word; empty when that cannot be read.
	collector events.CollectorName
	why       string
}

// drop notes an event that changes nothing.
func (s *state) drop(on events.Subject, seq events.Seq, by events.CollectorName, why string) {
	s.littered++
	s.litter[on] = litter{count: s.litter[on].count + 1, seq: seq, collector: by, why: why}
}

type jobState struct {
	job.Life
	spec events.JobSpec
	// wanters are the requests that want it, until it has ended.
	wanters []wanter
	// losers are the collectors that lost an attempt of it.
	losers []events.CollectorName
}

// wanter is a request that wants a job. It counts the job if it waits for its end; a repair stays wanted when its
// request was cancelled before.
type wanter struct {
	request        events.RequestID
	counts, repair bool
}

// artifactState is what the jobs of an artifact have shown of it.
type artifactState struct {
	// since is when transient errors with it began; zero when there is none.
	since time.Time
	// good is a collector that had it in hand without a fault of it, others whether there are more.
	good   events.CollectorName
	others bool
}

type laneState struct {
	work job.Work
	// stopping is set while jobs that nobody wants may be among the dispatched ones.
	stopping bool
	// queued are the jobs that wait for dispatch, per request that had them made in the order they were made.
	queued map[events.RequestID][]events.JobID
	// assignment says which collectors share the lane and which of them serves it; served is the last that did.
	assignment job.Assignment
	served     events.CollectorName
}

type collectorState struct {
	standing job.Standing
	// updating is set while it is away for another version.
	updating bool
	// failed are the jobs that it failed in a row for reasons of its own, of different artifacts; failure is why the
	// last of them did.
	failed  []events.JobID
	failure string
}

func newState() *state {
	return &state{
		versions: map[events.Subject]events.Seq{}, litter: map[events.Subject]litter{}, requests: map[events.RequestID]*request.Request{},
		pending: map[events.RequestID]*request.Request{}, running: map[events.RequestID]bool{}, waiting: map[events.RequestID]bool{}, byTag: map[artifactKey]events.RequestID{},
		wishing: map[events.RequestID]bool{}, withdrawn: map[events.RequestID]bool{}, torn: map[events.RequestID]bool{}, artifacts: map[artifactKey]artifactState{},
		roots: map[events.RequestID]string{}, open: map[events.RequestID]int{}, backfilled: map[events.RequestID]bool{}, jobs: map[events.JobID]*jobState{}, lanes: map[events.Lane]*laneState{},
		collectors: map[events.CollectorName]*collectorState{}, definitions: map[events.Digest]suite.Definitions{},
		current: map[events.SuiteName]events.Digest{}, unusable: map[events.SuiteName]error{},
	}
}

func (s *state) lane(l events.Lane) *laneState {
	ls, ok := s.lanes[l]
	if !ok {
		ls = &laneState{queued: map[events.RequestID][]events.JobID{}}
		s.lanes[l] = ls
		at, _ := slices.BinarySearchFunc(s.laneOrder, l, func(a, b events.Lane) int { return strings.Compare(a.String(), b.String()) })
		s.laneOrder = slices.Insert(s.laneOrder, at, l)
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

// lastAbout returns the last event about a collector, whoever said it.
func (s *state) lastAbout(name events.CollectorName) events.Seq {
	return max(s.versions[events.RegistrySubject(name)], s.versions[events.CollectorSubject(name)])
}

// parentOf returns the request for the parent of r, if there is one.
func (s *state) parentOf(r *request.Request) (*request.Request, bool) {
	if r.Parent == "" {
		return nil, false
	}
	p, ok := s.requests[s.byTag[artifactKey{r.Artifact.Suite, r.Parent}]]
	return p, ok
}
