package suite

import "github.com/tachobench/tacho/events"

// Definitions is the content of one suite file: everything that Tacho knows about a project. It is data: the code that
// reads it names no toolchain.
type Definitions struct {
	// Version is the version of the file's form; 1, or 2 if kinds have needs or a When or run commands, or if there are
	// options, graphs, branches or Iterations that are a table.
	Version     int              `toml:"version" json:"version"`
	Name        events.SuiteName `toml:"name" json:"name"`
	Description string           `toml:"description" json:"description,omitempty"`
	// PrimaryTarget is where kinds with Primary run.
	PrimaryTarget events.Target `toml:"primary_target" json:"primary_target"`
	Sources       Sources       `toml:"sources" json:"sources"`
	Defaults      Defaults      `toml:"defaults" json:"defaults"`
	// Categories says which categories of benchmarks a kind of request measures.
	Categories map[events.RequestKind][]Category `toml:"categories" json:"categories"`
	Artifact   Artifact                          `toml:"artifact" json:"artifact"`
	// Demo is what a first run compares; nil for a suite without a demo.
	Demo *Demo `toml:"demo" json:"demo,omitempty"`

	Targets    []Target       `toml:"target" json:"targets"`
	Kinds      []Kind         `toml:"kind" json:"kinds"`
	Profiles   []Profile      `toml:"profile" json:"profiles"`
	Backends   []Backend      `toml:"backend" json:"backends"`
	Scenarios  []Scenario     `toml:"scenario" json:"scenarios"`
	Metrics    []MetricInfo   `toml:"metric" json:"metrics"`
	Benchmarks []BenchmarkDef `toml:"benchmark" json:"benchmarks"`

	Options  []Option `toml:"option" json:"options,omitempty"`
	Graphs   []Graph  `toml:"graph" json:"graphs,omitempty"`
	Branches []Branch `toml:"branch" json:"branches,omitempty"`
}

// Category is the weight that a benchmark has in a verdict.
type Category string

// The categories of benchmarks.
const (
	Primary   Category = "primary"
	Secondary Category = "secondary"
	Stable    Category = "stable"
)

// Sources says where the measured programs come from.
type Sources struct {
	// Root names a directory of programs: "shipped" is the one inside the binary, "file" the directory of the suite
	// file. Any other name is a key of [sources] in the configuration of each collector.
	Root string `toml:"root" json:"root"`
	// Directory is where in the root the programs are. Load joins it to each source.
	Directory string `toml:"directory" json:"-"`
	// Revision is the git commit that a checkout must be at; empty accepts any commit, and the collector records which.
	Revision string `toml:"revision" json:"revision,omitempty"`
}

// Demo names two artifacts that anybody can fetch.
type Demo struct {
	Parent events.Tag `toml:"parent" json:"parent"`
	Child  events.Tag `toml:"child" json:"child"`
	// Benchmarks are name globs that keep the first run short; empty measures all.
	Benchmarks []string `toml:"benchmarks" json:"benchmarks,omitempty"`
}

// Defaults apply to every benchmark that does not set its own values.
type Defaults struct {
	Iterations Iterations `toml:"iterations" json:"iterations"`
	// Timeout is the limit of one measured command, as a Go duration ("5m").
	Timeout string `toml:"timeout" json:"timeout"`
}

// Target is one platform.
type Target struct {
	Name events.Target `toml:"name" json:"name"`
	// Sets is the number of parts that the compile benchmarks are split into.
	Sets int `toml:"sets" json:"sets"`
	// Optional targets never block anything: neither their request nor its children wait for them.
	Optional bool `toml:"optional" json:"optional,omitempty"`
	// OnRequest targets are measured only when a request names them.
	OnRequest bool `toml:"on_request" json:"on_request,omitempty"`
	// OS and Arch are what a collector's host must have, as Go names them ("linux", "amd64").
	OS   string `toml:"os" json:"os"`
	Arch string `toml:"arch" json:"arch"`
}

