package suite

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// recipeVersion is raised when the same definitions are to mean something else: every recipe is then another one.
const recipeVersion = 1

// recipe is what decides what a job does, in the form that is hashed. The names and the order of its fields are part of
// all recipes that were ever recorded. What goes into the job (the content of its artifact and of its inputs, the machine that
// measures, the versions of its drivers) is no part of it, and neither is what only says where, when or how often it is tried.
type recipe struct {
	Version int              `json:"recipe"`
	Suite   events.SuiteName `json:"suite"`
	Kind    events.JobKind   `json:"kind"`
	Does    string           `json:"does"`
	Target  string           `json:"target"`
	OS      string           `json:"os"`
	Arch    string           `json:"arch"`

	Backend     events.Backend `json:"backend"`
	BackendArgs []string       `json:"backend_args"`
	Profile     events.Profile `json:"profile"`
	ProfileArgs []string       `json:"profile_args"`
	// Requires and Shared say beside what a matched job runs, Against what it is measured beside.
	Requires []string   `json:"requires"`
	Shared   bool       `json:"shared"`
	Against  events.Tag `json:"against"`

	// Root and Revision are empty if digests name the content of all programs.
	Root     string `json:"root"`
	Revision string `json:"revision"`

	Measures []recipeBenchmark `json:"measures"`
	Runs     *recipeSteps      `json:"runs"`
}

// recipeBenchmark is what a job does with a benchmark.
type recipeBenchmark struct {
	Name         events.Benchmark `json:"name"`
	Driver       string           `json:"driver"`
	Source       string           `json:"source"`
	SourceDigest events.Digest    `json:"source_digest"`
	Chain        []string         `json:"chain"`
	Iterations   int              `json:"iterations"`
	TimeoutMS    int64            `json:"timeout_ms"`
	Patches      []string         `json:"patches"`
	Touch        string           `json:"touch"`
	Args         []string         `json:"args"`
	CompilerArgs []string         `json:"compiler_args"`
	Env          []string         `json:"env"`
	Prepare      []string         `json:"prepare"`
	Command      []string         `json:"command"`
	Parse        string           `json:"parse"`
	// Until is nil for a plain number of iterations: recipes from before there was anything else stay what they are.
	Until *recipeUntil `json:"until,omitempty"`
}

// recipeUntil is when a test case has enough iterations.
type recipeUntil struct {
	Min      int             `json:"min"`
	Width    float64         `json:"width"`
	BudgetMS int64           `json:"budget_ms"`
	Times    []events.Metric `json:"times"`
}

// recipeSteps is what a job does that runs commands.
type recipeSteps struct {
	Steps        [][]string          `json:"steps"`
	Always       [][]string          `json:"always"`
	Source       string              `json:"source"`
	SourceDigest events.Digest       `json:"source_digest"`
	Env          []string            `json:"env"`
	Timeout      string              `json:"timeout"`
	Exit         []int               `json:"exit"`
	RetryExit    []int               `json:"retry_exit"`
	Fail         []string            `json:"fail"`
	Require      []string            `json:"require"`
	Metrics      string              `json:"metrics"`
	Scenario     events.Scenario     `json:"scenario"`
	Outputs      []OutputPaths       `json:"outputs"`
	Uses         []string            `json:"uses"`
	Checkouts    []events.Checkout   `json:"checkouts"`
	Diagnostics  []DiagnosticPattern `json:"diagnostics"`
	Deny         []string            `json:"deny"`
}

// Recipe names what a job does: the SHA-256 over everything in the definitions that decides it. Two jobs with equal recipes
// and equal inputs do the same. The error names what the definitions lack: the job was then made with other ones.
func (d Definitions) Recipe(job events.JobSpec) (events.Digest, error) {
	plans, err := d.Plan(job)
	if err != nil {
		return "", err
	}
	return d.recipe(job, plans), nil
}

// recipe returns the recipe of a job that measures what is planned.
func (d *Definitions) recipe(job events.JobSpec, plans []BenchmarkPlan) events.Digest {
	kind, _ := d.Kind(job.Kind)
	target, _ := d.Target(job.Target)
	profile, _ := d.Profile(job.Profile)
	backend, _ := d.Backend(job.Backend)
	r := recipe{
		Version: recipeVersion, Suite: d.Name, Kind: kind.Name, Does: cmp.Or(kind.Does, DoesMeasure),
		Target: string(target.Name), OS: target.OS, Arch: target.Arch,
		Backend: backend.Name, BackendArgs: orEmpty(backend.Args), Profile: profile.Name, ProfileArgs: orEmpty(profile.Args),
		Requires: inOrder(job.Requires), Shared: kind.Shared,
	}
	if job.Against != nil {
		r.Against = job.Against.Tag
	}
	named := true
	if r.Does == DoesMeasure {
		r.Measures = []recipeBenchmark{}
		for _, p := range plans {
			r.Measures = append(r.Measures, benchmarkOf(p))
			named = named && p.Benchmark.SourceDigest != ""
		}
		slices.SortFunc(r.Measures, func(a, b recipeBenchmark) int { return cmp.Compare(a.Name, b.Name) })
	} else {
		r.Runs = d.recipeSteps(kind, job)
		named = kind.Source == "" || kind.SourceDigest != ""
	}
	if !named {
		r.Root, r.Revision = d.Sources.Root, d.Sources.Revision
	}
	return r.digest()
}

