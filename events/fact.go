package events

import "slices"

// Fact is one thing that happened. The set is closed: every implementation is in this package, and the
// linter insists that switches over it are complete.
//
//sumtype:decl
type Fact interface {
	// Subject is the aggregate that the fact belongs to.
	Subject() Subject
	fact()
}

// ---- request.<id> ----

// RequestCreated: a person or a program asked to benchmark an artifact.
type RequestCreated struct {
	RequestID RequestID   `json:"request_id"`
	Kind      RequestKind `json:"kind"`
	Suite     SuiteName   `json:"suite"`
	// Tag is empty for a try request until its artifacts are ready.
	Tag Tag `json:"tag,omitempty"`
	// Parent is the tag that the artifact is compared with; empty when unknown.
	Parent Tag `json:"parent,omitempty"`
	// PR is the pull request; 0 means none.
	PR int `json:"pr,omitempty"`
	// ReleasedOn is the date of a release, "2006-01-02".
	ReleasedOn string `json:"released_on,omitempty"`
	// Key is the natural key that the id was derived from.
	Key        string       `json:"key"`
	Parameters Parameters   `json:"parameters"`
	State      RequestState `json:"state"`
	// Account is who asked; empty for everyone without an account. Queue is where it waits; empty for the main queue.
	Account AccountName `json:"account,omitempty"`
	Queue   QueueName   `json:"queue,omitempty"`
	// Priority is empty for normal.
	Priority Priority `json:"priority,omitempty"`
	// Requires are terms that the machine of each of its matched jobs must meet, beside those of their definitions.
	Requires []string `json:"requires,omitempty"`
	// Branch is the branch that the artifact is on, or for a try the one that it is meant for; empty if the suite has
	// nothing of its own for branches. Graph and Options choose among what the definitions offer; empty for the defaults.
	Branch  string            `json:"branch,omitempty"`
	Graph   string            `json:"graph,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Definitions are those that the request is expanded with, whatever its branch uses; empty for those of its branch.
	// Customised says that the branch had never used them then, and that they are not from the commit itself.
	Definitions Digest `json:"definitions,omitempty"`
	Customised  bool   `json:"customised,omitempty"`
	// DefinitionsProblem says why the definitions of the commit itself could not be used; empty if they could, or if they
	// were not wanted.
	DefinitionsProblem string `json:"definitions_problem,omitempty"`
	// Together is the name of a set of requests that were asked for together; empty for none.
	Together string `json:"together,omitempty"`
}

// fixes reports whether the request names its definitions. Programs that do not know that would take those of its branch.
func (f RequestCreated) fixes() bool { return f.Definitions != "" }

// chooses reports whether the request chooses among what its definitions offer. Programs that do not know choices would
// measure something else: so such requests have a version of their own.
func (f RequestCreated) chooses() bool { return f.Branch != "" || f.Graph != "" || len(f.Options) > 0 }

// Parameters restrict or widen what is measured; an empty list means the default.
type Parameters struct {
	Targets    []Target  `json:"targets,omitempty"`
	Backends   []Backend `json:"backends,omitempty"`
	Profiles   []Profile `json:"profiles,omitempty"`
	Benchmarks []string  `json:"benchmarks,omitempty"`
}

// RequestArtifactsReady: the artifact that a try request waited for exists.
type RequestArtifactsReady struct {
	RequestID RequestID `json:"request_id"`
	Tag       Tag       `json:"tag"`
	Parent    Tag       `json:"parent,omitempty"`
}

// RequestStarted: the request is in progress and its jobs exist. It is appended in one batch with its
// admission and all its JobsCreated.
type RequestStarted struct {
	RequestID   RequestID `json:"request_id"`
	Definitions Digest    `json:"definitions"`
	Jobs        int       `json:"jobs"`
	Backfill    int       `json:"backfill"`
	// Shared are jobs of this request that already existed, because another request made them. It waits for them too.
	Shared []JobID `json:"shared,omitempty"`
	// Requires are the terms that the request and its queue added to those of the definitions.
	Requires []string `json:"requires,omitempty"`
	// Graphs counts the graphs with needs that the batch makes.
	Graphs int `json:"graphs,omitempty"`
	// Template is what the request was expanded with; nil for definitions that offer no choice.
	Template *Template `json:"template,omitempty"`
}

// Template is what a request takes of what its definitions offer.
type Template struct {
	// Graph is the graph, Branch the pattern of the branches whose rules apply; empty for none.
	Graph  string `json:"graph,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Options has every option with its value.
	Options map[string]string `json:"options,omitempty"`
}

