package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/rules/suite"
)

// The command that prepares a program gets the caches that it names. Measured commands get none.
func TestOnlyPreparationGetsCaches(t *testing.T) {
	cache := t.TempDir()
	var asked []string
	dir := func(name string) (string, error) {
		asked = append(asked, name)
		return cache, nil
	}
	ready := shell("one", "test -f prepared")
	ready.Prepare = []string{"sh", "-c", "echo {artifact} >{cache:cc/{tag}}/object && touch prepared"}
	job := jobOf(t, patched(), planOf(ready, suite.DriverCommand, 1))
	job.Caches = dir
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got.Measured == 0 || got.Failed > 0 {
		t.Fatalf("Run = %+v, %v; log %q", got, err, sink.log)
	}
	if object, err := os.ReadFile(filepath.Join(cache, "object")); err != nil || strings.TrimSpace(string(object)) != job.Toolchain.Dir {
		t.Errorf("the cache holds %q, %v", object, err)
	}
	if len(asked) != 1 || asked[0] != "cc/{tag}" {
		t.Errorf("asked for %q", asked)
	}
	for name, change := range map[string]func(*suite.BenchmarkPlan){
		"command":     func(p *suite.BenchmarkPlan) { p.Benchmark.Command = []string{"ls", "{cache:cc}"} },
		"arguments":   func(p *suite.BenchmarkPlan) { p.Benchmark.Args = []string{"{cache:cc}"} },
		"environment": func(p *suite.BenchmarkPlan) { p.Benchmark.Env = []string{"D={cache:cc}"} },
		"profile":     func(p *suite.BenchmarkPlan) { p.Profile.Args = []string{"{cache:cc}"} },
		"backend":     func(p *suite.BenchmarkPlan) { p.Backend.Args = []string{"-d={cache:cc"} },
		"build tool": func(p *suite.BenchmarkPlan) {
			p.Benchmark.Args, p.Driver = []string{"-o={cache:cc}"}, suite.DriverGoBuild
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planOf(shell("one", "true"), suite.DriverCommand, 1)
			change(&plan)
			refused(t, jobOf(t, nil, plan), "measured commands get none")
		})
	}
	ready.Prepare = []string{"sh", "-c", "ls {cache:cc}"}
	refused(t, jobOf(t, patched(), planOf(ready, suite.DriverCommand, 1)), "no cache cc")
}

// refused checks that nothing of a job is measured, and why.
func refused(t *testing.T, job runner.Job, why string) {
	t.Helper()
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got.Measured > 0 || got.Failed == 0 || !strings.Contains(sink.failures[0].Message, why) {
		t.Errorf("Run = %+v, %v; failures %+v", got, err, sink.failures)
	}
}
