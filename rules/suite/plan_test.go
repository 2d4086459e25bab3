package suite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

func job(d Definitions, kind events.RequestKind, change func(*events.JobSpec)) events.JobSpec {
	j := events.JobSpec{
		ID: "j1", Artifact: events.Artifact{Suite: d.Name, Tag: "x", Kind: kind}, Kind: "compile",
		Target: d.PrimaryTarget, Backend: d.DefaultBackend(), Profile: "opt",
	}
	if change != nil {
		change(&j)
	}
	return j
}

// outline describes a plan in one line per benchmark.
func outline(t *testing.T, d Definitions, j events.JobSpec) []string {
	t.Helper()
	plans, err := d.Plan(j)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range plans {
		chain := names(p.Chain, func(s Scenario) events.Scenario { return s.Name })
		if len(p.Cases) != len(chain) {
			t.Errorf("%s: %d cases for %d scenarios", p.Benchmark.Name, len(p.Cases), len(chain))
		}
		for i, c := range p.Cases {
			want := events.TestCase{Benchmark: p.Benchmark.Name, Profile: j.Profile, Scenario: chain[i], Backend: j.Backend, Target: j.Target}
			if c != want {
				t.Errorf("case %v, want %v", c, want)
			}
		}
		lines = append(lines, fmt.Sprintf("%s %v x%d %s %s", p.Benchmark.Name, chain, p.Iterations, p.Timeout, p.Driver))
	}
	return lines
}

func TestPlans(t *testing.T) {
	d := load(t, "testdata/small.toml")
	for _, c := range []struct {
		name string
		job  events.JobSpec
		want []string
	}{
		{"set 0", job(d, events.Master, nil), []string{"tables [full incr-full incr-patched] x3 5m0s go-build"}},
		{"other iterations", job(d, events.Master, func(j *events.JobSpec) { j.Iterations = 30 }), []string{"tables [full incr-full incr-patched] x30 5m0s go-build"}},
		{"iterations that nobody may ask for", job(d, events.Master, func(j *events.JobSpec) { j.Iterations = -1 }), []string{"tables [full incr-full incr-patched] x3 5m0s go-build"}},
		{
			"set 1, no patches", job(d, events.Try, func(j *events.JobSpec) { j.Set = 1 }),
			[]string{"Generics [full incr-full] x1 1m30s go-build"},
		},
		{"excluded profile", job(d, events.Try, func(j *events.JobSpec) { j.Set, j.Profile = 1, "debug" }), nil},
		{
			"scenarios of the profile", job(d, events.Master, func(j *events.JobSpec) { j.Profile = "race" }),
			[]string{"tables [full] x3 5m0s go-build"},
		},
		{
			"release", job(d, events.Release, func(j *events.JobSpec) { j.Set = 1 }),
			[]string{"json [full incr-full] x3 5m0s go-build"},
		},
		{"release, nothing in the set", job(d, events.Release, nil), nil},
		{
			"one set holds all", job(d, events.Master, func(j *events.JobSpec) { j.Target = "linux-arm64" }),
			[]string{"tables [full incr-full incr-patched] x3 5m0s go-build", "Generics [full incr-full] x1 1m30s go-build"},
		},
		{
			"filter", job(d, events.Master, func(j *events.JobSpec) { j.Target, j.Benchmarks = "linux-arm64", []string{"x", "Gen*"} }),
			[]string{"Generics [full incr-full] x1 1m30s go-build"},
		},
		{
			"another kind, no sets", job(d, events.Master, func(j *events.JobSpec) { j.Kind = "runtime" }),
			[]string{"sort [full incr-full] x3 5m0s command"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, outline(t, d, c.job)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAJobOfOtherDefinitionsIsNotPlanned(t *testing.T) {
	d := load(t, "testdata/small.toml")
	for name, change := range map[string]func(*events.JobSpec){
		"kind":    func(j *events.JobSpec) { j.Kind = "bootstrap" },
		"target":  func(j *events.JobSpec) { j.Target = "riscv" },
		"profile": func(j *events.JobSpec) { j.Profile = "doc" },
		"backend": func(j *events.JobSpec) { j.Backend = "llvm" },
	} {
		if _, err := d.Plan(job(d, events.Master, change)); err == nil {
			t.Errorf("%s: planned", name)
		}
	}
}

// Together the jobs of a request measure every benchmark of its categories once under each profile that has it.
func TestTheJobsOfARequestTogetherMeasureEverything(t *testing.T) {
	d := rustc(t)
	for kind, want := range map[events.RequestKind]int{events.Master: 59, events.Release: 9} {
		own, _, err := d.Expand(request(d, kind, events.Parameters{Profiles: []events.Profile{"opt"}}))
		if err != nil {
			t.Fatal(err)
		}
		var measured []events.Benchmark
		for _, j := range own {
			plans, err := d.Plan(j)
			if err != nil {
				t.Fatal(err)
			}
			if j.Kind != "compile" && len(plans) != 0 {
				t.Errorf("%s has benchmarks", j.Kind)
			}
			for _, p := range plans {
				measured = append(measured, p.Benchmark.Name)
				if p.Timeout != 30*time.Minute || p.Driver != DriverRust {
					t.Errorf("%+v", p)
				}
			}
		}
		slices.Sort(measured)
		if n := len(slices.Compact(slices.Clone(measured))); n != want || len(measured) != want {
			t.Errorf("%s: %d benchmarks, %d of them different, want %d", kind, len(measured), n, want)
		}
	}
}