// JobsCreated: jobs were made for a request: its own, or those of its parent that it needs (backfill).
type JobsCreated struct {
	RequestID RequestID `json:"request_id"`
	Jobs      []JobSpec `json:"jobs"`
	// Key is the key of the GraphWanted that asked for the jobs; empty for those of the start and for backfills.
	Key string `json:"key,omitempty"`
	// Graph says what the jobs need; nil for jobs that need no others.
	Graph *GraphPart `json:"graph,omitempty"`
}

// matched reports whether there are matched jobs among them. Programs that do not know these must not take them for
// others: so they have a version of their own.
func (f JobsCreated) matched() bool {
	return slices.ContainsFunc(f.Jobs, func(j JobSpec) bool { return j.Matched })
}

// inGraph reports whether jobs need others. Programs that do not know needs must not run such jobs at once: so they have
// a version of their own, too.
func (f JobsCreated) inGraph() bool { return f.Graph != nil }

// builds reports whether jobs build, use what others built, or are chunks. Programs that do not know that must not dispatch
// them.
func (f JobsCreated) builds() bool {
	return slices.ContainsFunc(f.Jobs, func(j JobSpec) bool {
		return j.Recipe != "" || j.Tokens != nil || len(j.Checkouts) > 0 || j.Chunk != nil
	}) ||
		f.Graph != nil && slices.ContainsFunc(f.Graph.Needs, func(n JobNeeds) bool { return n.Output != "" })
}

// RequestExpansionFailed: the request could not be turned into jobs. The third time quarantines it.
type RequestExpansionFailed struct {
	RequestID RequestID `json:"request_id"`
	Reason    string    `json:"reason"`
	Failures  int       `json:"failures"`
	// Waits is set when the farm lacks something and the request is not to blame: it waits until the farm has it.
	Waits bool `json:"waits,omitempty"`
}

// RequestCompleted: all required jobs ended, none of them as a failure.
type RequestCompleted struct {
	RequestID RequestID `json:"request_id"`
	Jobs      int       `json:"jobs"`
}

// RequestFailed: all required jobs ended and some failed, or the request could not be expanded.
type RequestFailed struct {
	RequestID  RequestID `json:"request_id"`
	Reason     string    `json:"reason"`
	Jobs       int       `json:"jobs"`
	FailedJobs int       `json:"failed_jobs"`
}

// RequestCancelled: a person or a command withdrew the request. Its jobs end by their own facts, and only if no other
// request waits for them.
type RequestCancelled struct {
	RequestID RequestID `json:"request_id"`
	Reason    string    `json:"reason,omitempty"`
}

// RequestCancelledWithJobs is how earlier versions cancelled a request: its jobs that were on no lane yet ended with
// it, even if other requests waited for them.
type RequestCancelledWithJobs struct {
	RequestID RequestID `json:"request_id"`
	Reason    string    `json:"reason,omitempty"`
}

// JobsWithdrawn: jobs that are on no lane end as cancelled, because every request that wanted them was cancelled, or
// because they were skipped when their graph ended.
type JobsWithdrawn struct {
	RequestID RequestID `json:"request_id"`
	Jobs      []JobID   `json:"jobs"`
	// Skipped says that jobs that they need did not succeed.
	Skipped bool `json:"skipped,omitempty"`
	// Expired says that their graph was not done by its deadline.
	Expired bool `json:"expired,omitempty"`
	// Empty says that they are chunks for which nothing was left to measure: they end as successes.
	Empty bool `json:"empty,omitempty"`
}

// empty reports whether the jobs are chunks for which nothing was left. Programs that do not know that would take them for
// cancelled.
func (f JobsWithdrawn) empty() bool { return f.Empty }

// RequestExpired: the request waited too long for its artifacts.
type RequestExpired struct {
	RequestID RequestID `json:"request_id"`
	Reason    string    `json:"reason"`
}

