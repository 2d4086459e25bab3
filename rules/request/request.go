// Package request decides the life of a request: what may happen to it, and its state after that.
//
//	                artifacts ready        jobs enqueued
//	waiting_for_artifacts ──▶ artifacts_ready ──▶ in_progress ──┬──▶ completed
//	        │                        │                 │        └──▶ failed
//	        └─────────── cancelled / expired / superseded
//
// Decide returns facts or a refusal. It returns nothing when the request already is as asked. Evolve cannot fail: if
// the log says it, it happened. A terminal state never changes: the log records a late fact, but it changes nothing
// here.
package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// QuarantineAfter is how often the expansion of a request fails before the request leaves the queue as failed.
const QuarantineAfter = 3

// Request is the state of one request, folded from its events. The zero value is a request that does not exist yet.
type Request struct {
	ID       events.RequestID    `json:",omitzero"`
	Kind     events.RequestKind  `json:",omitzero"`
	State    events.RequestState `json:",omitzero"`
	Artifact events.Artifact     `json:",omitzero"`
	Parent   events.Tag          `json:",omitzero"`
	// Account is who asked; empty for everyone without an account. Queue is where it waits; empty for the main queue.
	// Priority is empty for normal.
	Account  events.AccountName `json:",omitzero"`
	Queue    events.QueueName   `json:",omitzero"`
	Priority events.Priority    `json:",omitzero"`
	// Terms are those that the machines of its matched jobs must meet; nil for none.
	Terms *Terms `json:",omitempty"`
	// Chosen is what it chooses among what its definitions offer; nil for the defaults.
	Chosen *Choice `json:",omitempty"`
	// Pinned is what it was created with beside that; nil for nothing.
	Pinned *Pinned `json:",omitempty"`
	// AskedParent is the parent that it was created with. Its build may name another one later.
	AskedParent events.Tag        `json:",omitzero"`
	PR          int               `json:",omitzero"`
	ReleasedOn  time.Time         `json:",omitzero"`
	Parameters  events.Parameters `json:",omitzero"`
	CreatedAt   time.Time         `json:",omitzero"`
	StartedAt   time.Time         `json:",omitzero"`
	EndedAt     time.Time         `json:",omitzero"`
	// Definitions are those that its jobs were made with; empty before the start.
	Definitions events.Digest `json:",omitzero"`
	// Trouble is what kept it from being turned into jobs; nil for nothing.
	Trouble *Trouble `json:",omitempty"`
	// Jobs are its own jobs and those of its parent that it asked for, in the order they were made.
	Jobs []events.JobID `json:",omitzero"`
	// Shared are jobs that it needs and that another request made before.
	Shared []events.JobID `json:",omitzero"`
	// Asked are all its wishes for more jobs. Wishes are those without an answer yet.
	Asked  []Asked              `json:",omitzero"`
	Wishes []events.GraphWanted `json:",omitzero"`
	// Proposed are the parts of the graph that the one wish of kind external among them is for.
	Proposed []events.GraphProposed `json:",omitempty"`
	// Graphs are those that have not ended, in the order they were made.
	Graphs []OpenGraph `json:",omitzero"`
}

// Asked is a wish by its key. Digest tells it from other wishes, whatever reasons they give.
type Asked struct{ Key, Digest string }

// OpenGraph is a graph of a request that has not ended. Cancelled says that it was withdrawn.
type OpenGraph struct {
	Number int
	Kind   events.GraphKind
	// Priority is that of samples; empty for that of the request.
	Priority  events.Priority `json:",omitempty"`
	Cancelled bool            `json:",omitempty"`
	// Expired says that its deadline has passed.
	Expired bool `json:",omitempty"`
}

// Trouble is what kept a request from being turned into jobs.
type Trouble struct {
	// Failures counts how often that failed. FailedAt is when it last did, Error why.
	Failures int       `json:",omitzero"`
	FailedAt time.Time `json:",omitzero"`
	Error    string    `json:",omitzero"`
	// WaitsFor says in words what the farm lacks; empty when nothing is missing.
	WaitsFor string `json:",omitzero"`
}

// Troubles returns what kept the request from being turned into jobs; the zero value for nothing.
func (r Request) Troubles() Trouble {
	if r.Trouble == nil {
		return Trouble{}
	}
	return *r.Trouble
}

// troubled replaces what keeps the request from being turned into jobs. A request is a value, so its trouble is never
// changed in place.
func (r *Request) troubled(t Trouble) {
	if r.Trouble = nil; t != (Trouble{}) {
		r.Trouble = &t
	}
}

// Choice is what a request chooses among what its definitions offer: the branch that its artifact is on or meant for, a
// graph and values of options. What is empty is what the definitions do by default.
type Choice struct {
	Branch  string            `json:",omitzero"`
	Graph   string            `json:",omitzero"`
	Options map[string]string `json:",omitempty"`
}

// Pinned has the definitions that a request names, whatever its branch uses, and the set of requests that it is in.
type Pinned struct {
	// Definitions is empty for those of the branch. Customised says that the branch had never used them.
	Definitions events.Digest `json:",omitzero"`
	Customised  bool          `json:",omitempty"`
	Together    string        `json:",omitzero"`
	// Problem says why the definitions of the commit itself could not be used. It is kept in the log alone.
	Problem string `json:"-"`
}

// Pins returns what the request is pinned to; the zero value for nothing.
func (r Request) Pins() Pinned {
	if r.Pinned == nil {
		return Pinned{}
	}
	return *r.Pinned
}

// Settings returns the options as people write them: name=value, in order, with spaces between them.
func (c Choice) Settings() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		out = append(out, name+"="+c.Options[name])
	}
	return strings.Join(out, " ")
}

