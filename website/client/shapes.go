package client

import (
	"encoding/json"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/room"
	"github.com/tachobench/tacho/readmodel"
)

// QueuePlace is one place of the queue, in the stable form that scripts rely on.
type QueuePlace struct {
	// Position counts from 1.
	Position  int                `json:"position"`
	RequestID events.RequestID   `json:"request_id"`
	Kind      events.RequestKind `json:"kind"`
	// Tag is empty while a try request waits for its artifact.
	Tag events.Tag `json:"tag"`
	// Key is the key that the request was made with. It tells apart requests that have no tag yet.
	Key       string     `json:"key"`
	ParentTag events.Tag `json:"parent_tag"`
	// PR is nil when there is no pull request.
	PR    *int                `json:"pr"`
	State events.RequestState `json:"state"`
	// Account is who asked, empty for everyone without an account. Priority is how urgent it is by itself, empty for normal.
	Account  events.AccountName `json:"account,omitempty"`
	Priority events.Priority    `json:"priority,omitempty"`
	// Reason says in words why the request has this place.
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
	// EstimatedStart and EstimatedEnd are nil if they are unknown.
	EstimatedStart *time.Time `json:"estimated_start"`
	EstimatedEnd   *time.Time `json:"estimated_end"`
	// Four times of five the request starts and ends between these. They are nil if unknown, and for a start that has
	// happened.
	StartEarliest *time.Time `json:"estimated_start_earliest,omitempty"`
	StartLatest   *time.Time `json:"estimated_start_latest,omitempty"`
	EndEarliest   *time.Time `json:"estimated_end_earliest,omitempty"`
	EndLatest     *time.Time `json:"estimated_end_latest,omitempty"`
	// Overrun says that the request is in progress and runs longer than expected.
	Overrun bool `json:"overrun"`
	// Guessed says that no job like its own was ever measured, so the estimate takes it to last an hour.
	Guessed bool `json:"guessed"`
	// NoEnd says in words why the request has no estimated end: no collector serves a lane that it, or a request ahead
	// of it, needs.
	NoEnd string `json:"no_end,omitempty"`
}

// PlaceOf returns a row of the queue in that form.
func PlaceOf(q readmodel.QueueEntry) QueuePlace {
	return QueuePlace{
		Position: q.Position, RequestID: q.RequestID, Kind: q.Kind, Tag: q.Tag, Key: q.Key, ParentTag: q.ParentTag,
		PR: q.PR, State: q.State, Account: q.Account, Priority: q.Priority,
		Reason: q.Reason, CreatedAt: q.CreatedAt, EstimatedStart: q.EstimatedStart, EstimatedEnd: q.EstimatedEnd,
		StartEarliest: q.StartEarliest, StartLatest: q.StartLatest, EndEarliest: q.EndEarliest, EndLatest: q.EndLatest,
		Overrun: q.Overrun, Guessed: q.Guessed, NoEnd: q.NoEnd,
	}
}

// CollectorState is the closed set of states of a collector as they are shown. They join what the log says with what
// the heartbeats say since then.
type CollectorState string

// The states of a collector.
const (
	// CollectorInactive means that it takes no jobs until it is activated.
	CollectorInactive CollectorState = "inactive"
	// CollectorOffline means that it was never seen, has left, or sends no heartbeat.
	CollectorOffline CollectorState = "offline"
	CollectorIdle    CollectorState = "idle"
	// CollectorBenchmarking means that it executes a job.
	CollectorBenchmarking CollectorState = "benchmarking"
	// CollectorDraining means that it finishes its job and takes no other.
	CollectorDraining CollectorState = "draining"
	// CollectorUpdating means that its process left for the wanted version, which has not started yet.
	CollectorUpdating CollectorState = "updating"
	// CollectorQuarantined means that it failed several jobs in a row and takes none until a person activates it.
	CollectorQuarantined CollectorState = "quarantined"
	// CollectorRemoved means that it is gone for good; its name is never used again.
	CollectorRemoved CollectorState = "removed"
)

// Heartbeat is the newest heartbeat of a collector's process.
type Heartbeat struct {
	eventlog.Beat
	// AgeMS is how old it was when the answer was made.
	AgeMS int64 `json:"age_ms"`
}