// RequestSuperseded: a newer try of the same pull request replaced this one before it started.
type RequestSuperseded struct {
	RequestID RequestID `json:"request_id"`
	By        RequestID `json:"by"`
}

// ---- admission ----

// RequestAdmitted: this request starts next. The scheduler appends it with the last admission as the expected version:
// that keeps "at most N in progress" true.
type RequestAdmitted struct {
	RequestID RequestID `json:"request_id"`
	Tag       Tag       `json:"tag"`
	// Reason is why it was first in the queue.
	Reason string `json:"reason"`
}

// BackfillAdmitted: a request in progress gets jobs of its parent, which appeared after its start.
type BackfillAdmitted struct {
	RequestID RequestID `json:"request_id"`
	Parent    Tag       `json:"parent"`
	Jobs      int       `json:"jobs"`
	// Graphs counts the graphs with needs that the batch makes.
	Graphs int `json:"graphs,omitempty"`
}

// ---- lane.<target>.<set> ----

// JobDispatched: the job was released to its lane. The collector receives this event itself as its message. Place
// counts the dispatches of the lane from 1.
type JobDispatched struct {
	Place uint64  `json:"place"`
	Job   JobSpec `json:"job"`
	// Closes is set when this job is the last one on the lane of every request that began there. After it the collector
	// may be replaced by another version: the change then falls between two requests, not inside one.
	Closes bool `json:"closes,omitempty"`
	// Since is when the first of a run of transient errors with the job's artifact struck, in any of the artifact's
	// jobs, in RFC 3339; empty when there was none. All jobs of an artifact spend one budget.
	Since string `json:"since,omitempty"`
	// Attempt and Lost count the executions of a job that moved here from another lane, and those of them that were
	// lost.
	Attempt int `json:"attempt,omitempty"`
	Lost    int `json:"lost,omitempty"`
	// Share says whose turn it was; nil on a farm that is not shared.
	Share *Share `json:"share,omitempty"`
	// Seal is the signature of the scheduler that dispatched the job; nil for none.
	Seal *Seal `json:"seal,omitempty"`
}

// Share is the part of a JobDispatched that says to whom the job is charged, and how much at first.
type Share struct {
	Tier    Tier        `json:"tier"`
	Queue   QueueName   `json:"queue,omitempty"`
	Account AccountName `json:"account,omitempty"`
	// ExpectMS is how long the job is expected to take, in milliseconds. The charge is corrected when it has ended.
	ExpectMS int64 `json:"expect_ms"`
	// Part is how much of the machine the job takes, in 1/1024; 0 for all of it. The charge is the time times the part.
	Part int `json:"part,omitempty"`
	// Waiting are the other tiers that had a job for the lane.
	Waiting []Tier `json:"waiting,omitempty"`
	// Why says in words why it was this job's turn.
	Why string `json:"why"`
}

// wholeMachine is the part of a job that takes all of its machine.
const wholeMachine = 1024

// Charge returns what some time on the machine costs, in milliseconds of the whole machine. Add up such charges and not
// the times: then all who count round alike.
func (s Share) Charge(ms int64) int64 {
	if s.Part <= 0 || s.Part >= wholeMachine {
		return ms
	}
	part := int64(s.Part)
	return ms/wholeMachine*part + ms%wholeMachine*part/wholeMachine
}

// ---- work.<target>.<set> ----

// JobDequeued: a collector began an attempt. The sequence of this event is the token of the attempt.
type JobDequeued struct {
	Lane      Lane          `json:"lane"`
	Place     uint64        `json:"place"`
	Job       JobSpec       `json:"job"`
	Collector CollectorName `json:"collector"`
	// Instance names the process. It tells a collector that was killed from its successor.
	Instance string `json:"instance"`
	// Attempt counts the executions of the job from 1. Lost counts the earlier ones that ended by a crash or by
	// silence.
	Attempt int `json:"attempt"`
	Lost    int `json:"lost"`
	// Version and Environment are those of the collector that executes the job.
	Version     string `json:"version"`
	Environment Digest `json:"environment"`
	// Since is when the first of a run of transient errors struck; empty when there was none.
	Since string `json:"since,omitempty"`
}

