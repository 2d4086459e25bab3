package ledger

import (
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/queue"
)

// Job is one job in one of its rounds. Many jobs wait at once, so they share what they have in common.
type Job struct {
	*course
	// ID and Round are those of its spec.
	ID    events.JobID
	Round int
	of    *origin
	like  *events.JobSpec
	// wanters are the requests that hold it in memory: those that want it, and those that wanted it until it ended; nil for
	// none. Jobs share the list, so it is replaced, never changed. It is behind a pointer because most jobs have the one of the
	// job before.
	wanters *[]Wanter
	// resting is set when it has ended and is on no lane, lined while it stands in a line.
	resting, lined bool
}

// course is what has happened to a job. All new jobs share one course, so a course is replaced, never changed.
type course struct {
	job.Life
	// Since is when its current attempt began.
	Since time.Time `json:",omitzero"`
	// Losers are the collectors that lost an attempt of it.
	Losers []events.CollectorName `json:",omitempty"`
	// On is the lane that a matched job is bound to; zero while it waits, and for the others.
	On events.Lane `json:",omitzero"`
	// Graphed jobs were made in a graph: they run when one of their graphs has them ready.
	Graphed bool `json:",omitempty"`
	// Uses says that it uses outputs of other jobs.
	Uses bool `json:",omitempty"`
	// Near are those of its caches that some machine had when it came into the line.
	Near []string `json:",omitempty"`
	// Share is what a chunk measures, once that is decided; nil before, and for other jobs.
	Share *events.Chunk `json:",omitempty"`
}

var (
	justMade    = &course{Life: job.Made()}
	justGraphed = &course{Life: job.Made(), Graphed: true}
)

// fares replaces the course of a job with a changed copy.
func (j *Job) fares(change func(*course)) {
	c := *j.course
	change(&c)
	j.course = &c
}

// Spec returns the job as it was made.
func (j *Job) Spec() events.JobSpec {
	s := *j.like
	s.ID, s.Round, s.Artifact, s.Definitions, s.RequestID = j.ID, j.Round, j.of.artifact, j.of.definitions, j.of.request
	if m := j.of.more; m != nil {
		if m.against != (events.Artifact{}) {
			against := m.against
			s.Against = &against
		}
		if m.caches != "" {
			s.Caches = strings.Fields(m.caches)
		}
		s.Sample, s.Iterations, s.Recipe = m.sample, m.iterations, m.recipe
		if m.checkouts != "" {
			s.Checkouts = checkoutsOf(m.checkouts)
		}
		s.Chunk = j.chunk()
	}
	if t := s.Tokens; t != nil {
		own := *t
		s.Tokens = &own
	}
	if j.On != (events.Lane{}) {
		on := j.On
		s.On = &on
	}
	return s
}

// wantedBy returns the requests that hold the job in memory. The list belongs to other jobs, too.
func (j *Job) wantedBy() []Wanter {
	if j.wanters == nil {
		return nil
	}
	return *j.wanters
}

// Sampled reports whether the job is a sample beside the base series of its artifact.
func (j *Job) Sampled() bool { return j.of.more != nil && j.of.more.sample != "" }

// Lane returns the lane that the job is dispatched on; the zero lane for a matched job that waits.
func (j *Job) Lane() events.Lane {
	if j.like.Matched {
		return j.On
	}
	return j.like.Part()
}

// Sort returns the properties that decide how long the job takes.
func (j *Job) Sort() queue.Sort {
	return queue.Sort{Suite: j.of.artifact.Suite, Lane: j.like.Part(), Kind: j.like.Kind, Backend: j.like.Backend, Profile: j.like.Profile}
}

// Wanter is a request that holds a job in memory. Counts is set when the request waits for the job's end. Repair is set
// when a repair asked for the job: it stays wanted even if its request was cancelled before. Looks is set when the
// request got its job back after its end: it looks at the job, but does not want it.
type Wanter struct {
	Request               events.RequestID
	Counts, Repair, Looks bool `json:",omitempty"`
}

// dispatched returns a job as it was dispatched at a place of a lane: with what it uses and has there.
func (l *Ledger) dispatched(lane *Lane, place uint64, j *Job) events.JobSpec {
	if d, ok := lane.Dispatches[place]; ok && d.Job.ID == j.ID {
		return d.Job
	}
	return j.Spec()
}