// Collector is a registered collector with what its heartbeat tells.
type Collector struct {
	readmodel.Collector
	// State is the state to show; it knows of silence before the log does.
	State CollectorState `json:"state"`
	// Heartbeat is nil if there is none.
	Heartbeat *Heartbeat `json:"heartbeat"`
}

// Status is everything that the status page shows, seen at one moment.
type Status struct {
	// Version is the version of the program that answers; Now is its clock.
	Version string    `json:"version"`
	Now     time.Time `json:"now"`
	readmodel.Status
	// Collectors are those that were not removed, by name, with their heartbeats; RemovedCollectors counts the others.
	Collectors        []Collector `json:"collectors"`
	RemovedCollectors int         `json:"removed_collectors"`
	// Outputs is how full the store of outputs is; left out while there are none.
	Outputs *Outputs `json:"outputs,omitempty"`
	// Room is how full the log, its disk and the database are; left out where that is not known.
	Room []room.Place `json:"room,omitempty"`
	// Scrub is how far the log is read in the background; left out if the process that answers does not read it.
	Scrub *Scrub `json:"scrub,omitempty"`
}

// Outputs is how full the store of outputs is, in bytes.
type Outputs struct {
	Outputs int   `json:"outputs"`
	Bytes   int64 `json:"bytes"`
	// NeededBytes are those that open graphs need; LimitBytes is the bound.
	NeededBytes int64 `json:"needed_bytes"`
	LimitBytes  int64 `json:"limit_bytes"`
	UploadBytes int64 `json:"upload_bytes"`
}

// RequestAnswer is the result of a command to a request.
type RequestAnswer struct {
	control.Answer
	RequestID events.RequestID    `json:"request_id"`
	Suite     events.SuiteName    `json:"suite"`
	Kind      events.RequestKind  `json:"kind"`
	Tag       events.Tag          `json:"tag"`
	ParentTag events.Tag          `json:"parent_tag"`
	State     events.RequestState `json:"state"`
	// Account is who asked, Queue where the request waits, Priority how urgent it is. They are left out where they are
	// nobody, the main queue and normal.
	Account  events.AccountName `json:"account,omitempty"`
	Queue    events.QueueName   `json:"queue,omitempty"`
	Priority events.Priority    `json:"priority,omitempty"`
	// Requires are terms for the machines of its matched jobs.
	Requires []string `json:"requires,omitempty"`
	// Note says in words how the request was read, if it may be read in two ways.
	Note string `json:"note,omitempty"`
}

// Graphs are the graphs of a request.
type Graphs struct {
	RequestID events.RequestID `json:"request_id"`
	// Graphs are by number; empty if the jobs of the request need no others and it has no samples.
	Graphs []readmodel.Graph `json:"graphs"`
}

// BatchAnswer is the result of a batch of requests.
type BatchAnswer struct {
	control.Answer
	// Requests are in the order of the batch. If the batch was only checked, they are as they would be.
	Requests []BatchedRequest `json:"requests"`
	// Recorded counts those that were new, Refused those that have an error.
	Recorded int `json:"recorded"`
	Refused  int `json:"refused"`
}