// JobFinished: the job ended and will not run again.
type JobFinished struct {
	Lane      Lane          `json:"lane"`
	Place     uint64        `json:"place"`
	JobID     JobID         `json:"job_id"`
	RequestID RequestID     `json:"request_id"`
	Collector CollectorName `json:"collector"`
	// Token is the sequence of the attempt's JobDequeued; 0 when the job ended without an attempt.
	Token   Seq     `json:"token"`
	Attempt int     `json:"attempt"`
	Lost    int     `json:"lost"`
	Outcome Outcome `json:"outcome"`
	// Reason says in words why a job failed or was cancelled.
	Reason string `json:"reason,omitempty"`
	// Fault is the kind of error that ended the whole job; empty when all its test cases were tried.
	Fault      ErrorKind `json:"fault,omitempty"`
	Measured   int       `json:"measured"`
	Skipped    int       `json:"skipped"`
	Failed     int       `json:"failed"`
	DurationMS int64     `json:"duration_ms"`
	// Failing is the artifact that had transient errors for too long. Since is when they began, in RFC 3339. They are
	// nil and empty for other ends.
	Failing *Artifact `json:"failing,omitempty"`
	Since   string    `json:"since,omitempty"`
	// Evicted are the caches that the machine threw away for those of the job.
	Evicted []string `json:"evicted,omitempty"`
	// Used is what the commands of a matched job used; nil for other jobs, if no command ran, and from older collectors.
	Used *Used `json:"used,omitempty"`
	// Key names what the job did and with what (see rules/suite): jobs with equal keys have equal ends. Only successes have one.
	// ReusedFrom is the earlier run whose outputs and results it took over instead of running; empty for none.
	Key        Digest `json:"key,omitempty"`
	ReusedFrom JobID  `json:"reused_from,omitempty"`
	// Output tells how much the attempt printed; nil from older collectors. Phases is how long its parts took.
	Printed *Printed `json:"printed,omitempty"`
	Phases  *Phases  `json:"phases_ms,omitempty"`
	// Jobserver counts the tokens that were not in their place when the commands had ended; nil if all were.
	Jobserver *JobserverCount `json:"jobserver,omitempty"`
}

// Printed tells how much output an attempt made, in bytes, and how much of it was not kept. Last is the number of its last
// chunk: a reader who has it has all that there is.
type Printed struct {
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped,omitempty"`
	Last    int   `json:"last"`
}

// Phases is how long the parts of an attempt took, in milliseconds. Wait is the time for which it waited for its turn on
// the machine: it is no part of what the job costs.
type Phases struct {
	Wait    int64 `json:"wait,omitempty"`
	Fetch   int64 `json:"fetch,omitempty"`
	Prepare int64 `json:"prepare,omitempty"`
	Run     int64 `json:"run,omitempty"`
	Store   int64 `json:"store,omitempty"`
}

// JobserverCount counts tokens of a jobserver: those that its children took and did not give back, and those that they wrote
// and never took.
type JobserverCount struct {
	Missing int `json:"missing,omitempty"`
	Surplus int `json:"surplus,omitempty"`
}

