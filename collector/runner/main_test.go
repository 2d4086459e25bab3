package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

func TestMain(m *testing.M) {
	if measure.RunShimIfAsked() || runner.RunWrapperIfAsked() {
		return
	}
	os.Exit(m.Run())
}

// recorder is a sink that keeps what it gets.
type recorder struct {
	measured []events.MeasuredCase
	failures []runner.Failure
	started  []string
	log      []string
	used     []measure.Use
	// diagnosed, phases and jobserver are what the commands said, how long they took, and what they left of their tokens.
	diagnosed []events.DiagnosticsSeen
	phases    events.Phases
	jobserver events.JobserverCount
	// refuse is what Measured returns.
	refuse error
	// onLog is called with each line.
	onLog func(string)
	// printed is what commands printed while they ran; onOutput is called each time it grows.
	printed  []byte
	onOutput func()
}

func (r *recorder) Started(b events.Benchmark, done, total int) {
	r.started = append(r.started, fmt.Sprintf("%s %d/%d", b, done, total))
}

func (r *recorder) Measured(_ context.Context, c events.MeasuredCase) error {
	r.measured = append(r.measured, c)
	return r.refuse
}

func (r *recorder) Failed(_ context.Context, f runner.Failure) error {
	r.failures = append(r.failures, f)
	return nil
}

func (r *recorder) Used(u measure.Use) { r.used = append(r.used, u) }

func (r *recorder) Diagnosed(_ context.Context, seen events.DiagnosticsSeen) error {
	r.diagnosed = append(r.diagnosed, seen)
	return nil
}

func (r *recorder) Took(phase func(*events.Phases) *int64, d time.Duration) {
	*phase(&r.phases) += d.Milliseconds()
}

func (r *recorder) Counted(j events.JobserverCount) {
	r.jobserver.Missing += j.Missing
	r.jobserver.Surplus += j.Surplus
}

// Output is called by those who read what commands print, one after the other.
func (r *recorder) Output(text []byte) {
	r.printed = append(r.printed, text...)
	if r.onOutput != nil {
		r.onOutput()
	}
}

func (r *recorder) Log(text string) {
	r.log = append(r.log, text)
	if r.onLog != nil {
		r.onLog(text)
	}
}

// scenarios lists the names of the measured cases.
func (r *recorder) scenarios() []string {
	var all []string
	for _, c := range r.measured {
		all = append(all, string(c.Scenario))
	}
	return all
}

// planOf makes a plan with the chain of all four scenarios.
func planOf(b suite.BenchmarkDef, driver string, iterations int) suite.BenchmarkPlan {
	p := suite.BenchmarkPlan{
		Benchmark: b, Profile: suite.Profile{Name: "opt"}, Backend: suite.Backend{Name: "only"},
		Chain: []suite.Scenario{
			{Name: "full", Cache: suite.CacheNone},
			{Name: "incr-full", Cache: suite.CacheEmpty},
			{Name: "incr-unchanged", Cache: suite.CacheWarm},
			{Name: "incr-patched", Cache: suite.CachePatched},
		},
		Iterations: iterations, Timeout: time.Minute, Driver: driver,
	}
	for _, s := range p.Chain {
		p.Cases = append(p.Cases, events.TestCase{Benchmark: b.Name, Profile: "opt", Scenario: s.Name, Backend: "only", Target: "here"})
	}
	return p
}

// shell returns a benchmark that runs a script. Its name is the program's source.
func shell(name, script string) suite.BenchmarkDef {
	return suite.BenchmarkDef{Name: events.Benchmark(name), Source: name, Command: []string{"sh", "-c", script}}
}

// jobOf makes a job in directories of the test; files are the program of every benchmark.
func jobOf(t *testing.T, files map[string]string, plans ...suite.BenchmarkPlan) runner.Job {
	t.Helper()
	root := t.TempDir()
	return runner.Job{
		Plans:     plans,
		Toolchain: runner.Toolchain{Dir: filepath.Join(root, "toolchain"), Tag: "v1"},
		Slot:      filepath.Join(root, "slot"),
		Cache:     filepath.Join(root, "cache"),
		Source: func(_ context.Context, _ suite.BenchmarkDef, dir string) error {
			return writeFiles(dir, files)
		},
	}
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func newRunner() *runner.Runner { return runner.New(runner.Settings{}) }

func has(c events.MeasuredCase, metric events.Metric) bool {
	return !slices.ContainsFunc(c.Iterations, func(i events.Iteration) bool { _, ok := i.Metrics[metric]; return !ok })
}
