package suite

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// CheckParameters reports everything in p that d does not know, one sentence each, with a list of what d knows. Call it
// when a request is made, so that the answer reaches the person who asked.
func (d Definitions) CheckParameters(p events.Parameters) error {
	_, err := d.Normalise(p)
	return err
}

// Normalise returns p as d spells it: it ignores the case of targets, backends and profiles, and returns each value
// once, in the order of d, and the benchmark globs sorted. Empty values count as not given. It refuses what
// CheckParameters refuses.
func (d Definitions) Normalise(p events.Parameters) (events.Parameters, error) {
	targets, err1 := closed("target", p.Targets, names(d.Targets, func(t Target) events.Target { return t.Name }))
	backends, err2 := closed("backend", p.Backends, names(d.Backends, func(b Backend) events.Backend { return b.Name }))
	profiles, err3 := closed("profile", p.Profiles, names(d.Profiles, func(p Profile) events.Profile { return p.Name }))
	globs, err4 := d.globs(p.Benchmarks)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return events.Parameters{}, err
	}
	return events.Parameters{Targets: targets, Backends: backends, Profiles: profiles, Benchmarks: globs}, nil
}

// closed returns the valid values that are asked for. Its error names every asked value that is not valid.
func closed[T ~string](what string, asked, valid []T) ([]T, error) {
	var errs []error
	wanted := map[T]bool{}
	for _, a := range asked {
		name := strings.TrimSpace(string(a))
		if name == "" {
			continue
		}
		i := slices.IndexFunc(valid, func(v T) bool { return strings.EqualFold(string(v), name) })
		if i < 0 {
			errs = append(errs, fmt.Errorf("unknown %s %q: use %s", what, name, either(valid)))
			continue
		}
		wanted[valid[i]] = true
	}
	var chosen []T
	for _, v := range valid {
		if wanted[v] {
			chosen = append(chosen, v)
		}
	}
	return chosen, errors.Join(errs...)
}

// globs checks benchmark globs: each must be well-formed and match a benchmark.
func (d Definitions) globs(asked []string) ([]string, error) {
	var errs []error
	var globs []string
	for _, g := range asked {
		g = strings.TrimSpace(g)
		if g == "" {
			continue
		}
		// No commas: a comma separates values on the command line and in the identity of a job.
		if _, err := path.Match(g, ""); err != nil || strings.Contains(g, ",") {
			errs = append(errs, fmt.Errorf("benchmarks %q is not a pattern: use names with *, ? and [a-z]", g))
			continue
		}
		if !slices.ContainsFunc(d.Benchmarks, func(b BenchmarkDef) bool { return matches(g, b.Name) }) {
			known := names(d.Benchmarks, func(b BenchmarkDef) events.Benchmark { return b.Name })
			errs = append(errs, fmt.Errorf("benchmarks %q matches nothing: use %s, or patterns with *", g, either(known)))
			continue
		}
		globs = append(globs, g)
	}
	slices.Sort(globs)
	return slices.Compact(globs), errors.Join(errs...)
}

// matches reports whether a glob matches a benchmark; a malformed one matches nothing.
func matches(glob string, name events.Benchmark) bool {
	ok, err := path.Match(glob, string(name))
	return ok && err == nil
}

func names[T any, N ~string](list []T, name func(T) N) []N {
	all := make([]N, len(list))
	for i, t := range list {
		all[i] = name(t)
	}
	return all
}

// either lists values as in a sentence: "a, b or c".
func either[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
