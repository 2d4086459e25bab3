package suite

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// The caches of scenarios: what the compiler finds when it starts.
const (
	// CacheNone: the compiler keeps no cache.
	CacheNone = "none"
	// CacheEmpty: the compiler finds an empty cache and fills it.
	CacheEmpty = "empty"
	// CacheWarm: the compiler finds the cache that the scenario before it left.
	CacheWarm = "warm"
	// CachePatched: warm, and the program was changed by its patches.
	CachePatched = "patched"
)

// The drivers that can run a benchmark.
const (
	DriverGoBuild = "go-build"
	DriverRust    = "rust"
	DriverCommand = "command"
)

// BenchmarkPlan says what a job measures of one benchmark.
type BenchmarkPlan struct {
	Benchmark BenchmarkDef
	Profile   Profile
	Backend   Backend
	// Chain is the scenarios in the order in which one iteration runs them. Cases has the test case of each: a patched
	// scenario is one test case, however many patches it applies.
	Chain []Scenario
	Cases []events.TestCase
	// Iterations is how often the chain runs, at most if there is Until, which says when a test case has enough. Timeout is the
	// limit of one measured command.
	Iterations int
	Until      *Until
	Timeout    time.Duration
	Driver     string
}

// Plan lists what a job measures, in the order of the definitions. An empty plan is no error: the job has nothing to do
// and succeeds. An error names what the definitions lack: the job was then made with other definitions.
func (d Definitions) Plan(job events.JobSpec) ([]BenchmarkPlan, error) {
	kind, ok := d.Kind(job.Kind)
	if !ok {
		return nil, d.foreign(job, "kind", string(job.Kind))
	}
	if _, ok := d.Target(job.Target); !ok {
		return nil, d.foreign(job, "target", string(job.Target))
	}
	profile, ok := d.Profile(job.Profile)
	if !ok {
		return nil, d.foreign(job, "profile", string(job.Profile))
	}
	backend, ok := d.Backend(job.Backend)
	if !ok {
		return nil, d.foreign(job, "backend", string(job.Backend))
	}
	var plans []BenchmarkPlan
	for i := range d.Benchmarks { // a definition is large, and most of them are of other jobs
		if !d.measures(job, kind, &d.Benchmarks[i]) {
			continue
		}
		b := d.Benchmarks[i]
		if job.Chunk != nil && len(job.Chunk.Units) > 0 && !slices.Contains(job.Chunk.Units, b.Name) {
			continue
		}
		chain := d.chain(profile, b)
		if len(chain) == 0 {
			continue
		}
		timeout, err := time.ParseDuration(cmp.Or(b.Timeout, d.Defaults.Timeout))
		if err != nil {
			return nil, fmt.Errorf("plan job %s: timeout of %s: %w", job.ID, b.Name, err)
		}
		iterations := cmp.Or(Iterations{Number: min(max(job.Iterations, 0), graph.MaxIterations)}, b.Iterations, d.Defaults.Iterations)
		until, err := iterations.until(d.Metrics)
		if err != nil {
			return nil, fmt.Errorf("plan job %s: iterations of %s: %w", job.ID, b.Name, err)
		}
		plans = append(plans, BenchmarkPlan{
			Benchmark: b, Profile: profile, Backend: backend,
			Chain: chain, Cases: cases(job, b, chain),
			Iterations: iterations.most(), Until: until, Timeout: timeout,
			Driver: cmp.Or(b.Driver, d.Artifact.Driver),
		})
	}
	return plans, nil
}

// Covers reports whether haveJob, with its definitions, measures every test case that wantJob would measure with its
// own. It is true if one of the two jobs cannot be planned. Chunks count as the jobs that they are parts of: the other chunks
// measure what they do not.
func Covers(have Definitions, haveJob events.JobSpec, want Definitions, wantJob events.JobSpec) bool {
	haveJob.Chunk, wantJob.Chunk = nil, nil
	measured, err := have.Plan(haveJob)
	if err != nil {
		return true
	}
	wanted, err := want.Plan(wantJob)
	if err != nil {
		return true
	}
	cases := map[events.TestCase]bool{}
	for _, p := range measured {
		for _, c := range p.Cases {
			cases[c] = true
		}
	}
	return !slices.ContainsFunc(wanted, func(p BenchmarkPlan) bool {
		return slices.ContainsFunc(p.Cases, func(c events.TestCase) bool { return !cases[c] })
	})
}

func (d Definitions) foreign(job events.JobSpec, what, name string) error {
	return fmt.Errorf("plan job %s: suite %s has no %s %q: the job was made with other definitions", job.ID, d.Name, what, name)
}

// measures reports whether b is in the set, the categories, the profile and the filter of the job.
func (d *Definitions) measures(job events.JobSpec, kind Kind, b *BenchmarkDef) bool {
	if b.Kind != kind.Name {
		return false
	}
	set, placed := b.Sets[job.Target]
	switch {
	case kind.PerSet && (!placed || set != job.Set),
		!kind.PerSet && len(b.Sets) > 0 && !placed,
		!slices.Contains(d.Categories[job.Artifact.Kind], b.Category),
		slices.Contains(b.ExcludeProfiles, job.Profile):
		return false
	case len(job.Benchmarks) == 0:
		return true
	}
	return slices.ContainsFunc(job.Benchmarks, func(g string) bool { return matches(g, b.Name) })
}

// chain returns the scenarios of b that are measured under p.
func (d Definitions) chain(p Profile, b BenchmarkDef) []Scenario {
	var chain []Scenario
	for _, s := range d.Scenarios {
		switch {
		case len(p.Scenarios) > 0 && !slices.Contains(p.Scenarios, s.Name),
			slices.Contains(b.ExcludeScenarios, s.Name),
			s.Cache == CachePatched && len(b.Patches) == 0:
		default:
			chain = append(chain, s)
		}
	}
	return chain
}

func cases(job events.JobSpec, b BenchmarkDef, chain []Scenario) []events.TestCase {
	all := make([]events.TestCase, len(chain))
	for i, s := range chain {
		all[i] = events.TestCase{
			Benchmark: b.Name, Profile: job.Profile, Scenario: s.Name, Backend: job.Backend, Target: job.Target,
		}
	}
	return all
}