// Kind is one suite: compile, runtime or bootstrap.
type Kind struct {
	Name events.JobKind `toml:"name" json:"name"`
	// PerSet, PerBackend and PerProfile make one job for each set, backend and profile. Without them a job has set 0,
	// the default backend, or Profile.
	PerSet     bool           `toml:"per_set" json:"per_set,omitempty"`
	PerBackend bool           `toml:"per_backend" json:"per_backend,omitempty"`
	PerProfile bool           `toml:"per_profile" json:"per_profile,omitempty"`
	Profile    events.Profile `toml:"profile" json:"profile,omitempty"`
	// Primary kinds run only on the primary target, whatever targets a request names.
	Primary bool `toml:"primary" json:"primary,omitempty"`
	// Requests are the kinds of request that get jobs of this kind; empty means all.
	Requests []events.RequestKind `toml:"requests" json:"requests,omitempty"`
	// Backfill makes the same jobs for the parent of a request.
	Backfill bool `toml:"backfill" json:"backfill,omitempty"`
	// Lanes is "own" for jobs that run on the lane of their target and set, or "any" for matched jobs: those run on any
	// machine of a pool that has what they require. Empty means "own".
	Lanes string `toml:"lanes" json:"lanes,omitempty"`
	// Requires are terms that the machine of a matched job must meet, beside the OS and the architecture of its target
	// (rules/match).
	Requires []string `toml:"requires" json:"requires,omitempty"`
	// Shared matched jobs may run beside others on their machine, and are not measured against their parent. The others
	// have the machine for themselves.
	Shared bool `toml:"shared" json:"shared,omitempty"`
	// Caches are directories of the machine that the jobs fill and find filled, such as "ccache/gcc"; {tag} and {parent}
	// are replaced. A job waits a little for a machine that has them. Commands that are not measured (Prepare of a
	// benchmark, Build of an artifact) name their paths with {cache:NAME}.
	Caches []string `toml:"caches" json:"caches,omitempty"`
	// Expect is how long a job is expected to take while none was measured, as a Go duration; empty means 10 minutes.
	Expect string `toml:"expect" json:"expect,omitempty"`
	// Needs are the kinds whose jobs must be done before those of this kind run.
	Needs []KindNeed `toml:"needs" json:"needs,omitempty"`
	// When says which jobs of the kind are made: "pgo = 'on' and profile != 'doc'". Empty means all.
	When string `toml:"when" json:"when,omitempty"`
	// Does is "command" for jobs that run Steps, unmeasured, "build" for those that run them in a tree of the artifact's commit
	// and yield Outputs; empty or "measure" for those that measure benchmarks.
	Does string `toml:"does" json:"does,omitempty"`
	// Steps are commands that run one after another, each after the success of the one before. Always run at the end in any
	// case. {tag} {target} {profile} {backend} {artifact} {source} {tokens} {cache:NAME} and {input:NAME} are replaced.
	Steps  [][]string `toml:"steps" json:"steps,omitempty"`
	Always [][]string `toml:"always" json:"always,omitempty"`
	// Source is the program in whose directory they run, relative to the root of the sources (in the file: to its
	// directory); empty for an empty directory.
	Source string `toml:"source" json:"source,omitempty"`
	// SourceDigest names the content of a shipped source. Load computes it; it is never written by hand.
	SourceDigest events.Digest `toml:"-" json:"source_digest,omitempty"`
	// Env are variables for the steps, as NAME=value, and Timeout is the limit of one of them, as a Go duration; empty means
	// that of Defaults.
	Env     []string `toml:"env" json:"env,omitempty"`
	Timeout string   `toml:"timeout" json:"timeout,omitempty"`
	// Success says which end of the steps is a success.
	Success Success `toml:"success" json:"success,omitzero"`
	// Tokens is how many CPUs a job that builds or runs commands uses at once.
	Tokens Tokens `toml:"tokens" json:"tokens,omitzero"`
	// Outputs are what a build yields, Uploads what is kept of any job for people to look at, Checkouts the trees that it gets
	// beside that of its artifact.
	Outputs   []OutputPaths `toml:"outputs" json:"outputs,omitempty"`
	Uploads   []OutputPaths `toml:"uploads" json:"uploads,omitempty"`
	Checkouts []Checkout    `toml:"checkouts" json:"checkouts,omitempty"`
	// Retries is how often a command may ask by its exit code for another try; 0 for as long as the collector's deadline allows.
	Retries int `toml:"retries" json:"retries,omitempty"`
	// Chunks divides what a matched job measures among the machines that are free; nil for a job that one machine measures.
	Chunks *Chunks `toml:"chunks" json:"chunks,omitempty"`
	// Reuse is "never" for jobs that run although an earlier one did the same with the same inputs; empty or "equal-inputs" for
	// those that take its outputs and results over.
	Reuse string `toml:"reuse" json:"reuse,omitempty"`
	// Diagnostics are the lines of its commands that are worth to be shown, and Deny the levels with which a job is no success.
	Diagnostics []DiagnosticPattern `toml:"diagnostics" json:"diagnostics,omitempty"`
	Deny        []string            `toml:"deny" json:"deny,omitempty"`
}

