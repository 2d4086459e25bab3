package ledger

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/queue"
)

// Job is one job in one of its rounds. Many wait at once, so what jobs have in common is kept once.
type Job struct {
	*course
	// ID and Round are those of its spec.
	ID    events.JobID
	Round int
	of    *origin
	like  *events.JobSpec
	// Wanters are the requests that stand for it: those that want it, and that wanted it until it had ended.
	Wanters []Wanter
	// resting is set when it has ended and is on no lane.
	resting bool
}

// course is how a job has fared. All that were just made have one course: it is replaced and never changed.
type course struct {
	job.Life
	// Since is when its current attempt began.
	Since time.Time `json:",omitzero"`
	// Losers are the collectors that lost an attempt of it.
	Losers []events.CollectorName `json:",omitempty"`
}

var justMade = &course{Life: job.Made()}

// fares changes how a job has fared.
func (j *Job) fares(change func(*course)) {
	c := *j.course
	change(&c)
	j.course = &c
}

// Spec returns the job as it was made.
func (j *Job) Spec() events.JobSpec {
	s := *j.like
	s.ID, s.Round, s.Artifact, s.Definitions, s.RequestID = j.ID, j.Round, j.of.artifact, j.of.definitions, j.of.request
	return s
}

// Lane returns the lane that it is dispatched on.
func (j *Job) Lane() events.Lane { return j.like.Lane() }

// Sort is what tells how long the job may take.
func (j *Job) Sort() queue.Sort {
	return queue.Sort{Suite: j.of.artifact.Suite, Lane: j.Lane(), Kind: j.like.Kind, Backend: j.like.Backend, Profile: j.like.Profile}
}

// Wanter is a request that stands for a job. It counts the job if it waits for its end; a repair stays wanted when its
// request was cancelled before. One that is asked about after its end looks at its jobs, and wants nothing.
type Wanter struct {
	Request               events.RequestID
	Counts, Repair, Looks bool `json:",omitempty"`
}
