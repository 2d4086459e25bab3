package readmodel

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// Request is one row of benchmark_request, with the counts of its jobs and errors.
type Request struct {
	ID    events.RequestID   `db:"request_id" json:"request_id"`
	Kind  events.RequestKind `db:"kind" json:"kind"`
	Suite events.SuiteName   `db:"suite" json:"suite"`
	// Tag is empty while a try request waits for its artifact.
	Tag       events.Tag `db:"tag" json:"tag"`
	ParentTag events.Tag `db:"parent_tag" json:"parent_tag"`
	// PR is nil when there is no pull request.
	PR         *int                `db:"pr" json:"pr"`
	ReleasedOn string              `db:"released_on" json:"released_on"`
	Key        string              `db:"key" json:"key"`
	Parameters events.Parameters   `db:"parameters" json:"parameters"`
	State      events.RequestState `db:"state" json:"state"`
	// Reason says why the request ended as it did, or why its expansion failed.
	Reason           string       `db:"reason" json:"reason"`
	CreatedBy        events.Actor `db:"created_by" json:"created_by"`
	CreatedAt        time.Time    `db:"created_at" json:"created_at"`
	CreatedSeq       events.Seq   `db:"created_seq" json:"created_seq"`
	ArtifactsReadyAt *time.Time   `db:"artifacts_ready_at" json:"artifacts_ready_at"`
	StartedAt        *time.Time   `db:"started_at" json:"started_at"`
	StartedSeq       *events.Seq  `db:"started_seq" json:"-"`
	EndedAt          *time.Time   `db:"ended_at" json:"ended_at"`
	EndedSeq         *events.Seq  `db:"ended_seq" json:"-"`
	// The same by the clock of the log, from which the stages follow (rules/waits).
	LogCreatedAt   *time.Time `db:"log_created_at" json:"-"`
	LogArtifactsAt *time.Time `db:"log_artifacts_at" json:"-"`
	LogStartedAt   *time.Time `db:"log_started_at" json:"-"`
	LogEndedAt     *time.Time `db:"log_ended_at" json:"-"`
	// DurationMS is the time from the start to the end; nil before the end, and when it never started.
	DurationMS  *int64        `db:"duration_ms,query" json:"duration_ms"`
	Definitions events.Digest `db:"definitions" json:"definitions"`
	// JobsPlanned and BackfillPlanned are how many jobs the request started with; BackfillPlanned grows if its parent
	// appears later.
	JobsPlanned       int              `db:"jobs" json:"jobs_planned"`
	BackfillPlanned   int              `db:"backfill_jobs" json:"backfill_planned"`
	FailedJobs        int              `db:"failed_jobs" json:"-"`
	ExpansionFailures int              `db:"expansion_failures" json:"expansion_failures"`
	SupersededBy      events.RequestID `db:"superseded_by" json:"superseded_by"`
	// Account is who asked; empty for everyone without an account. Queue is where the request waits; empty for the main
	// queue. Priority is the present one; empty for normal.
	Account  events.AccountName `db:"account" json:"account,omitempty"`
	Queue    events.QueueName   `db:"queue" json:"queue,omitempty"`
	Priority events.Priority    `db:"priority" json:"priority,omitempty"`
	// Requires are the terms that the machines of its matched jobs must meet, beside those of the definitions: what was
	// asked for, and once it has started what counts, with those of its queue.
	Requires []string `db:"requires" json:"requires,omitempty"`
	// Choice is what it chooses among what its definitions offer, Template what it took of them at its start; nil for
	// definitions that offer no choice.
	Choice   *Choice          `db:"choice" json:"choice,omitempty"`
	Template *events.Template `db:"template" json:"template,omitempty"`
	// Named are the definitions that it names, whatever its branch uses; empty for those of its branch. Customised says that
	// the branch had never used them. DefinitionsProblem says why those of the commit itself could not be used.
	Named              events.Digest `db:"named" json:"named_definitions,omitempty"`
	Customised         bool          `db:"customised" json:"customised,omitempty"`
	DefinitionsProblem string        `db:"definitions_problem" json:"definitions_problem,omitempty"`
	// Together is the set of requests that it is in; empty for none.
	Together string `db:"together" json:"set,omitempty"`
	// Jobs counts the jobs that were made for the request: its own and those of its parent, but for samples.
	Jobs JobCounts `db:"job_counts,query" json:"jobs"`
	// Errors counts the errors that its jobs recorded, but for samples.
	Errors int `db:"errors,query" json:"errors"`
}