// Chunks says how a job is divided: into Min to Max parts, each of Least or more (a Go duration) while there is enough left.
type Chunks struct {
	Min   int    `toml:"min" json:"min"`
	Max   int    `toml:"max" json:"max"`
	Least string `toml:"least" json:"least,omitempty"`
}

// Tokens is a range of CPUs. Max is 0 where it is Min.
type Tokens struct {
	Min int `toml:"min" json:"min,omitempty"`
	Max int `toml:"max" json:"max,omitempty"`
}

// OutputPaths says which files make up an output: globs relative to the directory in which the steps run. ** stands for any
// number of directories.
type OutputPaths struct {
	Name  string   `toml:"name" json:"name"`
	Paths []string `toml:"paths" json:"paths"`
	// After is the number of the step, from 1, after whose success an output of a build is stored; 0 for after the success of
	// the job.
	After int `toml:"after" json:"after,omitempty"`
}

// Checkout is a tree that a job gets: Revision is a full commit, a branch (which is resolved when the job is made), {tag} or
// {parent}.
type Checkout struct {
	Repository string `toml:"repository" json:"repository"`
	Revision   string `toml:"revision" json:"revision"`
	Path       string `toml:"path" json:"path"`
}

// DiagnosticPattern recognises lines. Level and Code may refer to what a group of Pattern matched, as $1 or $name.
type DiagnosticPattern struct {
	// Pattern is a regular expression (RE2) for a line.
	Pattern string `toml:"pattern" json:"pattern"`
	Level   string `toml:"level" json:"level"`
	Code    string `toml:"code" json:"code,omitempty"`
}

// The lanes that the jobs of a kind can have.
const (
	LanesOwn = "own"
	LanesAny = "any"
)

// Matched reports whether jobs of the kind run on any machine that has what they require.
func (k Kind) Matched() bool { return k.Lanes == LanesAny }

// Profile is one way to run the compiler.
type Profile struct {
	Name events.Profile `toml:"name" json:"name"`
	// OnRequest profiles are measured only when a request names them.
	OnRequest bool `toml:"on_request" json:"on_request,omitempty"`
	// Args are passed to the driver, which knows what they mean.
	Args []string `toml:"args" json:"args,omitempty"`
	// Scenarios restricts the profile to some scenarios; empty means all.
	Scenarios []events.Scenario `toml:"scenarios" json:"scenarios,omitempty"`
	// Components are what an artifact needs in addition for this profile.
	Components []string `toml:"components" json:"components,omitempty"`
}

// Backend is one code generator.
type Backend struct {
	Name      events.Backend `toml:"name" json:"name"`
	OnRequest bool           `toml:"on_request" json:"on_request,omitempty"`
	Args      []string       `toml:"args" json:"args,omitempty"`
	// Components are what an artifact needs in addition for this backend.
	Components []string `toml:"components" json:"components,omitempty"`
}

// Scenario is one state of the incremental cache. The order in the file is the order of a chain: each
// scenario begins where the one before it ended.
type Scenario struct {
	Name events.Scenario `toml:"name" json:"name"`
	// Cache is what the compiler finds: "none", "empty", "warm" (left by the scenario before) or
	// "patched" (warm, and a patch applied).
	Cache string `toml:"cache" json:"cache"`
}

