package runner_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tachobench/tacho/definitions"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/runner"
	"github.com/tachobench/tacho/suite"
)

// TestExplore is a scratch.
func TestExplore(t *testing.T) {
	goroot := os.Getenv("X_GOROOT")
	file := "../definitions/go.toml"
	data, err := os.ReadFile(file)
	if err != nil { t.Fatal(err) }
	d, err := suite.Load(file, data, nil)
	if err != nil { t.Fatal(err) }
	var set events.Set
	if os.Getenv("X_SET") == "1" { set = 1 }
	kind := events.Master
	if k := os.Getenv("X_KIND"); k != "" { kind = events.RequestKind(k) }
	profile := events.Profile("opt")
	if k := os.Getenv("X_PROFILE"); k != "" { profile = events.Profile(k) }
	plans, err := d.Plan(events.JobSpec{Artifact: events.Artifact{Suite: "go", Kind: kind, Tag: "x"}, Kind: "compile", Target: "linux-amd64", Set: set, Backend: "gc", Profile: profile})
	if err != nil { t.Fatal(err) }
	progs := definitions.ProgramsBeside("../definitions/go/x")
	sink := &printSink{t}
	start := time.Now()
	r := runner.New(runner.Settings{DisableASLR: true})
	s, err := r.Run(t.Context(), runner.Job{Plans: plans, Toolchain: runner.Toolchain{Dir: goroot, Tag: events.Tag(filepath.Base(goroot))}, Slot: "/tmp/gr/slot" + os.Getenv("X_SET"), Cache: "/tmp/gr/jobcache",
		Source: func(_ context.Context, b suite.BenchmarkDef, dir string) error { return progs.Materialise(b.Source, dir) }}, sink)
	t.Log(s, err, time.Since(start))
	_ = exec.Command
}

type printSink struct{ t *testing.T }

func (p *printSink) Started(b events.Benchmark, done, total int) { p.t.Log(time.Now().Format("05.000"), b, done, total) }
func (p *printSink) Measured(_ context.Context, c events.MeasuredCase) error {
	for _, m := range []events.Metric{"wall-time", "task-clock", "cpu-time", "user-time", "page-faults", "max-rss", "size:binary","context-switches"} {
		var v []float64
		for _, i := range c.Iterations { v = append(v, i.Metrics[m]) }
		mean, sd := stats(v)
		p.t.Logf("   %-14s %-16s %-12s mean %14.4f cv %.3f %%", c.Benchmark, c.Scenario, m, mean, 100*sd/mean)
	}
	return nil
}
func (p *printSink) Failed(_ context.Context, f runner.Failure) error { p.t.Log("FAILED", f); return nil }
func (p *printSink) Log(text string)                               { if os.Getenv("X_LOG") != "" {p.t.Log(time.Now().Format("05.000"), text) }}
