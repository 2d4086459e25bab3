package events

// GraphKind is the closed set of kinds of graph: why the jobs of a request were made.
type GraphKind string

// The kinds of graph.
const (
	// GraphInitial has the jobs that a request starts with.
	GraphInitial GraphKind = "initial"
	// GraphBackfill has the jobs that its parent lacked.
	GraphBackfill GraphKind = "backfill"
	// GraphRerun makes no graph: jobs of a request in progress that did not succeed run again in their graph.
	GraphRerun GraphKind = "rerun"
	// GraphRepair has the next rounds of jobs that did not succeed.
	GraphRepair GraphKind = "repair"
	// GraphRetrigger has clones of jobs, whatever became of these. Each copy is a sample of its own.
	GraphRetrigger GraphKind = "retrigger"
	// GraphNoise measures the parent several times more, each time as a sample of its own: what differs then is noise.
	GraphNoise GraphKind = "noise"
	// GraphForce makes no graph: a job that waits for others, or was skipped because of them, is to run all the same.
	GraphForce GraphKind = "force"
	// GraphAdded has jobs that the definitions have and that were switched off for the request.
	GraphAdded GraphKind = "added"
	// GraphExternal has jobs that a person or a program wrote. They are a sample of their own.
	GraphExternal GraphKind = "external"
)

// Sampled reports whether the jobs of such graphs are samples beside the base series. They never change how their request
// ends.
func (k GraphKind) Sampled() bool {
	return k == GraphRetrigger || k == GraphNoise || k == GraphExternal
}

// Downstream is the closed set of jobs that a retrigger clones beside those that are selected.
type Downstream string

// The jobs that are cloned, too.
const (
	// DownstreamNone clones no others: what the selected jobs need must have succeeded.
	DownstreamNone Downstream = ""
	// DownstreamNeeded also clones the jobs that they need the success of and that did not succeed.
	DownstreamNeeded Downstream = "needed"
	// DownstreamAll also clones these, and every job that needs a selected one.
	DownstreamAll Downstream = "all"
)

// OnFailure is the closed set of what the failure of a required job means for the other jobs of its graph.
type OnFailure string

// What the failure of a required job means.
const (
	// KeepGoing skips only the jobs that need the success of the one that failed.
	KeepGoing OnFailure = ""
	// FailFast skips every job of the graph that is not dispatched.
	FailFast OnFailure = "fail-fast"
)

