package client

import (
	"time"

	"github.com/tachobench/tacho/compare"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// QueuePlace is one place of the queue, in the stable form that scripts rely on.
type QueuePlace struct {
	// Position counts from 1.
	Position  int                `json:"position"`
	RequestID events.RequestID   `json:"request_id"`
	Kind      events.RequestKind `json:"kind"`
	// Tag is empty while a try request waits for its artifact.
	Tag       events.Tag `json:"tag"`
	ParentTag events.Tag `json:"parent_tag"`
	// PR is nil when there is no pull request.
	PR    *int                `json:"pr"`
	State events.RequestState `json:"state"`
	// Reason says in words why the request has this place.
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
	// EstimatedStart and EstimatedEnd are nil when nothing can be said.
	EstimatedStart *time.Time `json:"estimated_start"`
	EstimatedEnd   *time.Time `json:"estimated_end"`
}

// CollectorState is the closed set of states of a collector as they are shown: what the log says, and what
// the heartbeats say since.
type CollectorState string

// The states of a collector.
const (
	// CollectorInactive: it takes no jobs until it is activated.
	CollectorInactive CollectorState = "inactive"
	// CollectorOffline: it was never seen, has left, or sends no heartbeat.
	CollectorOffline CollectorState = "offline"
	CollectorIdle    CollectorState = "idle"
	// CollectorBenchmarking: it executes a job.
	CollectorBenchmarking CollectorState = "benchmarking"
	// CollectorDraining: it finishes its job and takes no other.
	CollectorDraining CollectorState = "draining"
)

// Heartbeat is the newest sign of life of a collector's process.
type Heartbeat struct {
	eventlog.Beat
	// AgeMS is how old it was when the answer was made.
	AgeMS int64 `json:"age_ms"`
}

// Collector is a registered collector with what its heartbeat tells.
type Collector struct {
	readmodel.Collector
	// State is what to show; it knows of silence before the log does.
	State CollectorState `json:"state"`
	// Heartbeat is nil when there is none.
	Heartbeat *Heartbeat `json:"heartbeat"`
}

// Status is everything that the status page shows, seen at one moment.
type Status struct {
	// Version is that of the program that answers, Now its clock.
	Version string    `json:"version"`
	Now     time.Time `json:"now"`
	readmodel.Status
	// Collectors are all that were ever registered, by name, with their heartbeats.
	Collectors []Collector `json:"collectors"`
}

// Compared is one side of a comparison.
type Compared struct {
	Tag events.Tag `json:"tag"`
	// RequestID and State are those of the newest request for the artifact; empty when there was none and
	// the results come from a backfill.
	RequestID events.RequestID    `json:"request_id"`
	State     events.RequestState `json:"state"`
	// Cases is how many test cases have results.
	Cases int `json:"cases"`
	// Complete is set when its request is completed; else Note says in words what may be missing.
	Complete bool   `json:"complete"`
	Note     string `json:"note,omitempty"`
}

// Comparison is the judgement on two artifacts, and on what it rests.
type Comparison struct {
	Suite events.SuiteName `json:"suite"`
	// Definitions are those that gave metrics and categories their meaning.
	Definitions events.Digest `json:"definitions"`
	// A is compared with, B is judged.
	A Compared `json:"a"`
	B Compared `json:"b"`
	// Complete is set when both sides are; else Incomplete says in words what may be missing.
	Complete   bool   `json:"complete"`
	Incomplete string `json:"incomplete,omitempty"`
	compare.Comparison
}

// RequestAnswer is what a command to a request came to.
type RequestAnswer struct {
	control.Answer
	RequestID events.RequestID    `json:"request_id"`
	Suite     events.SuiteName    `json:"suite"`
	Kind      events.RequestKind  `json:"kind"`
	Tag       events.Tag          `json:"tag"`
	ParentTag events.Tag          `json:"parent_tag"`
	State     events.RequestState `json:"state"`
}

// DefinitionsAnswer is what publishing definitions came to.
type DefinitionsAnswer struct {
	control.Answer
	Suite  events.SuiteName `json:"suite"`
	Digest events.Digest    `json:"digest"`
}

// Reason is the body of commands that may say why.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// Artifacts is the body of the command that says that a try's artifact exists.
type Artifacts struct {
	Tag       events.Tag `json:"tag"`
	ParentTag events.Tag `json:"parent_tag,omitempty"`
}
