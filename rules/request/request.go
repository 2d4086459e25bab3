// Package request decides the life of a request: what may happen to it, and what it is after it happened.
//
//	                artifacts ready        jobs enqueued
//	waiting_for_artifacts ──▶ artifacts_ready ──▶ in_progress ──┬──▶ completed
//	        │                        │                 │        └──▶ failed
//	        └─────────── cancelled / expired / superseded
//
// Decide answers with facts or a refusal; asking for what already is answers with nothing. Evolve cannot
// fail: if the log says it, it happened. A terminal state never changes: a late fact is recorded by the
// log and changes nothing here.
package request

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
)

// QuarantineAfter is how often the expansion of a request may fail before it is taken out of the queue.
const QuarantineAfter = 3

// Request is the state of one request, folded from its events. The zero value does not exist yet.
type Request struct {
	ID       events.RequestID    `json:",omitzero"`
	Kind     events.RequestKind  `json:",omitzero"`
	State    events.RequestState `json:",omitzero"`
	Artifact events.Artifact     `json:",omitzero"`
	Parent   events.Tag          `json:",omitzero"`
	// AskedParent is the parent that it was created with; its artifact may have come with another one.
	AskedParent events.Tag        `json:",omitzero"`
	PR          int               `json:",omitzero"`
	ReleasedOn  time.Time         `json:",omitzero"`
	Parameters  events.Parameters `json:",omitzero"`
	CreatedAt   time.Time         `json:",omitzero"`
	StartedAt   time.Time         `json:",omitzero"`
	EndedAt     time.Time         `json:",omitzero"`
	// Definitions is what its jobs were made with; empty before the start.
	Definitions events.Digest `json:",omitzero"`
	// ExpansionFailures counts how often it could not be turned into jobs.
	ExpansionFailures int `json:",omitzero"`
	// ExpansionFailedAt is when it last could not, ExpansionError why.
	ExpansionFailedAt time.Time `json:",omitzero"`
	ExpansionError    string    `json:",omitzero"`
	// WaitsFor says in words what the farm lacks to turn it into jobs; empty when nothing.
	WaitsFor string `json:",omitzero"`
	// Jobs are its own and those it asked of its parent, in the order they were made.
	Jobs []events.JobID `json:",omitzero"`
	// Shared are jobs of its own that another request had made before.
	Shared []events.JobID `json:",omitzero"`
	// Asked are the keys of all that was wished for besides, Wishes those that have no answer yet.
	Asked  []string             `json:",omitzero"`
	Wishes []events.GraphWanted `json:",omitzero"`
}

// Exists reports whether the request was ever created.
func (r Request) Exists() bool { return r.ID != "" }

// Refusal says why a command is not carried out. Nothing was recorded.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// Command is the closed set of commands to a request.
//
//sumtype:decl
type Command interface{ command() }

// Create asks for a request.
type Create struct {
	Suite      events.SuiteName
	Kind       events.RequestKind
	Key        string
	Tag        events.Tag
	Parent     events.Tag
	PR         int
	ReleasedOn string
	Parameters events.Parameters
	// AsItIs takes a request that exists already, however it differs.
	AsItIs bool
	// Waits says that the artifact is not there yet: the request waits for it.
	Waits bool
}

// ArtifactsReady says that the artifact of a waiting request exists.
type ArtifactsReady struct{ Tag, Parent events.Tag }

// BuildFailed says that the try build failed that the request waits for. Another one may follow.
type BuildFailed struct{ Reason, URL string }

// Start makes the request's jobs and puts it in progress.
type Start struct {
	Definitions events.Digest
	Jobs        []events.JobSpec
	Backfill    []events.JobSpec
	// Shared are jobs that exist already.
	Shared []events.JobID
}

// AddBackfill makes jobs for a parent that appeared after the start.
type AddBackfill struct{ Jobs []events.JobSpec }

// FailExpansion says that the request could not be turned into jobs.
type FailExpansion struct{ Reason string }

// Hold says that the farm lacks what it takes to turn the request into jobs, which is not the request's fault: it waits.
// Each lack is said once, whatever the detail: two programs may put that into different words, and would answer each
// other for ever.
type Hold struct{ Lack, Detail string }

// Want wishes for more jobs of the request, whatever its state. One key is one wish.
type Want struct {
	Key    string
	Kind   events.GraphKind
	Select []events.JobID
	Reason string
}

// Grant makes the jobs of a wish, Refuse says why there will be none.
type (
	Grant struct {
		Key  string
		Jobs []events.JobSpec
	}
	Refuse struct{ Key, Reason string }
)

// Complete ends a request whose required jobs all ended: Failed of Jobs of them as failures.
type Complete struct{ Jobs, Failed int }

// Cancel withdraws the request.
type Cancel struct{ Reason string }

// Expire ends a wait for artifacts that took longer than Limit.
type Expire struct{ Limit time.Duration }

// Supersede replaces a request that has not started by a newer one.
type Supersede struct{ By events.RequestID }

func (Create) command()         {}
func (ArtifactsReady) command() {}
func (BuildFailed) command()    {}
func (Start) command()          {}
func (AddBackfill) command()    {}
func (FailExpansion) command()  {}
func (Hold) command()           {}
func (Want) command()           {}
func (Grant) command()          {}
func (Refuse) command()         {}
func (Complete) command()       {}
func (Cancel) command()         {}
func (Expire) command()         {}
func (Supersede) command()      {}