// GraphWanted: a person or a program asks for more jobs for a request, whatever its state. Two with the same key are
// one wish. The answer is GraphAdmitted with the jobs, or GraphRefused.
type GraphWanted struct {
	RequestID RequestID `json:"request_id"`
	Key       string    `json:"key"`
	Kind      GraphKind `json:"kind"`
	// Select names the jobs; empty means every job, or for a rerun and a repair every one that did not succeed. Where
	// selects of these the ones that have certain properties, such as "kind=compile" (see rules/graph.ParseSelector).
	Select []JobID  `json:"select,omitempty"`
	Where  []string `json:"where,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Copies is how often a retrigger clones each job, and how many samples of the parent a noise graph takes; 0 for
	// others. Downstream says which jobs a retrigger clones, too.
	Copies     int        `json:"copies,omitempty"`
	Downstream Downstream `json:"downstream,omitempty"`
	// Benchmarks narrows the clones to those that match these globs; empty for no narrowing.
	Benchmarks []string `json:"benchmarks,omitempty"`
	// Priority is that of the clones; empty for the usual one of the kind. They are never more urgent than their request.
	Priority Priority `json:"priority,omitempty"`
	// Expect is the token of the list that the asker was shown (rules/graph.Token): another list is refused. Empty
	// accepts any.
	Expect string `json:"expect,omitempty"`
	// Force lets a rerun take jobs that succeeded.
	Force bool `json:"force,omitempty"`
	// Labels name the jobs of an added graph, such as "compile/x86_64-unknown-linux-gnu/1/llvm/check" (rules/graph.Label).
	Labels []string `json:"labels,omitempty"`
	// Iterations replaces how often the clones of a retrigger measure each test case; 0 leaves it.
	Iterations int `json:"iterations,omitempty"`
	// Parts counts the GraphProposed of an external graph, which come before the wish in one batch, and Content is the digest
	// of what they say.
	Parts   int    `json:"parts,omitempty"`
	Content Digest `json:"content,omitempty"`
}

// selects reports whether the wish is for clones, or for jobs with certain properties. Programs that do not know such
// wishes must not take them for repairs: so they have a version of their own.
func (f GraphWanted) selects() bool { return f.Kind.Sampled() || len(f.Where) > 0 }

// forces reports whether the wish is to force a job. Programs that do not know such wishes would run it again.
func (f GraphWanted) forces() bool { return f.Kind == GraphForce }

// changes reports whether the wish is for other jobs than those that were made before it. Programs that do not know such
// wishes would make other jobs.
func (f GraphWanted) changes() bool {
	return f.Kind == GraphAdded || f.Kind == GraphExternal || f.Force || f.Iterations != 0
}

// GraphProposed: a part of an external graph that somebody wrote. The GraphWanted with the same key follows in the same batch.
type GraphProposed struct {
	RequestID RequestID `json:"request_id"`
	Key       string    `json:"key"`
	// Jobs are numbered within the graph; First is the number of the first one.
	First int           `json:"first,omitempty"`
	Jobs  []ProposedJob `json:"jobs,omitempty"`
	// Needs may come before the jobs that they name.
	Needs []JobNeeds `json:"needs,omitempty"`
}

// ProposedJob is a job of an external graph. What it leaves out follows from the definitions.
type ProposedJob struct {
	// Number is the one that its writer gave it, for messages. Its number in the graph is its place.
	Number int `json:"number,omitempty"`
	// Tag is that of the request's own artifact, or of its parent; empty for its own.
	Tag        Tag      `json:"tag,omitempty"`
	Kind       JobKind  `json:"kind"`
	Target     Target   `json:"target"`
	Set        Set      `json:"set"`
	Backend    Backend  `json:"backend"`
	Profile    Profile  `json:"profile"`
	Benchmarks []string `json:"benchmarks,omitempty"`
	// Iterations is how often each test case is measured; 0 for as often as the definitions say.
	Iterations int `json:"iterations,omitempty"`
	// Optional is nil for what its target is.
	Optional *bool `json:"optional,omitempty"`
	// Requires are the terms that the machine of a matched job must meet.
	Requires []string `json:"requires,omitempty"`
}

// GraphRefused: a wish cannot be carried out.
type GraphRefused struct {
	RequestID RequestID `json:"request_id"`
	Key       string    `json:"key"`
	Reason    string    `json:"reason"`
}

// GraphAdmitted: the jobs of a wish are made. It is appended in one batch with them.
type GraphAdmitted struct {
	RequestID RequestID `json:"request_id"`
	Key       string    `json:"key"`
	Kind      GraphKind `json:"kind"`
	Jobs      int       `json:"jobs"`
	// Graphs counts the graphs with needs that the batch makes.
	Graphs int `json:"graphs,omitempty"`
}

// GraphCreated: a request has a graph whose jobs need one another, or are samples. The JobsCreated after it, in the same
// batch, hold its jobs and needs; then it is sealed. Other jobs that need no others have no such event.
type GraphCreated struct {
	RequestID RequestID `json:"request_id"`
	// Graph numbers the graphs with needs of the request from 0.
	Graph int       `json:"graph"`
	Kind  GraphKind `json:"kind"`
	// Key is the key of the GraphWanted that asked for it; empty for others.
	Key string `json:"key,omitempty"`
	// Jobs counts its jobs, also those that exist already, Needs the pairs of a job and one that it needs.
	Jobs  int `json:"jobs"`
	Needs int `json:"needs"`
	// Priority is that of its jobs if they are samples; empty for that of the request.
	Priority Priority `json:"priority,omitempty"`
	// OnFailure says what the failure of a required job means for the others.
	OnFailure OnFailure `json:"on_failure,omitempty"`
	// Deadline is an RFC 3339 time in UTC; empty for none. Of a try what is open then ends as cancelled. Of others it is said
	// by an alert.
	Deadline string `json:"deadline,omitempty"`
	// Customised says that the jobs are not those that the definitions make: their results are never taken for evidence.
	Customised bool `json:"customised,omitempty"`
}

// endsEarly reports whether the graph has a rule by which it ends early. Programs that do not know such rules would run on.
func (f GraphCreated) endsEarly() bool { return f.OnFailure != KeepGoing || f.Deadline != "" }

// changed reports whether the graph is of a kind that was added later. Programs that do not know it would count its jobs
// for the request.
func (f GraphCreated) changed() bool {
	return f.Kind == GraphAdded || f.Kind == GraphExternal || f.Customised
}

// GraphCancelled: a person withdrew a graph that was made by a wish, or its deadline has passed. Its jobs end by their own facts, and only if no
// other request waits for them.
type GraphCancelled struct {
	RequestID RequestID `json:"request_id"`
	Graph     int       `json:"graph"`
	Reason    string    `json:"reason,omitempty"`
	// Expired says that it was the deadline.
	Expired bool `json:"expired,omitempty"`
}

// JobForced: a person lets a job of a request run although its needs are not met. In the open graphs of the request they
// count as met from then on, for the later rounds of the job, too.
type JobForced struct {
	RequestID RequestID `json:"request_id"`
	JobID     JobID     `json:"job_id"`
	// Key is the key of the GraphWanted that asked for it.
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// JobReused: a job ends as a success without running, because an earlier run did the same with the same inputs. What that
// run stored and measured is its, too. It is no new evidence.
type JobReused struct {
	RequestID RequestID `json:"request_id"`
	JobID     JobID     `json:"job_id"`
	// From is the run, Key what both have in common.
	From JobID  `json:"from"`
	Key  Digest `json:"key"`
}

// GraphEnded: every required job of a graph has ended or is skipped. Skipped jobs end with it: they never run in it.
type GraphEnded struct {
	RequestID RequestID `json:"request_id"`
	Graph     int       `json:"graph"`
	// Outcome is success if every required job was one, else failure; cancelled or expired if the graph was.
	Outcome Outcome `json:"outcome"`
	// Jobs counts its required jobs, Failed those of them that failed or were cancelled, Skipped those that were
	// skipped because another one failed.
	Jobs    int `json:"jobs"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Causes are the numbers of the required jobs that failed, and of all that others were skipped for.
	Causes []int `json:"causes,omitempty"`
}

