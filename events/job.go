package events

// JobSpec is everything that a collector must know to execute a job. It goes unchanged from the event that created the
// job into the message that dispatches it.
type JobSpec struct {
	ID       JobID    `json:"id"`
	Artifact Artifact `json:"artifact"`
	Kind     JobKind  `json:"kind"`
	Target   Target   `json:"target"`
	Set      Set      `json:"set"`
	Backend  Backend  `json:"backend"`
	Profile  Profile  `json:"profile"`
	// Benchmarks are name globs; empty means all of the set.
	Benchmarks []string `json:"benchmarks,omitempty"`
	// Optional jobs never keep a request from completing.
	Optional bool `json:"optional,omitempty"`
	// Definitions is the digest of the definitions that the job was made with.
	Definitions Digest `json:"definitions"`
	// RequestID is the request that asked for the job. For a backfill it is the child's request: the job then measures
	// the parent's artifact.
	RequestID RequestID `json:"request_id"`
	Backfill  bool      `json:"backfill,omitempty"`
	// Round counts the earlier jobs of the same identity: those that were cancelled, ended by a fault, measured too
	// little, or that a person asked to repeat.
	Round int `json:"round,omitempty"`
	// Measures are the categories of benchmarks that the job measures, if they differ from a master's. Empty means
	// those of the kind of its artifact. Jobs of earlier versions have none.
	Measures []string `json:"measures,omitempty"`
}

// Again returns the job that takes the place of j: the same identity in the next round, with an id of its own.
func (j JobSpec) Again() JobSpec {
	j.ID, j.Round = JobID("j"+shortHash("again", string(j.ID))), j.Round+1
	return j
}

// Lane returns the lane that the job is dispatched on.
func (j JobSpec) Lane() Lane { return Lane{Target: j.Target, Set: j.Set} }

// First returns the id of the first round of j, which names the job in all its rounds.
func (j JobSpec) First() JobID {
	return NewJobID(j.Artifact, j.Kind, j.Lane(), j.Backend, j.Profile, j.Benchmarks, j.Measures)
}

// Earlier returns the ids of the rounds before j.
func (j JobSpec) Earlier() []JobID {
	var ids []JobID
	round := JobSpec{ID: j.First()}
	for ; round.Round < j.Round; round = round.Again() {
		ids = append(ids, round.ID)
	}
	return ids
}

// TestCase is a benchmark with all its parameters.
type TestCase struct {
	Benchmark Benchmark `json:"benchmark"`
	Profile   Profile   `json:"profile"`
	Scenario  Scenario  `json:"scenario"`
	Backend   Backend   `json:"backend"`
	Target    Target    `json:"target"`
}

// String returns the test case as "benchmark/profile/scenario/backend/target".
func (c TestCase) String() string {
	return string(c.Benchmark) + "/" + string(c.Profile) + "/" + string(c.Scenario) + "/" + string(c.Backend) + "/" + string(c.Target)
}

// Iteration is one execution of a test: the value of each metric, in the metric's own unit (times in
// seconds, sizes in bytes, counts as they are).
type Iteration struct {
	Metrics map[Metric]float64 `json:"metrics"`
	// Interference says in words why this sample is suspect; empty for a clean one.
	Interference string `json:"interference,omitempty"`
}

// MeasuredCase is a test case with the samples of all its iterations, in the order they were taken.
type MeasuredCase struct {
	TestCase
	Iterations []Iteration `json:"iterations"`
}

// Environment describes the machine that measured. Two machines have the same Fingerprint exactly when their results
// may be compared.
type Environment struct {
	Fingerprint Digest            `json:"fingerprint"`
	Host        string            `json:"host"`
	OS          string            `json:"os"`
	Kernel      string            `json:"kernel"`
	CPU         string            `json:"cpu"`
	CPUs        int               `json:"cpus"`
	MemoryBytes int64             `json:"memory_bytes"`
	Settings    map[string]string `json:"settings,omitempty"`
	// Missing maps each metric that this machine cannot measure to the reason.
	Missing map[Metric]string `json:"missing,omitempty"`
}

// Outcome is the closed set of ends of a job.
type Outcome string

// The outcomes of a job.
const (
	Success   Outcome = "success"
	Failure   Outcome = "failure"
	Cancelled Outcome = "cancelled"
)

// ErrorKind is the closed set of kinds of recorded error.
type ErrorKind string

// The kinds of error.
const (
	// ErrorArtifact: the artifact is not there, or is not what it should be.
	ErrorArtifact ErrorKind = "artifact"
	// ErrorPrepare: a benchmark could not be prepared.
	ErrorPrepare ErrorKind = "prepare"
	// ErrorBenchmark: a measured command failed.
	ErrorBenchmark ErrorKind = "benchmark"
	// ErrorTimeout: a measured command ran over its time limit and was killed.
	ErrorTimeout ErrorKind = "timeout"
	// ErrorTransient: an error that may go away, such as a broken download. The job is tried again.
	ErrorTransient ErrorKind = "transient"
	// ErrorDefinitions: the definitions of the job could not be used.
	ErrorDefinitions ErrorKind = "definitions"
	// ErrorExhausted: the budget of attempts is spent.
	ErrorExhausted ErrorKind = "exhausted"
	// ErrorInternal: a fault of Tacho itself.
	ErrorInternal ErrorKind = "internal"
)
