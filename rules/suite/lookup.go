package suite

import (
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Target returns the target of that name.
func (d Definitions) Target(name events.Target) (Target, bool) {
	return find(d.Targets, func(t Target) bool { return t.Name == name })
}

// Kind returns the kind of job of that name.
func (d Definitions) Kind(name events.JobKind) (Kind, bool) {
	return find(d.Kinds, func(k Kind) bool { return k.Name == name })
}

// Profile returns the profile of that name.
func (d Definitions) Profile(name events.Profile) (Profile, bool) {
	return find(d.Profiles, func(p Profile) bool { return p.Name == name })
}

// Backend returns the backend of that name.
func (d Definitions) Backend(name events.Backend) (Backend, bool) {
	return find(d.Backends, func(b Backend) bool { return b.Name == name })
}

// DefaultBackend returns the backend of jobs whose kind is not per backend: the first one that is not on request only.
func (d Definitions) DefaultBackend() events.Backend {
	b, _ := find(d.Backends, func(b Backend) bool { return !b.OnRequest })
	return b.Name
}

// Benchmark returns the benchmark of that name.
func (d Definitions) Benchmark(name events.Benchmark) (BenchmarkDef, bool) {
	return find(d.Benchmarks, func(b BenchmarkDef) bool { return b.Name == name })
}

// Category returns the category of a benchmark, and whether the definitions have it.
func (d Definitions) Category(name events.Benchmark) (Category, bool) {
	b, ok := d.Benchmark(name)
	return b.Category, ok
}

// Metric returns how a metric is compared and shown. The user-only form of a metric ("page-faults:u") has the
// description of the metric itself unless the definitions name it.
func (d Definitions) Metric(name events.Metric) (MetricInfo, bool) {
	if m, ok := find(d.Metrics, func(m MetricInfo) bool { return m.Name == name }); ok {
		return m, true
	}
	whole, userOnly := strings.CutSuffix(string(name), ":u")
	if !userOnly {
		return MetricInfo{}, false
	}
	m, ok := find(d.Metrics, func(m MetricInfo) bool { return string(m.Name) == whole })
	m.Name = name
	return m, ok
}

// Lanes returns every lane that jobs of d may be dispatched on: each set of each target.
func (d Definitions) Lanes() []events.Lane {
	var lanes []events.Lane
	for _, t := range d.Targets {
		for set := range t.Sets {
			lanes = append(lanes, events.Lane{Target: t.Name, Set: events.Set(set)})
		}
	}
	return lanes
}

// Components returns what an artifact must have for jobs of that backend and profile, each once.
func (d Definitions) Components(backend events.Backend, profile events.Profile) []string {
	b, _ := d.Backend(backend)
	p, _ := d.Profile(profile)
	var all []string
	for _, c := range slices.Concat(d.Artifact.Components, b.Components, p.Components) {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

func find[T any](list []T, is func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}
