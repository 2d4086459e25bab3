package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

func exampleTime() time.Time { return time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC) }

func request(d Definitions, kind events.RequestKind, p events.Parameters) Request {
	return Request{
		ID: "r1", Artifact: events.Artifact{Suite: d.Name, Tag: "child", Kind: kind}, Parameters: p,
		Parent: &events.Artifact{Suite: d.Name, Tag: "parent", Kind: events.Master},
	}
}

// census counts jobs by kind, and says which are optional.
func census(jobs []events.JobSpec) map[string]int {
	n := map[string]int{}
	for _, j := range jobs {
		key := string(j.Kind)
		if j.Optional {
			key = "optional " + key
		}
		n[key]++
	}
	return n
}

func TestJobsOfRequestsOfRustc(t *testing.T) {
	d := rustc(t)
	aarch64 := events.Target("aarch64-unknown-linux-gnu")
	for _, c := range []struct {
		name     string
		kind     events.RequestKind
		p        events.Parameters
		own      map[string]int
		backfill map[string]int
	}{
		{
			"master", events.Master,
			events.Parameters{},
			map[string]int{"compile": 10, "runtime": 1, "bootstrap": 1},
			map[string]int{"compile": 10},
		},
		{
			"release", events.Release,
			events.Parameters{},
			map[string]int{"compile": 10, "runtime": 1},
			map[string]int{"compile": 10},
		},
		{
			"try with both backends", events.Try,
			events.Parameters{Backends: []events.Backend{"llvm", "cranelift"}},
			map[string]int{"compile": 20, "runtime": 1, "bootstrap": 1},
			map[string]int{"compile": 20},
		},
		{
			"optional target alone", events.Master,
			events.Parameters{Targets: []events.Target{aarch64}},
			map[string]int{"optional compile": 5, "optional runtime": 1, "bootstrap": 1},
			map[string]int{"optional compile": 5},
		},
		{
			"one profile, twice", events.Try,
			events.Parameters{Profiles: []events.Profile{"clippy", "Clippy", "clippy"}},
			map[string]int{"compile": 2, "runtime": 1, "bootstrap": 1},
			map[string]int{"compile": 2},
		},
		{
			"both targets, one profile", events.Try,
			events.Parameters{Targets: []events.Target{aarch64, "x86_64-unknown-linux-gnu"}, Profiles: []events.Profile{"opt"}},
			map[string]int{"compile": 2, "optional compile": 1, "runtime": 1, "optional runtime": 1, "bootstrap": 1},
			map[string]int{"compile": 2, "optional compile": 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			own, backfill, err := d.Expand(request(d, c.kind, c.p))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.own, census(own)); diff != "" {
				t.Errorf("own (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.backfill, census(backfill)); diff != "" {
				t.Errorf("backfill (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnUnknownParentIsSkippedAndItselfNoParent(t *testing.T) {
	d := rustc(t)
	r := request(d, events.Master, events.Parameters{})
	r.Parent = nil
	if _, backfill, err := d.Expand(r); err != nil || len(backfill) != 0 {
		t.Errorf("no parent: %d jobs, %v", len(backfill), err)
	}
	r.Parent = &r.Artifact
	if _, backfill, err := d.Expand(r); err != nil || len(backfill) != 0 {
		t.Errorf("own parent: %d jobs, %v", len(backfill), err)
	}
}

func TestAJobCarriesEverythingThatWasAsked(t *testing.T) {
	d := rustc(t)
	p := events.Parameters{
		Targets: []events.Target{"X86_64-unknown-linux-gnu"}, Backends: []events.Backend{"CRANELIFT"},
		Profiles: []events.Profile{"Doc-JSON"}, Benchmarks: []string{"syn-*", "hello*", "", "syn-*"},
	}
	own, backfill, err := d.Expand(request(d, events.Try, p))
	if err != nil {
		t.Fatal(err)
	}
	globs := []string{"hello*", "syn-*"}
	lane := events.Lane{Target: "x86_64-unknown-linux-gnu", Set: 1}
	parent := events.Artifact{Suite: "rustc", Tag: "parent", Kind: events.Master}
	want := events.JobSpec{
		ID:       events.NewJobID(parent, "compile", lane, "cranelift", "doc-json", globs, nil),
		Artifact: parent, Kind: "compile", Target: lane.Target, Set: 1, Backend: "cranelift", Profile: "doc-json",
		Benchmarks: globs, Definitions: d.Digest(), RequestID: "r1", Backfill: true,
	}
	if diff := cmp.Diff(want, backfill[1]); diff != "" {
		t.Error(diff)
	}
	want.Artifact, want.Backfill = events.Artifact{Suite: "rustc", Tag: "child", Kind: events.Try}, false
	want.ID = events.NewJobID(want.Artifact, "compile", lane, "cranelift", "doc-json", globs, nil)
	if diff := cmp.Diff(want, own[1]); diff != "" {
		t.Error(diff)
	}
	if own[2].Kind != "runtime" || own[2].Backend != "llvm" || own[2].Profile != "opt" {
		t.Errorf("the runtime job has the default backend and profile opt: %+v", own[2])
	}
}

func TestUnknownParametersAreAnsweredWithTheKnownOnes(t *testing.T) {
	d := load(t, "testdata/small.toml")
	for _, c := range []struct {
		p    events.Parameters
		want string
	}{
		{events.Parameters{Targets: []events.Target{"windows"}}, `unknown target "windows": use linux-amd64 or linux-arm64`},
		{events.Parameters{Profiles: []events.Profile{"chekc", "opt"}}, `unknown profile "chekc": use debug, opt or race`},
		{events.Parameters{Backends: []events.Backend{"llvm"}}, `unknown backend "llvm": use gc`},
		{events.Parameters{Benchmarks: []string{"nope*"}}, `benchmarks "nope*" matches nothing: use tables, Generics, json or sort, or patterns with *`},
		{events.Parameters{Benchmarks: []string{"[a"}}, `benchmarks "[a" is not a pattern: use names with *, ? and [a-z]`},
		{events.Parameters{Benchmarks: []string{"t[a,b]*"}}, `benchmarks "t[a,b]*" is not a pattern: use names with *, ? and [a-z]`},
		{
			events.Parameters{Targets: []events.Target{"a"}, Backends: []events.Backend{"b"}},
			"unknown target \"a\": use linux-amd64 or linux-arm64\nunknown backend \"b\": use gc",
		},
	} {
		err := d.CheckParameters(c.p)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
		if _, _, err := d.Expand(request(d, events.Try, c.p)); err == nil {
			t.Errorf("%+v was expanded", c.p)
		}
	}
}

func TestRequestsThatAreNotOfTheSuiteAreRefused(t *testing.T) {
	d := load(t, "testdata/small.toml")
	for name, change := range map[string]func(*Request){
		"suite":  func(r *Request) { r.Artifact.Suite = "rustc" },
		"kind":   func(r *Request) { r.Artifact.Kind = "nightly" },
		"no tag": func(r *Request) { r.Artifact.Tag = "" },
		"parent": func(r *Request) { r.Parent.Suite = "rustc" },
	} {
		r := request(d, events.Master, events.Parameters{})
		change(&r)
		if _, _, err := d.Expand(r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestExpandMakesEachJobOnceAndCoversWhatWasAsked(t *testing.T) {
	suites := []Definitions{rustc(t), load(t, "testdata/small.toml")}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(suites).Draw(t, "suite")
		targets := names(d.Targets, func(t Target) events.Target { return t.Name })
		p := events.Parameters{
			Targets:  rapid.SliceOfN(rapid.SampledFrom(targets), 0, 4).Draw(t, "targets"),
			Backends: rapid.SliceOfN(rapid.SampledFrom(names(d.Backends, func(b Backend) events.Backend { return b.Name })), 0, 4).Draw(t, "backends"),
			Profiles: rapid.SliceOfN(rapid.SampledFrom(names(d.Profiles, func(p Profile) events.Profile { return p.Name })), 0, 8).Draw(t, "profiles"),
		}
		kind := rapid.SampledFrom([]events.RequestKind{events.Master, events.Try, events.Release}).Draw(t, "kind")
		own, backfill, err := d.Expand(request(d, kind, p))
		if err != nil {
			t.Fatal(err)
		}
		ids := map[events.JobID]bool{}
		covered := map[events.Lane]bool{}
		for _, j := range slices.Concat(own, backfill) {
			if ids[j.ID] {
				t.Fatalf("two jobs %s", j.ID)
			}
			ids[j.ID] = true
			k, _ := d.Kind(j.Kind)
			asked := len(p.Targets) == 0 || slices.Contains(p.Targets, j.Target)
			if k.Primary && j.Target != d.PrimaryTarget || !k.Primary && !asked {
				t.Fatalf("job on the wrong target: %+v", j)
			}
			target, _ := d.Target(j.Target)
			if j.Optional != target.Optional || target.OnRequest && !slices.Contains(p.Targets, j.Target) {
				t.Fatalf("job of target %+v: %+v", target, j)
			}
			if k.PerSet && !j.Backfill {
				covered[j.Lane()] = true
			}
			if _, err := d.Plan(j); err != nil {
				t.Fatal(err)
			}
		}
		for _, target := range d.Targets {
			asked := slices.Contains(p.Targets, target.Name) || len(p.Targets) == 0 && !target.OnRequest
			for set := range target.Sets {
				if lane := (events.Lane{Target: target.Name, Set: events.Set(set)}); covered[lane] != asked {
					t.Fatalf("lane %s: covered %v, asked %v", lane, covered[lane], asked)
				}
			}
		}
		checkBackfillMirrorsOwn(t, d, own, backfill)
		shuffled := events.Parameters{
			Targets: rapid.Permutation(p.Targets).Draw(t, "t"), Backends: rapid.Permutation(p.Backends).Draw(t, "b"),
			Profiles: rapid.Permutation(p.Profiles).Draw(t, "p"),
		}
		again, _, err := d.Expand(request(d, kind, shuffled))
		if diff := cmp.Diff(own, again); err != nil || diff != "" {
			t.Fatalf("the order of parameters matters: %v\n%s", err, diff)
		}
	})
}

// checkBackfillMirrorsOwn: the jobs for the parent are exactly the own jobs of the kinds with backfill.
func checkBackfillMirrorsOwn(t *rapid.T, d Definitions, own, backfill []events.JobSpec) {
	key := func(j events.JobSpec) string {
		return fmt.Sprint(j.Kind, j.Target, j.Set, j.Backend, j.Profile)
	}
	var want, got []string
	for _, j := range own {
		if k, _ := d.Kind(j.Kind); k.Backfill {
			want = append(want, key(j))
		}
	}
	for _, j := range backfill {
		if !j.Backfill || j.Artifact.Tag != "parent" {
			t.Fatalf("no backfill: %+v", j)
		}
		got = append(got, key(j))
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Fatal(diff)
	}
}
