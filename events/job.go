package events

import (
	"fmt"
	"strings"
)

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
	// Matched jobs run on any machine that has what Requires asks for, in the canonical form of its terms. On is the
	// lane that the job is bound to, from its dispatch on; nil before. The others run on the lane of their target and
	// set.
	Matched  bool     `json:"matched,omitempty"`
	Requires []string `json:"requires,omitempty"`
	On       *Lane    `json:"on,omitempty"`
	// Against is the artifact of the parent that a matched job measures on the same machine; nil for none.
	Against *Artifact `json:"against,omitempty"`
	// Caches are the directories of its machine that a matched job fills and finds filled. Where it finds some it is quicker,
	// so they are no part of its identity.
	Caches []string `json:"caches,omitempty"`
	// Sample says which measurement of its artifact the job belongs to: empty for the base series, else a name that only
	// the jobs of one copy of one graph have (see NewSample).
	Sample string `json:"sample,omitempty"`
	// Iterations is how often each test case is measured, if the job was changed so; 0 for as often as the definitions say.
	// Only samples have it.
	Iterations int `json:"iterations,omitempty"`
	// Recipe is the digest of what a build does. It is part of the identity of a build: another recipe is another job. Other
	// jobs have none.
	Recipe Digest `json:"recipe,omitempty"`
	// Tokens says how many CPUs a job uses at once, of those that its machine offers; nil for a job that does not say so.
	Tokens *Tokens `json:"tokens,omitempty"`
	// Checkouts are the trees that a job gets beside that of its artifact. Each revision is a full commit.
	Checkouts []Checkout `json:"checkouts,omitempty"`
	// Chunk says which part of its benchmarks the job measures, if several jobs measure them together; nil for all.
	Chunk *Chunk `json:"chunk,omitempty"`
	// Inputs are the outputs of other jobs that the job uses, from its dispatch on; empty before.
	Inputs []Input `json:"inputs,omitempty"`
}

// Chunk is one of several jobs that measure the benchmarks of a matched job together. What each of them measures is decided
// when it is dispatched, and then stays: all its later attempts and rounds measure the same.
type Chunk struct {
	// Number counts the chunks from 1, Of is how many there are at most.
	Number int `json:"number"`
	Of     int `json:"of"`
	// Units are the benchmarks that the job measures, from its first dispatch on; empty before. Part is their share of all
	// benchmarks by what they are expected to cost, in 1/1024.
	Units []Benchmark `json:"units,omitempty"`
	Part  int         `json:"part,omitempty"`
}

// WholeJob is the Part of a chunk that measures all benchmarks.
const WholeJob = 1024

// Tokens is a range of CPUs that a job can use at once.
type Tokens struct {
	Min int `json:"min"`
	// Max is at least Min; 0 stands for Min.
	Max int `json:"max,omitempty"`
	// Got is what the job has, from its dispatch on; 0 before.
	Got int `json:"got,omitempty"`
}

// Checkout is a tree of a repository, and where a job finds it.
type Checkout struct {
	Repository string `json:"repository"`
	Revision   string `json:"revision"`
	// Path is relative to the directory in which the steps run.
	Path string `json:"path"`
}

// Output is a named tree that a job yields: a tar file without times and owners, in the order of its names.
type Output struct {
	Name string `json:"name"`
	// Digest is the SHA-256 of the tar file, in hex; Bytes is its size.
	Digest Digest `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// Input is an output that a job uses.
type Input struct {
	Output
	// JobID is the job that yielded it, Kind its kind, Lane the one that stored it.
	JobID JobID   `json:"job_id"`
	Kind  JobKind `json:"kind"`
	Lane  Lane    `json:"lane"`
}

// NewSample returns the name of a sample: copies are numbered from 1.
func NewSample(id RequestID, graph, copy int) string { return fmt.Sprintf("%s-%d-%d", id, graph, copy) }

// Again returns the job that takes the place of j: the same identity in the next round, with an id of its own, bound to
// no lane.
func (j JobSpec) Again() JobSpec {
	j.ID, j.Round, j.On = JobID("j"+shortHash("again", string(j.ID))), j.Round+1, nil
	return j
}

// Part returns the target and set: what the job measures.
func (j JobSpec) Part() Lane { return Lane{Target: j.Target, Set: j.Set} }

// Lane returns the lane that the job is dispatched on; the zero lane for a matched job that is not bound.
func (j JobSpec) Lane() Lane {
	switch {
	case j.On != nil:
		return *j.On
	case j.Matched:
		return Lane{}
	}
	return j.Part()
}

// Bound returns the job bound to a lane. A job that is not matched has no other lane than its own.
func (j JobSpec) Bound(to Lane) JobSpec {
	if j.Matched {
		j.On = &to
	}
	return j
}

// First returns the id of the first round of j, which names the job in all its rounds. It is derived from the identity
// of the job: artifact, kind, target, set, backend and profile, the benchmark filter if there is one, and what it
// measures if that differs from a master's job (see docs/decisions/0004 and 0035). That of a matched job includes what
// it requires and what it is measured against.
func (j JobSpec) First() JobID {
	parts := []string{
		"job", string(j.Artifact.Suite), string(j.Artifact.Tag), string(j.Kind), j.Part().String(), string(j.Backend), string(j.Profile),
		strings.Join(j.Benchmarks, ","),
	}
	if len(j.Measures) > 0 {
		parts = append(parts, "measures="+strings.Join(j.Measures, ","))
	}
	if j.Matched {
		parts = append(parts, "requires="+strings.Join(j.Requires, " "))
	}
	if j.Against != nil {
		parts = append(parts, "against="+string(j.Against.Tag))
	}
	if j.Sample != "" {
		parts = append(parts, "sample="+j.Sample)
	}
	if j.Recipe != "" {
		parts = append(parts, "recipe="+string(j.Recipe))
	}
	if j.Chunk != nil {
		parts = append(parts, fmt.Sprintf("chunk=%d/%d", j.Chunk.Number, j.Chunk.Of))
	}
	return JobID("j" + shortHash(parts...))
}

// maxRounds is how many rounds a job can have: more than were ever made.
const maxRounds = 10_000

// Earlier returns the ids of the rounds before j.
func (j JobSpec) Earlier() []JobID {
	var ids []JobID
	round := JobSpec{ID: j.First()}
	for ; round.Round < min(j.Round, maxRounds); round = round.Again() {
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
	// GraphExpired is how a graph ends that was not done by its deadline. No job ends so.
	GraphExpired Outcome = "expired"
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
	// ErrorMemory: a command wanted more memory than its job reserves, and was killed.
	ErrorMemory ErrorKind = "memory"
	// ErrorCommand: a command of a job that runs commands did not end as a success.
	ErrorCommand ErrorKind = "command"
	// ErrorSeal: the collector enforces seals, and the definitions or the dispatch of the job have none that it trusts.
	ErrorSeal ErrorKind = "seal"
	// ErrorOutput: an output of a job is missing or cannot be stored, or an input of it cannot be had.
	ErrorOutput ErrorKind = "output"
	// ErrorDiagnostics: the commands succeeded, and printed diagnostics that their kind denies.
	ErrorDiagnostics ErrorKind = "diagnostics"
)