// Choice returns what the request chooses.
func (r Request) Choice() Choice {
	if r.Chosen == nil {
		return Choice{}
	}
	return *r.Chosen
}

// Terms are what the machines of the matched jobs of a request must meet, beside what the definitions say.
type Terms struct {
	// Asked are those that the request was created with, All also those of its queue when it started.
	Asked, All []string
}

// AskedRequires returns the terms that the request was created with.
func (r Request) AskedRequires() []string {
	if r.Terms == nil {
		return nil
	}
	return r.Terms.Asked
}

// Requires returns the terms that the request was created with, and from its start on also those of its queue.
func (r Request) Requires() []string {
	if r.Terms == nil {
		return nil
	}
	return r.Terms.All
}

// terms returns the terms of a request; nil for none, as most requests have.
func terms(asked, all []string) *Terms {
	if len(asked)+len(all) == 0 {
		return nil
	}
	return &Terms{asked, all}
}

// Exists reports whether the request was ever created.
func (r Request) Exists() bool { return r.ID != "" }

// Refusal says why a command is not carried out. Nothing was recorded.
type Refusal struct {
	Reason string
	// TooMany says that the request has as many of something as it may have.
	TooMany bool
}

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
	// Account is who asks; empty for everyone without an account. Queue is where the request waits; empty or main for
	// the main queue. Priority is empty or normal for normal.
	Account  events.AccountName
	Queue    events.QueueName
	Priority events.Priority
	// Requires are terms for the machines of its matched jobs, in canonical form.
	Requires []string
	// Choice is what it chooses among what the definitions offer. Control checks it.
	Choice Choice
	// Pinned are the definitions that it names, and its set. Control checks them.
	Pinned Pinned
	// AsItIs accepts a request that already exists, even if it differs from this command.
	AsItIs bool
	// Waits says that the artifact is not there yet: the request waits for it.
	Waits bool
}

// ArtifactsReady says that the artifact of a waiting request exists.
type ArtifactsReady struct{ Tag, Parent events.Tag }

// BuildFailed says that the try build that the request waits for failed. Another one may follow.
type BuildFailed struct{ Reason, URL string }

// Start makes the request's jobs and puts it in progress.
type Start struct {
	Definitions events.Digest
	Jobs        []events.JobSpec
	Backfill    []events.JobSpec
	// Shared are jobs that exist already.
	Shared []events.JobID
	// Requires are the terms that the request and its queue added to those of the definitions.
	Requires []string
	// Template is what it takes of what its definitions offer; nil for definitions that offer no choice.
	Template *events.Template
	// Graph says what Jobs need, BackfillGraph what Backfill needs; nil for nothing.
	Graph, BackfillGraph *Graph
}

// AddBackfill makes jobs for a parent that appeared after the start. Graph says what they need; nil for nothing.
type AddBackfill struct {
	Jobs  []events.JobSpec
	Graph *Graph
}

// FailExpansion says that the request could not be turned into jobs.
type FailExpansion struct{ Reason string }

// Hold says that the farm lacks something that it needs to turn the request into jobs. The request is not to blame: it
// waits. Each lack is recorded once, whatever the detail: two programs may word the detail differently, and would then
// answer each other for ever.
type Hold struct{ Lack, Detail string }

// Want asks for more jobs for the request, whatever its state. One key is one wish. The request of the wish is ignored, and so
// are the request and the key of the parts.
type Want struct {
	events.GraphWanted
	// Proposed are the parts of a graph of kind external; nil for others.
	Proposed []events.GraphProposed
}

// CancelGraph withdraws a graph that was made by a wish. ExpireGraph withdraws any graph whose deadline has passed.
type (
	CancelGraph struct {
		Graph  int
		Reason string
	}
	ExpireGraph struct{ Graph int }
)

// Grant makes the jobs of a wish, Refuse says why there will be none.
type (
	Grant struct {
		Key  string
		Jobs []events.JobSpec
		// Graph says what the jobs need; nil for nothing. Again are further jobs, which run again in open graphs.
		Graph *Graph
		Again []Again
	}
	Refuse struct{ Key, Reason string }
)

// Force lets a job of the request run although its needs are not met, as the wish with the key asks for.
type Force struct {
	Key    string
	Job    events.JobID
	Reason string
}

// Complete ends a request whose required jobs have all ended. Jobs counts them, Failed those that failed, Skipped those
// that were skipped because of them.
type Complete struct {
	Jobs, Failed, Skipped int
	// FailFast says that some were skipped by a rule of their graph, and not because they need one that failed.
	FailFast bool
}

// Prioritise gives the request another priority, or one of its graphs of samples.
type Prioritise struct {
	// Graph is the number of the graph; nil for the request.
	Graph *int
	// To is empty or normal for normal.
	To     events.Priority
	Reason string
}

// Cancel withdraws the request.
type Cancel struct{ Reason string }

// Expire ends a wait for artifacts that took longer than Limit.
type Expire struct{ Limit time.Duration }

// Supersede replaces a request that has not started with a newer one.
type Supersede struct{ By events.RequestID }

func (Create) command()         {}
func (ArtifactsReady) command() {}
func (BuildFailed) command()    {}
func (Start) command()          {}
func (AddBackfill) command()    {}
func (FailExpansion) command()  {}
func (Hold) command()           {}
func (Want) command()           {}
func (CancelGraph) command()    {}
func (ExpireGraph) command()    {}
func (Grant) command()          {}
func (Force) command()          {}
func (Refuse) command()         {}
func (Complete) command()       {}
func (Prioritise) command()     {}
func (Cancel) command()         {}
func (Expire) command()         {}
func (Supersede) command()      {}
