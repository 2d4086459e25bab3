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
)

// GraphWanted: a person or a program asks for more jobs for a request, whatever its state. Two with the same key are
// one wish. The answer is GraphAdmitted with the jobs, or GraphRefused.
type GraphWanted struct {
	RequestID RequestID `json:"request_id"`
	Key       string    `json:"key"`
	Kind      GraphKind `json:"kind"`
	// Select names the jobs; empty means every job that did not succeed.
	Select []JobID `json:"select,omitempty"`
	Reason string  `json:"reason,omitempty"`
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

// GraphCreated: a request has a graph whose jobs need one another. The JobsCreated after it, in the same batch, hold its
// jobs and needs; then it is sealed. Jobs that need no others have no such event.
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
}

// GraphEnded: every required job of a graph has ended or is skipped. Skipped jobs end with it: they never run in it.
type GraphEnded struct {
	RequestID RequestID `json:"request_id"`
	Graph     int       `json:"graph"`
	// Outcome is success if every required job was one, else failure.
	Outcome Outcome `json:"outcome"`
	// Jobs counts its required jobs, Failed those of them that failed or were cancelled, Skipped those that were
	// skipped because another one failed.
	Jobs    int `json:"jobs"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Causes are the numbers of the failed jobs that others were skipped for.
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
}

// SharedJob is a job of a graph that exists already.
type SharedJob struct {
	Number int   `json:"number"`
	ID     JobID `json:"id"`
	// Outcome is its end if it has ended; empty if not.
	Outcome Outcome `json:"outcome,omitempty"`
	// Optional says whether it may fail without harm to the graph.
	Optional bool `json:"optional,omitempty"`
}

// JobNeeds says what a job needs.
type JobNeeds struct {
	Job int `json:"job"`
	// On are the numbers of the jobs that it waits for.
	On    []int `json:"on"`
	Until Until `json:"until,omitempty"`
}