// Choice is what a request chooses among what its definitions offer; what is empty is the default.
type Choice struct {
	Branch  string            `json:"branch,omitempty"`
	Graph   string            `json:"graph,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// Settings returns the options as people write them: name=value, in order, with spaces between them.
func (c Choice) Settings() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		out = append(out, name+"="+c.Options[name])
	}
	return strings.Join(out, " ")
}

// Takes returns what the request takes of what its definitions offer: what it chooses, and from its start on also what
// it was given where it chose nothing.
func (r Request) Takes() Choice {
	var c Choice
	if r.Choice != nil {
		c = *r.Choice
	}
	if r.Template != nil {
		c.Graph, c.Options = r.Template.Graph, r.Template.Options
	}
	return c
}

// JobCounts counts jobs by state.
type JobCounts struct {
	Total      int `json:"total"`
	Queued     int `json:"queued"`
	InProgress int `json:"in_progress"`
	Success    int `json:"success"`
	Failure    int `json:"failure"`
	Cancelled  int `json:"cancelled"`
	// Blocked and Skipped wait for jobs that they need, or for one that failed to run again. They are not in Queued.
	Blocked int `json:"blocked,omitempty"`
	Skipped int `json:"skipped,omitempty"`
	// Retired are the jobs in Total that ended long ago and have left the tables.
	Retired int `json:"retired"`
	// Samples counts the jobs that measure samples. They are in none of the others.
	Samples int `json:"samples,omitempty"`
}

// QueueEntry is one row of queue, with what the page shows of its request.
type QueueEntry struct {
	// Position counts from 1.
	Position  int                `db:"position" json:"position"`
	RequestID events.RequestID   `db:"request_id" json:"request_id"`
	Kind      events.RequestKind `db:"kind,query" json:"kind"`
	Suite     events.SuiteName   `db:"suite,query" json:"suite"`
	Tag       events.Tag         `db:"tag,query" json:"tag"`
	// Key is the key that the request was made with. It tells apart requests that have no tag yet.
	Key       string     `db:"key,query" json:"key"`
	ParentTag events.Tag `db:"parent_tag,query" json:"parent_tag"`
	// PR is nil when there is no pull request.
	PR    *int                `db:"pr,query" json:"pr"`
	State events.RequestState `db:"state,query" json:"state"`
	// Account is who asked, empty for everyone without an account. Priority is how urgent it is by itself, empty for normal.
	Account  events.AccountName `db:"account,query" json:"account,omitempty"`
	Priority events.Priority    `db:"priority,query" json:"priority,omitempty"`
	// Level counts the transitive parents that are not done.
	Level int `db:"level" json:"level"`
	// Reason says in words why the request has this place.
	Reason    string     `db:"reason" json:"reason"`
	Startable bool       `db:"startable" json:"startable"`
	CreatedAt time.Time  `db:"created_at,query" json:"created_at"`
	StartedAt *time.Time `db:"started_at,query" json:"started_at"`
	// EstimatedStart and EstimatedEnd are nil if they are unknown.
	EstimatedStart *time.Time `db:"estimated_start" json:"estimated_start"`
	EstimatedEnd   *time.Time `db:"estimated_end" json:"estimated_end"`
	// Four times of five the request starts and ends between these. They are nil if unknown, and for a start that has
	// happened.
	StartEarliest *time.Time `db:"estimated_start_earliest" json:"estimated_start_earliest,omitempty"`
	StartLatest   *time.Time `db:"estimated_start_latest" json:"estimated_start_latest,omitempty"`
	EndEarliest   *time.Time `db:"estimated_end_earliest" json:"estimated_end_earliest,omitempty"`
	EndLatest     *time.Time `db:"estimated_end_latest" json:"estimated_end_latest,omitempty"`
	// Overrun says that the request is in progress and runs longer than expected.
	Overrun bool `db:"overrun" json:"overrun"`
	// Guessed says that no job like its own was ever measured, so the estimate takes it to last an hour.
	Guessed bool `db:"guessed" json:"guessed"`
	// NoEnd says in words why the request has no estimated end: no collector serves a lane that it, or a request ahead
	// of it, needs. It is empty if there is an end, and while the request waits for artifacts.
	NoEnd string `db:"no_end" json:"no_end,omitempty"`
}

// Job is one row of job_queue.
type Job struct {
	ID           events.JobID       `db:"job_id" json:"job_id"`
	RequestID    events.RequestID   `db:"request_id" json:"request_id"`
	Suite        events.SuiteName   `db:"suite" json:"suite"`
	Tag          events.Tag         `db:"tag" json:"tag"`
	ArtifactKind events.RequestKind `db:"artifact_kind" json:"artifact_kind"`
	Kind         events.JobKind     `db:"kind" json:"kind"`
	Target       events.Target      `db:"target" json:"target"`
	Set          events.Set         `db:"set" json:"set"`
	Backend      events.Backend     `db:"backend" json:"backend"`
	Profile      events.Profile     `db:"profile" json:"profile"`
	Benchmarks   []string           `db:"benchmarks" json:"benchmarks"`
	// Measures are the categories of benchmarks that the job measures; empty if they are those of a master.
	Measures []string `db:"measures" json:"measures"`
	// Fault is the kind of error that ended the whole job; empty if all its test cases were tried.
	Fault events.ErrorKind `db:"fault" json:"fault"`
	// Round counts the jobs of the same identity that were made before this one.
	Round       int             `db:"round" json:"round"`
	Optional    bool            `db:"optional" json:"optional"`
	Backfill    bool            `db:"backfill" json:"backfill"`
	Definitions events.Digest   `db:"definitions" json:"definitions"`
	State       events.JobState `db:"state" json:"state"`
	Reason      string          `db:"reason" json:"reason"`
	CreatedAt   time.Time       `db:"created_at" json:"created_at"`
	// CreatedSeq is the event that created the job, Ordinal its place among those that the event created.
	CreatedSeq   events.Seq `db:"created_seq" json:"-"`
	Ordinal      int        `db:"ordinal" json:"-"`
	DispatchedAt *time.Time `db:"dispatched_at" json:"dispatched_at"`
	// Place counts the dispatches of the lane from 1; 0 before the dispatch.
	Place uint64 `db:"place" json:"place"`
	// DequeuedAt, Collector and Token are those of the newest attempt.
	DequeuedAt *time.Time           `db:"dequeued_at" json:"dequeued_at"`
	Collector  events.CollectorName `db:"collector" json:"collector"`
	Token      events.Seq           `db:"token" json:"token"`
	// Attempts counts the executions; Lost, those that ended by a crash or silence.
	Attempts    int         `db:"attempts" json:"attempts"`
	Lost        int         `db:"lost" json:"lost"`
	FinishedAt  *time.Time  `db:"finished_at" json:"finished_at"`
	FinishedSeq *events.Seq `db:"finished_seq" json:"-"`
	// Measured, Skipped and Failed count test cases. While the job runs, Measured counts those that its attempt
	// has reported so far, and the others are 0.
	Measured   int   `db:"measured" json:"measured"`
	Skipped    int   `db:"skipped" json:"skipped"`
	Failed     int   `db:"failed" json:"failed"`
	DurationMS int64 `db:"duration_ms" json:"duration_ms"`
	// Cases is how many test cases the job has. It is 0 if a job like it had been measured before it was made.
	Cases int `db:"cases" json:"-"`
	// Closed is the newest attempt whose results are closed.
	Closed events.Seq `db:"closed" json:"-"`
	// Share says to whom the job is charged; nil if it was not dispatched by shares, and while it waits after a move.
	Share *JobShare `db:"share" json:"share,omitempty"`
	// Matched says that the job runs on any machine that meets Requires. Against is the artifact of the parent that it
	// measures on the same machine; empty for none.
	Matched  bool       `db:"matched" json:"matched,omitempty"`
	Requires []string   `db:"requires" json:"requires,omitempty"`
	Against  events.Tag `db:"against" json:"against,omitempty"`
	// LaneTarget and LaneSet are the lane that a matched job is bound to, from its dispatch on; nil while it waits for a
	// machine, and for the others.
	LaneTarget *events.Target `db:"lane_target" json:"lane_target,omitempty"`
	LaneSet    *events.Set    `db:"lane_set" json:"lane_set,omitempty"`
	// Held is blocked or skipped while the job waits for jobs that it needs; empty for all others. The job is queued
	// meanwhile (see Shown).
	Held graph.State `db:"held" json:"held,omitempty"`
	// Graphed says that the job was made in a graph: the others wait for no job, whichever request shares them.
	Graphed bool `db:"graphed" json:"-"`
	// Caches are the directories of its machine that a matched job fills and finds filled. Near are those of them, and of
	// the results that it measures against, that some machine had when it was made.
	Caches []string `db:"caches" json:"caches,omitempty"`
	Near   []string `db:"near" json:"-"`
	// MovedAt is when it last came back into the line from a machine, or into it once the jobs that it needs had ended; nil if
	// it stands there since it was made.
	MovedAt *time.Time `db:"moved_at" json:"-"`
	// PeakMemoryBytes and CPUMS are what the commands of a matched job used in its last attempt (events.Used), in bytes and
	// in milliseconds; 0 until it has ended, where it is not known, and for the others.
	PeakMemoryBytes int64 `db:"peak_memory_bytes" json:"peak_memory_bytes,omitempty"`
	CPUMS           int64 `db:"cpu_ms" json:"cpu_ms,omitempty"`
	// Sample names the sample that the job measures beside the base series (events.NewSample); empty for the others.
	// Priority is that at which a sample waits, empty for normal; the others have that of their request.
	Sample   string          `db:"sample" json:"sample,omitempty"`
	Priority events.Priority `db:"priority" json:"priority,omitempty"`
	// LogReadyAt is when it was made or its last need was met, LogBegunAt when a collector first took it, and LogEndedAt when it
	// ended, by the clock of the log (rules/waits). LogReadyAt is nil while it waits for other jobs. Wished says that a person
	// asked for it: a rerun, a repair or a sample.
	LogReadyAt *time.Time `db:"log_ready_at" json:"-"`
	LogBegunAt *time.Time `db:"log_begun_at" json:"-"`
	LogEndedAt *time.Time `db:"log_ended_at" json:"-"`
	Wished     bool       `db:"wished" json:"-"`
	// Forced is why a person let the job run although its needs were not met; empty if it was not forced.
	Forced string `db:"forced" json:"forced,omitempty"`
	// Iterations is how often the job measures each test case, if it was changed so; 0 for as often as the definitions say.
	Iterations int `db:"iterations" json:"iterations,omitempty"`
	// Key names what the job did and with what, if others can take it over. ReusedFrom is the run that it took over instead of
	// running, ReusedTag the tag of that; empty if it ran.
	Key        events.Digest `db:"key" json:"key,omitempty"`
	ReusedFrom events.JobID  `db:"reused_from" json:"reused_from,omitempty"`
	ReusedTag  events.Tag    `db:"reused_tag" json:"reused_tag,omitempty"`
	// Outputs are the names of what it stored for others. Built is what it is made of, and what it uses of others; nil for
	// jobs that neither build nor use what others built.
	Outputs []string  `db:"outputs" json:"-"`
	Built   *JobBuilt `db:"built" json:"built,omitempty"`
	// Graph is the number of the graph of its request that it was made in; nil if it was made in none. CostMS is how long it was
	// expected to take when the graph was made, and Rank its place among the jobs of the graph: of those that may run, the one
	// with the lowest rank comes first. Both are nil in graphs in the order of creation.
	Graph  *int   `db:"graph" json:"graph,omitempty"`
	Rank   *int   `db:"rank" json:"rank,omitempty"`
	CostMS *int64 `db:"cost_ms" json:"cost_ms,omitempty"`
	// RunsCommands says that it measures no benchmarks.
	RunsCommands bool `db:"runs_commands" json:"-"`
	// Chunk is which of the Chunks of a divided job it is, from 1; both are 0 for the others. Units are the benchmarks that it
	// measures, once it was dispatched, and ChunkPart is their share of all by what they cost, in 1/1024.
	Chunk     int                `db:"chunk" json:"chunk,omitempty"`
	Chunks    int                `db:"chunks" json:"chunks,omitempty"`
	Units     []events.Benchmark `db:"units" json:"units,omitempty"`
	ChunkPart int                `db:"chunk_part" json:"-"`
	// Recipe is what a build does, as a digest; empty for the others.
	Recipe events.Digest `db:"recipe" json:"-"`
	// Diagnosed is how much its commands had to say in the newest attempt; nil for nothing (see JobDiagnostics).
	Diagnosed *Diagnosed `db:"diagnosed" json:"-"`
}

// turn is where the job stands among the waiting ones of its request, as the scheduler orders them (rules/ledger/line.go):
// backfill first, then by graph, by rank, and as they were made. Jobs that were made in no graph come after those of graphs.
func (j Job) turn() []int64 {
	turn := []int64{1, math.MaxInt32, 0, int64(j.CreatedSeq), int64(j.Ordinal)}
	if j.Graph != nil {
		turn[1] = int64(*j.Graph)
		if j.Backfill && j.Sample == "" {
			turn[0] = 0
		}
	}
	if j.Rank != nil {
		turn[2] = int64(*j.Rank)
	}
	return turn
}

// Shown returns the state of the job as people see it: blocked or skipped in place of queued.
func (j Job) Shown() string { return cmp.Or(string(j.Held), string(j.State)) }

// Part returns the target and set: what the job measures.
func (j Job) Part() events.Lane { return events.Lane{Target: j.Target, Set: j.Set} }

// Lane returns the lane that the job is dispatched on; the zero lane for a matched job that waits for a machine.
func (j Job) Lane() events.Lane {
	switch {
	case !j.Matched:
		return j.Part()
	case j.LaneTarget == nil || j.LaneSet == nil:
		return events.Lane{}
	}
	return events.Lane{Target: *j.LaneTarget, Set: *j.LaneSet}
}

// AttemptState is the closed set of states of an attempt.
type AttemptState string

// The states of an attempt. At most one attempt of a lane is running.
const (
	AttemptRunning  AttemptState = "running"
	AttemptFinished AttemptState = "finished"
	AttemptLost     AttemptState = "lost"
	AttemptReleased AttemptState = "released"
)

// Attempt is one row of attempt.
type Attempt struct {
	// Token is the sequence of the JobDequeued event.
	Token       events.Seq           `db:"token" json:"token"`
	JobID       events.JobID         `db:"job_id" json:"job_id"`
	RequestID   events.RequestID     `db:"request_id" json:"request_id"`
	Target      events.Target        `db:"target" json:"target"`
	Set         events.Set           `db:"set" json:"set"`
	Collector   events.CollectorName `db:"collector" json:"collector"`
	Instance    string               `db:"instance" json:"instance"`
	Attempt     int                  `db:"attempt" json:"attempt"`
	Lost        int                  `db:"lost" json:"lost"`
	Version     string               `db:"version" json:"version"`
	Environment events.Digest        `db:"environment" json:"environment"`
	State       AttemptState         `db:"state" json:"state"`
	// Outcome is empty unless the attempt finished its job.
	Outcome    events.Outcome `db:"outcome" json:"outcome"`
	Reason     string         `db:"reason" json:"reason"`
	StartedAt  time.Time      `db:"started_at" json:"started_at"`
	EndedAt    *time.Time     `db:"ended_at" json:"ended_at"`
	Measured   int            `db:"measured" json:"measured"`
	Skipped    int            `db:"skipped" json:"skipped"`
	Failed     int            `db:"failed" json:"failed"`
	DurationMS int64          `db:"duration_ms" json:"duration_ms"`
	// Printed tells how much output it made; nil if its end does not tell.
	Printed *events.Printed `db:"printed" json:"printed,omitempty"`
	// The same by the clock of the log.
	LogStartedAt *time.Time `db:"log_started_at" json:"-"`
	LogEndedAt   *time.Time `db:"log_ended_at" json:"-"`
	// Phases are how long its parts took; nil until it has ended, and where that is not known.
	Phases *events.Phases `db:"phases" json:"phases_ms,omitempty"`
}

// JobError is one row of error.
type JobError struct {
	Seq       events.Seq           `db:"seq" json:"seq"`
	JobID     events.JobID         `db:"job_id" json:"job_id"`
	RequestID events.RequestID     `db:"request_id" json:"request_id"`
	Suite     events.SuiteName     `db:"suite" json:"suite"`
	Tag       events.Tag           `db:"tag" json:"tag"`
	Collector events.CollectorName `db:"collector" json:"collector"`
	Token     events.Seq           `db:"token" json:"token"`
	Attempt   int                  `db:"attempt" json:"attempt"`
	Kind      events.ErrorKind     `db:"kind" json:"kind"`
	Context   string               `db:"context" json:"context"`
	// Case is nil when the error concerns the whole job.
	Case    *events.TestCase `db:"test_case" json:"case"`
	Message string           `db:"message" json:"message"`
	// Stale says that the attempt that reported the error was not the current one any more.
	Stale bool      `db:"stale" json:"stale"`
	Time  time.Time `db:"time" json:"time"`
	// Sample is that of the job; empty for the base series.
	Sample string `db:"sample" json:"sample,omitempty"`
}

// CollectorState is the closed set of states of a collector, as the log tells them. Package presence, which hears the
// heartbeats, notices silence earlier.
type CollectorState string

// The states of a collector.
const (
	// CollectorRegistered means that no process of it was ever seen.
	CollectorRegistered   CollectorState = "registered"
	CollectorInactive     CollectorState = "inactive"
	CollectorOffline      CollectorState = "offline"
	CollectorIdle         CollectorState = "idle"
	CollectorBenchmarking CollectorState = "benchmarking"
	CollectorDraining     CollectorState = "draining"
	// CollectorUpdating means that its process left for another version, which has not started yet.
	CollectorUpdating CollectorState = "updating"
	// CollectorQuarantined means that it failed several jobs in a row and takes none until a person activates it.
	CollectorQuarantined CollectorState = "quarantined"
	// CollectorRemoved means that it is gone for good; its name is never used again.
	CollectorRemoved CollectorState = "removed"
)

// Presence is the closed set of what the log tells about the process of a collector.
type Presence string

// The values of Presence.
const (
	// PresenceRegistered means that no process ever came.
	PresenceRegistered Presence = "registered"
	PresenceOnline     Presence = "online"
	PresenceOffline    Presence = "offline"
	// PresenceUpdating means that it left for another version, which has not come yet.
	PresenceUpdating Presence = "updating"
)

// Collector is one row of collector_config, with its current job and last attempts.
type Collector struct {
	Name    events.CollectorName `db:"name" json:"name"`
	Target  events.Target        `db:"target" json:"target"`
	Set     events.Set           `db:"set" json:"set"`
	Standby bool                 `db:"standby" json:"standby"`
	NKey    string               `db:"nkey" json:"nkey"`
	// Machine is the machine of a pool that it is a slot of; empty for none.
	Machine  events.MachineName `db:"machine" json:"machine,omitempty"`
	State    CollectorState     `db:"state,query" json:"state"`
	Active   bool               `db:"active" json:"active"`
	Online   bool               `db:"-" json:"online"`
	Draining bool               `db:"draining" json:"draining"`
	// Quarantined stays set until a person activates the collector.
	Quarantined bool `db:"quarantined" json:"quarantined"`
	// Serving is set if the collector executes the jobs of its lane; else it stands by for the one that does.
	Serving bool `db:"serving,query" json:"serving"`
	// Presence says whether its process runs; PresenceReason, why that left or did not update.
	Presence       Presence `db:"presence" json:"-"`
	PresenceReason string   `db:"presence_reason" json:"-"`
	// Reason says why the collector is removed, inactive, quarantined or draining. In the rows of a Reader it also says
	// why the collector is offline or updating.
	Reason   string `db:"reason" json:"reason"`
	Instance string `db:"instance" json:"instance"`
	Version  string `db:"version" json:"version"`
	PID      int    `db:"pid" json:"pid"`
	// Builds says that its newest process can build, and use what others built.
	Builds bool `db:"builds" json:"builds,omitempty"`
	// Environment is nil before the collector was online for the first time.
	Environment  *events.Environment `db:"environment" json:"environment"`
	RegisteredAt time.Time           `db:"registered_at" json:"registered_at"`
	// KeySince is when the collector got its present key. RemovedAt is nil unless it was removed.
	KeySince      time.Time  `db:"key_since" json:"key_since"`
	RemovedAt     *time.Time `db:"removed_at" json:"removed_at"`
	OnlineAt      *time.Time `db:"online_at" json:"online_at"`
	OfflineAt     *time.Time `db:"offline_at" json:"offline_at"`
	LastEventSeq  events.Seq `db:"last_event_seq" json:"last_event_seq"`
	LastEventType string     `db:"last_event_type" json:"last_event_type"`
	LastEventAt   time.Time  `db:"last_event_at" json:"last_event_at"`
	// CurrentJob is nil if no attempt of the collector is running.
	CurrentJob *Job `db:"-" json:"current_job"`
	// LastAttempts are the newest attempts, newest first, with their durations.
	LastAttempts []Attempt `db:"-" json:"last_attempts"`
	// MedianJobMS is the median duration of its last finished attempts; 0 if there are none.
	MedianJobMS int64 `db:"-" json:"median_job_ms"`
}

// Lane returns the lane that the collector was registered for.
func (c Collector) Lane() events.Lane { return events.Lane{Target: c.Target, Set: c.Set} }

// Definition is one row of definition.
type Definition struct {
	Suite       events.SuiteName `db:"suite" json:"suite"`
	Digest      events.Digest    `db:"digest" json:"digest"`
	Current     bool             `db:"current" json:"current"`
	PublishedAt time.Time        `db:"published_at" json:"published_at"`
	Seq         events.Seq       `db:"seq" json:"seq"`
	// Aside says that they were published for requests that name them, and for no branch.
	Aside bool `db:"aside" json:"aside,omitempty"`
	// Content is the canonical JSON that the digest is made from, byte for byte. Lists leave it out.
	Content events.RawJSON `db:"content,text,kept" json:"content,omitempty"`
}

// DefinitionLine is a row of definition_line: which definitions a branch of a suite uses.
type DefinitionLine struct {
	Suite events.SuiteName `db:"suite" json:"suite"`
	// Branch is empty for all branches that have none of their own.
	Branch string        `db:"branch" json:"branch"`
	Digest events.Digest `db:"digest" json:"digest"`
	// Revision is the commit that its file was last read from, which is not that of the definitions after a roll-back or if
	// the file was refused; empty if a person published them. File is the name that the repository gives to the content.
	Revision string `db:"revision" json:"revision,omitempty"`
	File     string `db:"file" json:"file,omitempty"`
	// Problems say what is wrong with that file. It is not used then.
	Problems []string `db:"problems" json:"problems,omitempty"`
	// MovedAt is since when the branch uses the definitions; a file that is refused leaves it. Seq is the last event about
	// the branch.
	MovedAt time.Time  `db:"moved_at" json:"moved_at"`
	Seq     events.Seq `db:"seq" json:"seq"`
}
