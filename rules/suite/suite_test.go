package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

// rustc returns the largest suite that ships.
func rustc(t testing.TB) Definitions {
	t.Helper()
	return load(t, "../../collector/definitions/rustc.toml")
}

func load(t testing.TB, file string) Definitions {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load(filepath.Base(file), data, anyDigest)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func anyDigest(BenchmarkDef) (events.Digest, error) { return "d1", nil }

func TestRustcIsWhatRustcPerfHas(t *testing.T) {
	var fixture struct {
		Scenarios  []events.Scenario
		Benchmarks []struct {
			Name              events.Benchmark
			Category          Category
			Sets              map[events.Target]events.Set
			Patches           []string
			Runs              int
			CargoOpts         string   `json:"cargo_opts"`
			CargoRustcOpts    string   `json:"cargo_rustc_opts"`
			TouchFile         string   `json:"touch_file"`
			ExcludedProfiles  []string `json:"excluded_profiles"`
			ExcludedScenarios []string `json:"excluded_scenarios"`
		}
	}
	raw, err := os.ReadFile("testdata/benchmarks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &fixture); err != nil {
		t.Fatal(err)
	}
	theirs := map[string]string{
		"Check": "check", "Debug": "debug", "Doc": "doc", "DocJson": "doc-json",
		"IncrFull": "incr-full", "IncrUnchanged": "incr-unchanged", "IncrPatched": "incr-patched",
	}
	d := rustc(t)
	if len(d.Benchmarks) != 68 || len(fixture.Benchmarks) != 68 {
		t.Fatalf("%d benchmarks, the fixture has %d, want 68", len(d.Benchmarks), len(fixture.Benchmarks))
	}
	if diff := cmp.Diff(fixture.Scenarios, names(d.Scenarios, func(s Scenario) events.Scenario { return s.Name })); diff != "" {
		t.Error(diff)
	}
	for i, f := range fixture.Benchmarks {
		want := BenchmarkDef{
			Name: f.Name, Kind: "compile", Category: f.Category, Source: "collector/compile-benchmarks/" + string(f.Name),
			Sets: f.Sets, Iterations: Iterations{Number: f.Runs}, Touch: f.TouchFile,
			Args: strings.Fields(f.CargoOpts), CompilerArgs: strings.Fields(f.CargoRustcOpts),
		}
		want.Patches = append(want.Patches, f.Patches...)
		for _, p := range f.ExcludedProfiles {
			want.ExcludeProfiles = append(want.ExcludeProfiles, events.Profile(theirs[p]))
		}
		for _, s := range f.ExcludedScenarios {
			want.ExcludeScenarios = append(want.ExcludeScenarios, events.Scenario(theirs[s]))
		}
		if len(want.Args) == 0 {
			want.Args = nil
		}
		if len(want.CompilerArgs) == 0 {
			want.CompilerArgs = nil
		}
		if diff := cmp.Diff(want, d.Benchmarks[i]); diff != "" {
			t.Errorf("%s (-fixture +rustc.toml):\n%s", f.Name, diff)
		}
	}
}

func TestTheDigestSurvivesEveryFormOfTheDefinitions(t *testing.T) {
	d := rustc(t)
	canonical := d.Canonical()
	again, err := Parse(canonical)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Digest(); got != d.Digest() {
		t.Errorf("digest %s after parsing, %s before", got, d.Digest())
	}
	stored, err := events.Encode(events.Event{
		ID: "1", Time: exampleTime(), Actor: "cli:alice",
		Fact: events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: canonical},
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := events.Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	published, ok := read.Fact.(events.DefinitionsPublished)
	if !ok {
		t.Fatalf("read %T", read.Fact)
	}
	if diff := cmp.Diff(string(canonical), string(published.Content)); diff != "" {
		t.Errorf("the log changed the canonical form:\n%s", diff)
	}
}

// The golden file freezes the canonical form itself: recorded digests must stay computable.
func TestTheCanonicalFormIsFrozen(t *testing.T) {
	want, err := os.ReadFile("testdata/small.canonical.json")
	if err != nil {
		t.Fatal(err)
	}
	d := load(t, "testdata/small.toml")
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(d.Canonical())); diff != "" {
		t.Errorf("(-golden +now):\n%s", diff)
	}
	const digest = "f818243ff8ad8afe698ea5603f2d730a7808539ba520bd165fcb261c5b2181f7"
	if got := d.Digest(); got != digest {
		t.Errorf("digest %s, want %s", got, digest)
	}
	if _, err := Parse(want); err != nil {
		t.Errorf("the stored form is not read any more: %v", err)
	}
}

func TestParseRefusesWhatAnotherProgramWrote(t *testing.T) {
	for name, raw := range map[string]string{
		"unknown field": `{"version":1,"name":"x","teleport":true}`,
		"version":       `{"version":99,"name":"x"}`,
		"sets":          `{"version":1,"name":"x","targets":[{"name":"t","sets":-1}]}`,
		"trailing":      `{"version":1,"name":"x"} {}`,
		"no JSON":       `version = 1`,
	} {
		if _, err := Parse([]byte(raw)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestOnlySourcesOfTheDefinitionsAreDigested(t *testing.T) {
	for _, b := range rustc(t).Benchmarks {
		if b.SourceDigest != "" {
			t.Fatalf("%s: the source of a checkout has digest %q", b.Name, b.SourceDigest)
		}
	}
	for _, b := range load(t, "testdata/small.toml").Benchmarks {
		if b.SourceDigest != "d1" {
			t.Errorf("%s: source digest %q", b.Name, b.SourceDigest)
		}
	}
}

func TestLookups(t *testing.T) {
	d := rustc(t)
	if c, ok := d.Category("cargo"); !ok || c != Stable {
		t.Errorf("category of cargo: %q, %v", c, ok)
	}
	if m, ok := d.Metric("page-faults:u"); !ok || m.Name != "page-faults:u" || m.Class != "count" {
		t.Errorf("user-only metric: %+v, %v", m, ok)
	}
	if m, ok := d.Metric("vibes:u"); ok {
		t.Errorf("unknown metric: %+v", m)
	}
	want := []events.Lane{
		{Target: "x86_64-unknown-linux-gnu"},
		{Target: "x86_64-unknown-linux-gnu", Set: 1},
		{Target: "aarch64-unknown-linux-gnu"},
	}
	if diff := cmp.Diff(want, d.Lanes()); diff != "" {
		t.Error(diff)
	}
	components := []string{"rustc", "rust-std", "cargo", "rust-src", "rustc-codegen-cranelift", "clippy"}
	if diff := cmp.Diff(components, d.Components("cranelift", "clippy")); diff != "" {
		t.Error(diff)
	}
}