// BatchedRequest is the result of one request of a batch. If each stands for itself, it may be an error.
type BatchedRequest struct {
	RequestAnswer
	// Error says why the request was not made, Status with which status a call of its own would have been answered. A status of
	// 500 and above is a fault: then it is unknown whether the request was made. Ask again.
	Status int    `json:"status,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// With returns the answer with one request more. If they were only checked, none is recorded.
func (a BatchAnswer) With(r BatchedRequest, checked bool) BatchAnswer {
	a.Requests = append(a.Requests, r)
	switch {
	case r.Error != nil:
		a.Refused++
	case !r.Existed && !checked:
		a.Recorded++
	}
	a.Seq, a.Existed = max(a.Seq, r.Seq), a.Recorded == 0
	return a
}

// TokenAnswer is the result of making a token. Nothing shows the token again.
type TokenAnswer struct {
	control.Answer
	Account events.AccountName `json:"account"`
	Token   string             `json:"token"`
}

// NewPriority is the body of the command that gives a request another priority.
type NewPriority struct {
	Priority events.Priority `json:"priority"`
	Reason   string          `json:"reason,omitempty"`
}

// Force asks to let a job run although its needs are not met.
type Force struct {
	// Request is the one in whose graphs its needs count as met, by any name; empty means the one that had the job made.
	Request events.RequestID `json:"request,omitempty"`
	// Key identifies the wish: asking again with the same key is the same wish. One is made up if none is given.
	Key string `json:"key,omitempty"`
	// Reason is kept in the log and shown with the job and its results.
	Reason string `json:"reason"`
}

// ForceAnswer is the answer to Force.
type ForceAnswer struct {
	RequestAnswer
	JobID events.JobID `json:"job_id"`
	Key   string       `json:"key"`
	// Answered is false if no scheduler has answered yet.
	Answered bool `json:"answered"`
}

// RepairAnswer is the result of the wish to repair a request.
type RepairAnswer struct {
	RequestAnswer
	// Key names the wish: asking again with the same key is the same wish.
	Key string `json:"key"`
	// Jobs are the new rounds. Answered is not set if no scheduler has answered yet; one will answer later.
	Jobs     []events.JobID `json:"jobs"`
	Answered bool           `json:"answered"`
}

// DownstreamNone is how a wish says that it clones the selected jobs alone. It is the same as none said.
const DownstreamNone = "none"

// NewGraph is the body of a wish for more jobs of a request.
type NewGraph struct {
	// Kind is rerun or repair for the next rounds of jobs that did not succeed, retrigger for further samples, noise for
	// further samples of the parent, or added for jobs that were switched off for the request.
	Kind events.GraphKind `json:"kind"`
	// Jobs names the jobs; empty means all, or for a rerun and a repair all that did not succeed. Select takes of these the
	// ones that have properties, such as kind=compile,link.
	Jobs   []events.JobID `json:"jobs,omitempty"`
	Select []string       `json:"select,omitempty"`
	// Copies is how many samples are taken: 1 to 20, by default 1, of the parent 2 to 20, by default 5.
	Copies *int `json:"copies,omitempty"`
	// Downstream says which jobs a retrigger clones, too: none, needed or all (events.Downstream).
	Downstream string `json:"downstream,omitempty"`
	// Benchmarks narrows the samples to these globs. Priority is low by default, idle for noise.
	Benchmarks []string        `json:"benchmarks,omitempty"`
	Priority   events.Priority `json:"priority,omitempty"`
	// Force lets a rerun take jobs that succeeded: Jobs or Select must name some, and Reason say why.
	Force bool `json:"force,omitempty"`
	// Labels names the jobs that are added: kind, target, set, backend and profile, with slashes between them.
	Labels []string `json:"labels,omitempty"`
	// Iterations is how often the clones of a retrigger measure each test case; left out, as often as the definitions say.
	Iterations *int `json:"iterations,omitempty"`
	// Expect is the token of a dry run: another list of jobs is refused.
	Expect string `json:"expect,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Key names the wish: asking again with the same key is the same wish. One is made up if none is given.
	Key string `json:"key,omitempty"`
	// DryRun answers with the list of jobs, and records nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// GraphAnswer is the result of a wish for more jobs.
type GraphAnswer struct {
	RequestAnswer
	Key       string           `json:"key,omitempty"`
	GraphKind events.GraphKind `json:"graph_kind"`
	// Graph is the number of the graph with the jobs; nil if they are in none.
	Graph *int `json:"graph"`
	// Jobs are those that were made. Those of a dry run are the ones that would be cloned or run again, as they are now, or that
	// would be added.
	Jobs []GraphJob `json:"jobs"`
	// Shared are jobs of other requests that were added.
	Shared []events.JobID `json:"shared,omitempty"`
	// Copies is how often a dry run would clone them.
	Copies int `json:"copies,omitempty"`
	// Token names the list of jobs (see NewGraph.Expect). It is empty after a wish for samples that expected none.
	Token  string `json:"token,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	// Answered is not set if no scheduler has answered yet; one will answer later.
	Answered bool `json:"answered"`
	// Customised says that the jobs are not those that the definitions make. Differences are how, in a dry run.
	Customised  bool     `json:"customised,omitempty"`
	Differences []string `json:"differences,omitempty"`
}

// SubmittedGraph is the body of a wish for jobs that somebody wrote.
type SubmittedGraph struct {
	// Graph is one graph in the form of GET /api/v1/requests/{request}/graphs. Of its nodes count number, tag, kind, target, set,
	// backend, profile, benchmarks, iterations, optional, requires and needs (on, until); the others are ignored.
	Graph json.RawMessage `json:"graph"`
	// Priority is low by default, and never more urgent than that of the request.
	Priority events.Priority `json:"priority,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	// Key names the wish: submitting the same graph again with the same key is the same wish. One is made up if none is given.
	Key string `json:"key,omitempty"`
	// DryRun answers with the jobs, and how they differ from those of the definitions, and records nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// GraphJob is a job of such an answer.
type GraphJob struct {
	JobID events.JobID `json:"job_id"`
	// Label is kind, target, set, backend and profile.
	Label string     `json:"label"`
	Tag   events.Tag `json:"tag"`
	// Sample says to which sample the job belongs; empty for a next round.
	Sample string `json:"sample,omitempty"`
	// State is that of a job that would be cloned or run again, or blocked or skipped. It is empty for one that would be made.
	State string `json:"state,omitempty"`
}

// DefinitionsAnswer is the result of publishing definitions.
type DefinitionsAnswer struct {
	control.Answer
	Suite  events.SuiteName `json:"suite"`
	Digest events.Digest    `json:"digest"`
	// Warnings name collectors that cannot read the definitions yet.
	Warnings []string `json:"warnings,omitempty"`
}

// PromotionAnswer is the result of moving a branch.
type PromotionAnswer struct {
	control.Answer
	// Warnings name collectors that cannot read the definitions yet.
	Warnings []string `json:"warnings,omitempty"`
}

// Promotion moves a branch of a suite to definitions that were published before. An empty branch is all that have none of
// their own; an empty digest takes its own definitions from a branch.
type Promotion struct {
	Branch string        `json:"branch"`
	Digest events.Digest `json:"digest"`
	Reason string        `json:"reason,omitempty"`
}

// DeliveryWithBody is something that GitHub delivered, with what it sent.
type DeliveryWithBody struct {
	readmodel.Delivery
	// Body is what was delivered if that is JSON; Text, if it is not. The other one is left out.
	Body json.RawMessage `json:"body,omitempty"`
	Text string          `json:"text,omitempty"`
}

// WantedVersion is the version that supervised collectors should run.
type WantedVersion struct {
	// Version is empty if none was ever wanted.
	Version string `json:"version"`
	Reason  string `json:"reason"`
	// Seq is the event that said so, Actor who said it, Since when. They are 0, empty and nil if none was ever wanted.
	Seq   events.Seq   `json:"seq"`
	Actor events.Actor `json:"actor"`
	Since *time.Time   `json:"since"`
}

// AccountShown is a configured account with what it has under way.
type AccountShown struct {
	readmodel.Account
	// Pending counts its requests that have not ended.
	Pending int `json:"pending"`
}

// Queue is a queue with its requests.
type Queue struct {
	Name events.QueueName `json:"name"`
	// Settings are nil if the queue was never configured: the main queue and those of accounts need not be.
	Settings *readmodel.NamedQueue `json:"settings"`
	// Pending counts its requests that have not ended; Requests are the first of them, in their order.
	Pending  int                 `json:"pending"`
	Requests []readmodel.Request `json:"requests"`
}

// Park is a park of events that stands: no part takes the events from First to Last into account.
type Park struct {
	First events.Seq `json:"first"`
	Last  events.Seq `json:"last"`
	// ID and Type are those of the event that was not understood when it was parked.
	ID     string `json:"id"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
	// Seq is the event that parked them, by Actor.
	Seq   events.Seq   `json:"seq"`
	Since time.Time    `json:"since"`
	Actor events.Actor `json:"actor"`
}

// Reason is the body of commands that may say why.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// NewKey is the body of the command that gives a collector another key.
type NewKey struct {
	// NKey is the public key of the collector from now on.
	NKey   string `json:"nkey"`
	Reason string `json:"reason,omitempty"`
}

// Artifacts is the body of the command that says that a try's artifact exists.
type Artifacts struct {
	Tag       events.Tag `json:"tag"`
	ParentTag events.Tag `json:"parent_tag,omitempty"`
}
