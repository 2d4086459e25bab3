package suite

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

var benchmarkName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)

func (c *checker) benchmarks(d Definitions) {
	c.entries("benchmark", benchmarkName, tokens(names(d.Benchmarks, func(b BenchmarkDef) events.Benchmark { return b.Name })))
	for i, b := range d.Benchmarks {
		path := index("benchmark", i)
		c.benchmark(path, d, b)
		c.placement(path, d, b)
		c.program(path, d, b)
		c.measured(path, d, b)
	}
	if !c.draft {
		c.emptySets(d)
	}
}

func (c *checker) benchmark(path string, d Definitions, b BenchmarkDef) {
	c.reference(join(path, "category"), "category", string(b.Category), tokens([]Category{Primary, Secondary, Stable}))
	if len(d.Kinds) > 0 {
		c.reference(join(path, "kind"), "kind", string(b.Kind), tokens(names(d.Kinds, func(k Kind) events.JobKind { return k.Name })))
	}
	c.references(join(path, "exclude_profiles"), "profile", tokens(b.ExcludeProfiles),
		tokens(names(d.Profiles, func(p Profile) events.Profile { return p.Name })))
	c.references(join(path, "exclude_scenarios"), "scenario", tokens(b.ExcludeScenarios),
		tokens(names(d.Scenarios, func(s Scenario) events.Scenario { return s.Name })))
	if len(b.ExcludeScenarios) > 0 {
		for _, p := range d.Profiles {
			if slices.Contains(b.ExcludeProfiles, p.Name) {
				continue
			}
			whose := fmt.Sprintf("benchmark %q under profile %q", b.Name, p.Name)
			if !c.chain(join(path, "exclude_scenarios"), whose, d.chain(p, b)) {
				break
			}
		}
	}
	if at := join(path, "iterations"); !b.Iterations.IsZero() || c.has(at) {
		c.iterations(at, d, b.Iterations)
	}
	if at := join(path, "timeout"); b.Timeout != "" || c.has(at) {
		c.timeout(at, b.Timeout)
	}
}

// placement checks the set of b on each target.
func (c *checker) placement(path string, d Definitions, b BenchmarkDef) {
	at := join(path, "sets")
	kind, _ := d.Kind(b.Kind)
	for _, t := range d.Targets {
		set, placed := b.Sets[t.Name]
		switch {
		case kind.PerSet && c.draft && set >= 0 && set < maxSets:
		case kind.PerSet && !placed:
			c.report(at, "benchmark %q has no set on target %q: every benchmark of kind %q needs one", b.Name, t.Name, kind.Name)
		case kind.PerSet && (set < 0 || int(set) >= t.Sets):
			c.report(join(at, string(t.Name)), "benchmark %q is in set %d of target %q, whose sets are 0 to %d", b.Name, set, t.Name, t.Sets-1)
		case !kind.PerSet && set != 0:
			c.report(join(at, string(t.Name)), "benchmark %q: kind %q has only set 0", b.Name, kind.Name)
		}
	}
	targets := tokens(names(d.Targets, func(t Target) events.Target { return t.Name }))
	for _, target := range slices.Sorted(maps.Keys(b.Sets)) {
		c.reference(join(at, string(target)), "target", string(target), targets)
	}
}

// program checks what the collector runs: paths, environment and command.
func (c *checker) program(path string, d Definitions, b BenchmarkDef) {
	driver := cmp.Or(b.Driver, d.Artifact.Driver)
	if b.Driver != "" {
		c.reference(join(path, "driver"), "driver", b.Driver, []string{DriverGoBuild, DriverRust, DriverCommand})
	}
	c.localPath(join(path, "source"), "source", b.Source)
	if b.Touch != "" {
		c.localPath(join(path, "touch"), "touch", b.Touch)
	}
	for i, p := range b.Patches {
		at := index(join(path, "patches"), i)
		c.localPath(at, "patch", p)
		if slices.Index(b.Patches, p) < i {
			c.report(at, "patch %q is there twice: it can be applied only once", p)
		}
	}
	for i, e := range b.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			c.report(index(join(path, "env"), i), "env %q: use NAME=value", e)
		}
	}
	c.reference(join(path, "parse"), "parse", cmp.Or(b.Parse, "jsonlines"), []string{"jsonlines", "benchfmt", "benchlib"})
	switch {
	case driver == DriverCommand && len(b.Command) == 0:
		c.report(join(path, "command"), "benchmark %q has no command: driver %q needs one", b.Name, DriverCommand)
	case driver != DriverCommand && len(b.Command) > 0:
		c.report(join(path, "command"), "command is only for driver %q, but benchmark %q has driver %q", DriverCommand, b.Name, driver)
	case driver != DriverCommand && b.Parse != "":
		c.report(join(path, "parse"), "parse is only for driver %q, but benchmark %q has driver %q", DriverCommand, b.Name, driver)
	}
	if c.noCaches(join(path, "command"), b.Command) {
		c.templates(join(path, "command"), b.Command, "{artifact}", "{source}")
	}
	c.noCaches(join(path, "args"), b.Args)
	c.noCaches(join(path, "compiler_args"), b.CompilerArgs)
	c.noCaches(join(path, "env"), b.Env)
	kind, _ := d.Kind(b.Kind)
	c.cacheFields(join(path, "prepare"), b.Prepare, kind)
}

// localPath checks a path that must stay inside the directory that it is relative to.
func (c *checker) localPath(path, what, value string) {
	if !fs.ValidPath(value) || strings.Contains(value, `\`) {
		c.report(path, "%s %q: use a relative path with slashes and without \"..\"", what, value)
	}
}

// emptySets reports the sets of a target that hold no benchmark: a collector there would never have work.
func (c *checker) emptySets(d Definitions) {
	split := slices.ContainsFunc(d.Kinds, func(k Kind) bool { return k.PerSet })
	for i, t := range d.Targets {
		if !split || t.Sets > maxSets {
			continue
		}
		used := map[events.Set]bool{}
		for _, b := range d.Benchmarks {
			if kind, _ := d.Kind(b.Kind); kind.PerSet {
				if set, placed := b.Sets[t.Name]; placed {
					used[set] = true
				}
			}
		}
		for set := range t.Sets {
			if !used[events.Set(set)] {
				c.report(join(index("target", i), "sets"), "set %d of target %q holds no benchmark: lower sets or move benchmarks to it", set, t.Name)
			}
		}
	}
}

// has reports whether the file has the key that path names.
func (c *checker) has(path string) bool {
	_, ok := c.places[path]
	return ok
}
