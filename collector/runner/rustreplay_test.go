package runner_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// TestRustReplaysWhatCargoRuns compares the measured command with the command that cargo itself prints and runs.
func TestRustReplaysWhatCargoRuns(t *testing.T) {
	plan := fullOnly(rustPlan("demo", 3, "rustc", "--profile", "check"))
	job := rustJob(t, map[string]string{}, plan)
	job.Source = func(_ context.Context, _ suite.BenchmarkDef, dir string) error {
		return definitions.ShippedPrograms("rustc-small").Materialise("records", dir)
	}
	sink := runRust(t, job)
	dir := filepath.Join(t.TempDir(), "src")
	if err := job.Source(t.Context(), suite.BenchmarkDef{}, dir); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(job.Toolchain.Dir, "bin")
	cargo := exec.CommandContext(t.Context(), filepath.Join(bin, "cargo"), "rustc", "-vv", "--offline", "--profile", "check")
	cargo.Dir, cargo.Env = dir, []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + t.TempDir(), "CARGO_INCREMENTAL=0", "LC_ALL=C"}
	said, err := cargo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	_, line, _ := strings.Cut(string(said), "Running `")
	line, _, _ = strings.Cut(line, "`\n")
	words, err := exec.CommandContext(t.Context(), "sh", "-c", `set -- `+line+`; printf '%s\0' "$@"`).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	all := strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
	at := slices.Index(all, "rustc")
	if at < 0 {
		t.Fatalf("cargo ran %s", line)
	}
	least := map[events.Metric]float64{}
	for range 3 {
		out, err := (&measure.Runner{}).Run(t.Context(), measure.Cmd{
			Path: filepath.Join(bin, "rustc"), Args: all[at+1:], Env: append(cargo.Env, all[:at]...), Dir: dir, Timeout: time.Minute,
		})
		if err != nil || out.ExitCode != 0 {
			t.Fatalf("%v: %s", err, out.Stderr)
		}
		keepLeast(least, out.Metrics)
	}
	ours := map[events.Metric]float64{}
	for _, i := range sink.measured[0].Iterations {
		keepLeast(ours, i.Metrics)
	}
	for _, metric := range []events.Metric{measure.PageFaults, measure.MaxRSS} {
		want, known := least[metric]
		if got := ours[metric]; known && (got < want*0.99 || got > want*1.01) {
			t.Errorf("%s is %v, and %v under cargo", metric, got, want)
		}
		t.Logf("%s: %v, under cargo %v", metric, ours[metric], want)
	}
}

func keepLeast(least, metrics map[events.Metric]float64) {
	for name, value := range metrics {
		if old, ok := least[name]; !ok || value < old {
			least[name] = value
		}
	}
}

// TestRustSmallMeasures runs every program of the shipped suite rustc-small.
func TestRustSmallMeasures(t *testing.T) {
	d, err := definitions.Shipped("rustc-small")
	if err != nil {
		t.Fatal(err)
	}
	var plans []suite.BenchmarkPlan
	for _, kind := range []events.RequestKind{events.Master, events.Release} {
		for set := range events.Set(2) {
			some, err := d.Plan(events.JobSpec{
				Artifact: events.Artifact{Suite: d.Name, Kind: kind, Tag: "here"}, Kind: "compile",
				Target: d.PrimaryTarget, Set: set, Backend: "llvm", Profile: "check",
			})
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, some...)
		}
	}
	for i := range plans {
		plans[i].Iterations = 1
	}
	if len(plans) != len(d.Benchmarks) {
		t.Fatalf("%d of %d benchmarks are planned", len(plans), len(d.Benchmarks))
	}
	job := rustJob(t, nil, plans...)
	job.Source = func(_ context.Context, b suite.BenchmarkDef, dir string) error {
		return definitions.ShippedPrograms(d.Name).Materialise(b.Source, dir)
	}
	if sink := runRust(t, job); len(sink.measured) != 4*len(plans) {
		t.Errorf("%d cases of %d benchmarks were measured", len(sink.measured), len(plans))
	}
}