// Used is what the commands of a job used in its last attempt: those that prepare benchmarks and those that are measured,
// on both sides of a pair. Fetching and building artifacts is no part of it, and neither are earlier attempts.
type Used struct {
	// PeakMemoryBytes is the most memory that one command had, in bytes; 0 if it is not known. Where a command has a cgroup
	// that counts memory, it is that of all its processes together, with the files that the kernel keeps in memory for
	// them: it may be more than they need, but never more than their limit. Elsewhere it is the largest resident set of
	// one process (rusage): processes that run beside it are not added.
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`
	// CPUMS is the CPU time of all commands together, user and system, in milliseconds.
	CPUMS int64 `json:"cpu_ms"`
}

// AttemptLost: the attempt's collector crashed or fell silent. It spends one of the job's attempts.
type AttemptLost struct {
	Lane      Lane          `json:"lane"`
	Place     uint64        `json:"place"`
	JobID     JobID         `json:"job_id"`
	Collector CollectorName `json:"collector"`
	Token     Seq           `json:"token"`
	Attempt   int           `json:"attempt"`
	Lost      int           `json:"lost"`
	Reason    string        `json:"reason"`
}

// AttemptReleased: the collector gave the job back unfinished. It spends no attempt.
type AttemptReleased struct {
	Lane      Lane          `json:"lane"`
	Place     uint64        `json:"place"`
	JobID     JobID         `json:"job_id"`
	Collector CollectorName `json:"collector"`
	Token     Seq           `json:"token"`
	Attempt   int           `json:"attempt"`
	Lost      int           `json:"lost"`
	// Reason is "shutdown", "drain", "update", the transient error, or what the host lacks.
	Reason string `json:"reason"`
	// Transient is set when a transient error is the reason and the job is tried again. Since is when the first such
	// error struck.
	Transient bool   `json:"transient,omitempty"`
	Since     string `json:"since,omitempty"`
	// HostFull is set when the host had less free memory than the job reserves, so no command was started.
	HostFull *HostFull `json:"host_full,omitempty"`
	// Unready is set when a command of the machine's own configuration failed that runs before or after what is measured.
	Unready bool `json:"unready,omitempty"`
	// Printed tells how much output the attempt made; nil if it began no command, or if its definitions are of version 1.
	Printed *Printed `json:"printed,omitempty"`
}

// HostFull says that a host has less free memory than a job reserves, both in MiB.
type HostFull struct {
	ReservedMiB int64 `json:"reserved_mib"`
	FreeMiB     int64 `json:"free_mib"`
}

// ---- result.<target>.<set>.<job> ----

// AttemptBegan: what follows on this subject belongs to this attempt. Earlier versions appended it in one batch with
// JobDequeued, so that a process that had lost the job could add no more results. ResultsClosed does that now.
type AttemptBegan struct {
	Lane      Lane          `json:"lane"`
	JobID     JobID         `json:"job_id"`
	Collector CollectorName `json:"collector"`
	Attempt   int           `json:"attempt"`
}

// TestCasesMeasured: these test cases were measured, with all their iterations, since the last such event.
type TestCasesMeasured struct {
	Lane        Lane           `json:"lane"`
	JobID       JobID          `json:"job_id"`
	Artifact    Artifact       `json:"artifact"`
	Collector   CollectorName  `json:"collector"`
	Token       Seq            `json:"token"`
	Attempt     int            `json:"attempt"`
	Definitions Digest         `json:"definitions"`
	Environment Digest         `json:"environment"`
	Cases       []MeasuredCase `json:"cases"`
	// Beside says that the event is a block: the test cases were measured in turns with those of another artifact. Nil: they
	// were measured alone.
	Beside *Beside `json:"beside,omitempty"`
}

// Beside is the other side of a block.
type Beside struct {
	Artifact Artifact `json:"artifact"`
	// Cases are the same test cases as those of the event, in the same order. Iteration i of both is pair i, in the order AB BA
	// BA AB, and again, where A is this side.
	Cases []MeasuredCase `json:"cases"`
}

// inTurns reports whether the event is a block. Programs that do not know blocks would take one side for the whole: so it has
// a version of its own.
func (f TestCasesMeasured) inTurns() bool { return f.Beside != nil }

// Sides returns what was measured of each artifact: the event's own side first, then that beside it.
func (f TestCasesMeasured) Sides() []Beside {
	sides := []Beside{{f.Artifact, f.Cases}}
	if f.Beside != nil {
		sides = append(sides, *f.Beside)
	}
	return sides
}

// ErrorRecorded: something went wrong in an attempt. Case is set when it concerns one test case.
type ErrorRecorded struct {
	Lane      Lane          `json:"lane"`
	JobID     JobID         `json:"job_id"`
	Artifact  Artifact      `json:"artifact"`
	Collector CollectorName `json:"collector"`
	Token     Seq           `json:"token"`
	Attempt   int           `json:"attempt"`
	Kind      ErrorKind     `json:"kind"`
	// Context is the benchmark, or what the collector was doing.
	Context string    `json:"context"`
	Case    *TestCase `json:"case,omitempty"`
	Message string    `json:"message"`
}

// OutputStored: an output of the attempt is in the store, whole.
type OutputStored struct {
	Lane      Lane          `json:"lane"`
	JobID     JobID         `json:"job_id"`
	Collector CollectorName `json:"collector"`
	Token     Seq           `json:"token"`
	Attempt   int           `json:"attempt"`
	Output
	// Upload says that people asked to keep it to look at: no job uses it.
	Upload bool `json:"upload,omitempty"`
}

// DiagnosticsSeen: what the commands of the attempt had to say that the definitions recognise. Each text comes once.
type DiagnosticsSeen struct {
	Lane      Lane          `json:"lane"`
	JobID     JobID         `json:"job_id"`
	Collector CollectorName `json:"collector"`
	Token     Seq           `json:"token"`
	Attempt   int           `json:"attempt"`
	Items     []Diagnostic  `json:"items"`
	// More counts the different texts beyond those in Items, and Lines all lines that were recognised, by level.
	More  int            `json:"more,omitempty"`
	Lines map[string]int `json:"lines,omitempty"`
}

// Diagnostic is a line that a command printed and that the definitions recognise.
type Diagnostic struct {
	Level string `json:"level"`
	Code  string `json:"code,omitempty"`
	// Text is the first such line, at most 4 KiB of it. Hash is of the text without what differs by chance (the directory
	// of the job, addresses, times, numbers of lines), in hex.
	Text string `json:"text"`
	Hash string `json:"hash"`
	// Count is how many lines are equal by their hash.
	Count int `json:"count"`
}

// ResultsClosed: nothing more of this attempt or an earlier one counts as a result of the job. It is appended together
// with the end of an attempt that another process may still hold, so that the log refuses late results.
type ResultsClosed struct {
	Lane    Lane  `json:"lane"`
	JobID   JobID `json:"job_id"`
	Attempt int   `json:"attempt"`
	Token   Seq   `json:"token"`
}

// ---- assign.<target>.<set> ----

// LaneAssigned: the collector serves the lane, or stands by for it. At most one collector of a lane is not a standby.
type LaneAssigned struct {
	Lane    Lane          `json:"lane"`
	Name    CollectorName `json:"name"`
	Standby bool          `json:"standby,omitempty"`
}

// LaneUnassigned: the collector no longer serves the lane.
type LaneUnassigned struct {
	Lane Lane          `json:"lane"`
	Name CollectorName `json:"name"`
}

// ---- suite.<name> ----

// DefinitionsPublished: from here on this version of a suite is the current one of a branch. Content is its canonical JSON
// form, Digest the hash of that.
type DefinitionsPublished struct {
	Suite   SuiteName `json:"suite"`
	Digest  Digest    `json:"digest"`
	Content RawJSON   `json:"content"`
	// Branch is the branch that they are for; empty for all branches that have none of their own.
	Branch string `json:"branch,omitempty"`
	// Revision is the commit that they were read from, File the name that the repository gives to the content of their
	// file; both are empty if a person published them.
	Revision string `json:"revision,omitempty"`
	File     string `json:"file,omitempty"`
	// Aside says that no branch uses them: requests name them by their digest.
	Aside bool `json:"aside,omitempty"`
	// Seal is the signature of who published them; nil for none.
	Seal *Seal `json:"seal,omitempty"`
}

// aside reports whether no branch uses the definitions. Programs that do not know that would use them for all.
func (f DefinitionsPublished) aside() bool { return f.Aside }

// Seal is a signature of definitions or of a dispatched job (see rules/seal).
type Seal struct {
	// Key is the id of the key that signed.
	Key string `json:"key"`
	// Signature is that of Ed25519, in standard base64.
	Signature string `json:"signature"`
}

// ofBranch reports whether the definitions are those of one branch. Programs that do not know branches would use them
// for all: so they have a version of their own.
func (f DefinitionsPublished) ofBranch() bool { return f.Branch != "" }

// DefinitionsPromoted: from here on a branch uses definitions that were published before, for it or for another branch.
// From are those that it used until then; empty for none of its own.
type DefinitionsPromoted struct {
	Suite  SuiteName `json:"suite"`
	Branch string    `json:"branch,omitempty"`
	Digest Digest    `json:"digest"`
	From   Digest    `json:"from,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// DefinitionsRejected: a file of definitions in a repository cannot be used. The branch keeps the definitions that it has.
type DefinitionsRejected struct {
	Suite    SuiteName `json:"suite"`
	Branch   string    `json:"branch,omitempty"`
	Revision string    `json:"revision"`
	File     string    `json:"file,omitempty"`
	// Problems say what is wrong, each with its line. There may be more of them.
	Problems []string `json:"problems"`
}