// Until is the closed set of ends of a job that meet a need.
type Until string

// The ends that meet a need.
const (
	// UntilSuccess is met by success alone.
	UntilSuccess Until = ""
	// UntilEnded is met by any end, and when the job is skipped.
	UntilEnded Until = "ended"
)

// GraphPart says where jobs stand in their graph. Jobs are numbered from 0 within it.
type GraphPart struct {
	// Graph is the number of the graph in its request.
	Graph int `json:"graph"`
	// First is the number of the first job of the event; the others follow it.
	First int `json:"first,omitempty"`
	// Again has the number of each job of the event if they are the next rounds of jobs of the graph.
	Again []int `json:"again,omitempty"`
	// Shared are jobs of the graph that exist already.
	Shared []SharedJob `json:"shared,omitempty"`
	// Needs says what jobs need. They may come before the jobs that they name.
	Needs []JobNeeds `json:"needs,omitempty"`
	// CostMS is how long each job of the event was expected to take when the graph was made, in milliseconds, and Rank its
	// place among the jobs of the graph: of those that may run, the one with the lowest rank comes first. Both are empty for
	// graphs whose order is that of their creation, and for jobs that run again: those keep what they had.
	CostMS []int64 `json:"cost_ms,omitempty"`
	Rank   []int   `json:"rank,omitempty"`
}

// SharedJob is a job of a graph that exists already.
type SharedJob struct {
	Number int   `json:"number"`
	ID     JobID `json:"id"`
	// Outcome is its end if it has ended; empty if not.
	Outcome Outcome `json:"outcome,omitempty"`
	// Optional says whether it may fail without harm to the graph.
	Optional bool `json:"optional,omitempty"`
	// Added says that another request had it made, and that it is a job of this request, too, from now on. Only added graphs
	// have such jobs.
	Added bool `json:"added,omitempty"`
	// Outputs are the names of those that it has stored, if it has ended.
	Outputs []string `json:"outputs,omitempty"`
}

// JobNeeds says what a job needs.
type JobNeeds struct {
	Job int `json:"job"`
	// On are the numbers of the jobs that it waits for.
	On    []int `json:"on"`
	Until Until `json:"until,omitempty"`
	// Output is the output of each of them that the job uses; empty for none. It is met as soon as the output is stored.
	Output string `json:"output,omitempty"`
}