func (r recipe) digest() events.Digest {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		panic(fmt.Sprintf("suite: recipe of kind %s: %v", r.Kind, err)) // it is made of texts and numbers alone
	}
	sum := sha256.Sum256(text.Bytes())
	return events.Digest(hex.EncodeToString(sum[:]))
}

func benchmarkOf(p BenchmarkPlan) recipeBenchmark {
	b := p.Benchmark
	chain := make([]string, len(p.Chain))
	for i, s := range p.Chain {
		chain[i] = string(s.Name) + "=" + s.Cache
	}
	var until *recipeUntil
	if u := p.Until; u != nil {
		until = &recipeUntil{u.Min, u.Width, u.Budget.Milliseconds(), inOrder(u.Times)}
	}
	return recipeBenchmark{
		Name: b.Name, Driver: p.Driver, Source: b.Source, SourceDigest: b.SourceDigest, Chain: chain,
		Iterations: p.Iterations, TimeoutMS: p.Timeout.Milliseconds(), Patches: orEmpty(b.Patches), Touch: b.Touch,
		Args: orEmpty(b.Args), CompilerArgs: orEmpty(b.CompilerArgs), Env: orEmpty(b.Env),
		Prepare: orEmpty(b.Prepare), Command: orEmpty(b.Command), Parse: b.Parse, Until: until,
	}
}

// recipeSteps returns what a job of a kind runs. {tag} and the like are replaced: where a command names the tag, each tag is
// another recipe.
func (d *Definitions) recipeSteps(k Kind, job events.JobSpec) *recipeSteps {
	fields := strings.NewReplacer("{tag}", string(job.Artifact.Tag), "{target}", string(job.Target), "{profile}", string(job.Profile), "{backend}", string(job.Backend))
	r := &recipeSteps{
		Steps: replaced(fields, k.Steps), Always: replaced(fields, k.Always), Source: k.Source, SourceDigest: k.SourceDigest,
		Env: orEmpty(k.Env), Timeout: cmp.Or(k.Timeout, d.Defaults.Timeout),
		Exit: inOrder(k.Success.Exit), RetryExit: inOrder(k.Success.RetryExit),
		Fail: inOrder(k.Success.Fail), Require: inOrder(k.Success.Require), Metrics: k.Success.Metrics,
		Outputs: []OutputPaths{}, Uses: []string{}, Checkouts: checkoutsOf(k, job),
		Diagnostics: append([]DiagnosticPattern{}, k.Diagnostics...), Deny: inOrder(k.Deny),
	}
	if len(r.Exit) == 0 {
		r.Exit = []int{0}
	}
	if r.Metrics != "" && len(d.Scenarios) > 0 {
		r.Scenario = d.Scenarios[0].Name // the one of the test case that has the metrics
	}
	for _, o := range k.Outputs {
		o.Paths = inOrder(o.Paths)
		r.Outputs = append(r.Outputs, o)
	}
	slices.SortFunc(r.Outputs, func(a, b OutputPaths) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range k.Needs {
		if n.Output != "" {
			r.Uses = append(r.Uses, string(n.Kind)+"/"+n.Output)
		}
	}
	slices.Sort(r.Uses)
	return r
}

// checkoutsOf returns the checkouts of a job. While it has none of its own, its branches are not resolved yet: those of its kind.
func checkoutsOf(k Kind, job events.JobSpec) []events.Checkout {
	all := slices.Clone(job.Checkouts)
	if len(all) == 0 {
		fields := strings.NewReplacer("{tag}", string(job.Artifact.Tag))
		for _, c := range k.Checkouts {
			all = append(all, events.Checkout{Repository: c.Repository, Revision: fields.Replace(c.Revision), Path: c.Path})
		}
	}
	slices.SortFunc(all, func(a, b events.Checkout) int { return cmp.Compare(a.Path, b.Path) })
	return orEmpty(all)
}

// inOrder returns a list whose order means nothing in one order, each value once.
func inOrder[T cmp.Ordered](list []T) []T {
	sorted := append([]T{}, list...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// orEmpty returns a list that is never nil, so that lists without values have one form.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
