package readmodel

import (
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// Only the projector reads these rows: its folds continue from them.

// LaneRow is one row of lane: the state of a lane's work, which decides which facts count, and the jobs that were
// dispatched to it.
type LaneRow struct {
	Target     events.Target           `db:"target"`
	Set        events.Set              `db:"set"`
	Place      uint64                  `db:"place,numeric"`
	Phase      job.Phase               `db:"phase"`
	JobID      events.JobID            `db:"job_id"`
	Collector  events.CollectorName    `db:"collector"`
	Token      events.Seq              `db:"token"`
	Dispatched map[uint64]events.JobID `db:"dispatched"`
}

// AssignmentRow is one row of assignment: a collector that may serve a lane.
type AssignmentRow struct {
	Target     events.Target        `db:"target"`
	Set        events.Set           `db:"set"`
	Name       events.CollectorName `db:"name"`
	Standby    bool                 `db:"standby"`
	Serving    bool                 `db:"serving"`
	AssignedAt time.Time            `db:"assigned_at"`
	Seq        events.Seq           `db:"seq"`
}

// DurationsRow is one row of job_duration: how long the last jobs of a sort took, oldest first.
type DurationsRow struct {
	Suite        events.SuiteName `db:"suite"`
	Target       events.Target    `db:"target"`
	Set          events.Set       `db:"set"`
	Kind         events.JobKind   `db:"kind"`
	Backend      events.Backend   `db:"backend"`
	Profile      events.Profile   `db:"profile"`
	FinishedSeqs []events.Seq     `db:"finished_seqs"`
	LengthsMS    []int64          `db:"lengths_ms"`
}

// ExpectedRow is one row of expected_jobs: the jobs that the newest started request of a sort was given.
type ExpectedRow struct {
	Suite      events.SuiteName   `db:"suite"`
	Kind       events.RequestKind `db:"kind"`
	Parameters string             `db:"parameters"`
	RequestID  events.RequestID   `db:"request_id"`
	Jobs       []ExpectedJob      `db:"jobs"`
}

// ExpectedJob is one job of an ExpectedRow.
type ExpectedJob struct {
	Target   events.Target  `json:"target"`
	Set      events.Set     `json:"set"`
	Kind     events.JobKind `json:"kind"`
	Backend  events.Backend `json:"backend"`
	Profile  events.Profile `json:"profile"`
	Optional bool           `json:"optional"`
	Cases    int            `json:"cases"`
	// Matched is what a matched job needs of its machine; nil for the others.
	Matched *ExpectedMatch `json:"matched,omitempty"`
}

// ExpectedMatch is what a matched job needs of its machine: its terms, and a machine that accepts its kind of artifact.
type ExpectedMatch struct {
	Requires []string           `json:"requires"`
	Kind     events.RequestKind `json:"kind"`
}