// MetricInfo describes a metric: how it is compared and shown.
type MetricInfo struct {
	Name events.Metric `toml:"name" json:"name"`
	// Unit is "s", "bytes" or "count".
	Unit string `toml:"unit" json:"unit"`
	// Class is "exact", "count" or "time".
	Class string `toml:"class" json:"class"`
	// Better is "lower" or "higher".
	Better string `toml:"better" json:"better"`
	// Floor is the smallest relative change that can be significant; 0 means the floor of the class.
	Floor float64 `toml:"floor" json:"floor,omitempty"`
}

// Artifact says where the measured artifact comes from.
type Artifact struct {
	// Kind is "go-toolchain", "url", "git" or "path".
	Kind string `toml:"kind" json:"kind"`
	// Path are templates for kind path, tried in order: a directory on the collector; {tag} and {target} are replaced,
	// and a leading "~" is the home directory. For kind url they are tried before the URLs: an artifact that is already
	// on the machine is not fetched.
	Path []string `toml:"path" json:"path,omitempty"`
	// URLs are templates for kind url, tried in order: {tag} {component} {channel} {target}.
	URLs []string `toml:"urls" json:"urls,omitempty"`
	// Channels are the values of {channel}, tried in order.
	Channels []string `toml:"channels" json:"channels,omitempty"`
	// Components are the values of {component}; all are needed. The components of a backend or a profile are added.
	Components []string `toml:"components" json:"components,omitempty"`
	// NoTarget are components whose file name has no target.
	NoTarget []string `toml:"no_target" json:"no_target,omitempty"`
	// Repository and Build are for kind git: the collector checks out a commit and runs Build in it.
	Repository string   `toml:"repository" json:"repository,omitempty"`
	Build      []string `toml:"build" json:"build,omitempty"`
	// Probe is run once after fetching, relative to the artifact; its output is recorded as the version.
	Probe []string `toml:"probe" json:"probe,omitempty"`
	// Driver runs the benchmarks of this artifact unless they name another driver.
	Driver string `toml:"driver" json:"driver"`
}

// BenchmarkDef is one measured program.
type BenchmarkDef struct {
	Name events.Benchmark `toml:"name" json:"name"`
	// Kind is the kind of job that measures it; empty means the first.
	Kind     events.JobKind `toml:"kind" json:"kind"`
	Category Category       `toml:"category" json:"category"`
	// Source is the program, relative to the root of the sources (in the file: to its directory); empty
	// means the name.
	Source string `toml:"source" json:"source"`
	// SourceDigest names the content of a shipped source. Load computes it; it is never written by hand.
	SourceDigest events.Digest `toml:"-" json:"source_digest,omitempty"`
	// Driver overrides the artifact's.
	Driver string `toml:"driver" json:"driver,omitempty"`
	// Sets is the set of the benchmark on each target.
	Sets map[events.Target]events.Set `toml:"sets" json:"sets"`
	// ExcludeProfiles and ExcludeScenarios are not measured.
	ExcludeProfiles  []events.Profile  `toml:"exclude_profiles" json:"exclude_profiles,omitempty"`
	ExcludeScenarios []events.Scenario `toml:"exclude_scenarios" json:"exclude_scenarios,omitempty"`
	// Patches are applied one after another by the patched scenarios.
	Patches    []string   `toml:"patches" json:"patches,omitempty"`
	Iterations Iterations `toml:"iterations" json:"iterations,omitzero"`
	Timeout    string     `toml:"timeout" json:"timeout,omitempty"`
	// Touch is the file that an incremental build sees as changed, if a driver needs one.
	Touch string `toml:"touch" json:"touch,omitempty"`
	// Args are passed to the build tool, CompilerArgs to the compiler, Env to both.
	Args         []string `toml:"args" json:"args,omitempty"`
	CompilerArgs []string `toml:"compiler_args" json:"compiler_args,omitempty"`
	Env          []string `toml:"env" json:"env,omitempty"`
	// Prepare is a command, such as a generator, that runs in the source before anything else. It is not measured.
	Prepare []string `toml:"prepare" json:"prepare,omitempty"`
	// Command is for the "command" driver: the measured argv; {artifact} and {source} are replaced.
	Command []string `toml:"command" json:"command,omitempty"`
	// Parse says what the command prints: "" nothing, "jsonlines", "benchfmt" or "benchlib".
	Parse string `toml:"parse" json:"parse,omitempty"`
}
