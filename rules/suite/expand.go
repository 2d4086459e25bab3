package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// Request is what Expand must know about a request.
type Request struct {
	ID       events.RequestID
	Artifact events.Artifact
	// Parent is the artifact that the results are compared with; nil while it is unknown.
	Parent     *events.Artifact
	Parameters events.Parameters
	// ParentTag names the parent, whether or not it is known as an artifact; empty for none.
	ParentTag events.Tag
	// Requires are terms of the request and its queue that the machines of matched jobs must meet.
	Requires []string
	// Definitions is the digest of the definitions that expand it, if the caller knows it. Empty: Expand computes it.
	Definitions events.Digest
}

// Expand turns a request into jobs: own measures its artifact, backfill are all the same jobs for its parent, including
// those that already exist. Both are in the order in which lanes run them; on each lane backfill comes first. No two
// jobs have the same id. An error names what the definitions do not know.
func (d Definitions) Expand(r Request) (own, backfill []events.JobSpec, err error) {
	p, err := d.Normalise(r.Parameters)
	if err != nil {
		return nil, nil, err
	}
	if err := d.checkArtifact(r.Artifact); err != nil {
		return nil, nil, err
	}
	if r.Parent != nil {
		if err := d.checkArtifact(*r.Parent); err != nil {
			return nil, nil, fmt.Errorf("parent: %w", err)
		}
	}
	e := expansion{definitions: d, digest: r.Definitions, request: r, parameters: p}
	if e.digest == "" {
		e.digest = d.Digest()
	}
	for _, k := range d.Kinds {
		if len(k.Requests) > 0 && !slices.Contains(k.Requests, r.Artifact.Kind) {
			continue
		}
		if k.Matched() {
			jobs, err := e.matched(k)
			if err != nil {
				return nil, nil, fmt.Errorf("kind %s: %w", k.Name, err)
			}
			own = append(own, jobs...)
			continue
		}
		own = append(own, e.jobs(k, r.Artifact, false)...)
		if k.Backfill && r.Parent != nil && r.Parent.Tag != r.Artifact.Tag {
			backfill = append(backfill, e.jobs(k, d.asComparedWith(*r.Parent, r.Artifact.Kind), true)...)
		}
	}
	return own, backfill, nil
}

func (d Definitions) checkArtifact(a events.Artifact) error {
	if a.Suite != d.Name {
		return fmt.Errorf("artifact %s belongs to suite %q, not to %q", a.Tag, a.Suite, d.Name)
	}
	if _, err := events.ParseRequestKind(string(a.Kind)); err != nil {
		return err
	}
	return events.CheckTag(a.Tag)
}

// asComparedWith returns the parent as a backfill measures it: with the categories of the child's request.
func (d Definitions) asComparedWith(parent events.Artifact, kind events.RequestKind) events.Artifact {
	if !slices.Equal(d.Categories[parent.Kind], d.Categories[kind]) {
		parent.Kind = kind
	}
	return parent
}

// unlikeMaster returns the categories that an artifact is measured with; nil when they are the same as a master's.
func (d Definitions) unlikeMaster(a events.Artifact) []string {
	if slices.Equal(d.Categories[a.Kind], d.Categories[events.Master]) {
		return nil
	}
	names := make([]string, len(d.Categories[a.Kind]))
	for i, c := range d.Categories[a.Kind] {
		names[i] = string(c)
	}
	return names
}

type expansion struct {
	definitions Definitions
	digest      events.Digest
	request     Request
	parameters  events.Parameters
}

// jobs returns the jobs of one kind that measure a.
func (e expansion) jobs(k Kind, a events.Artifact, backfill bool) []events.JobSpec {
	var jobs []events.JobSpec
	measures := e.definitions.unlikeMaster(a)
	for _, t := range e.targets(k) {
		for _, set := range sets(k, t) {
			for _, backend := range e.backends(k) {
				for _, profile := range e.profiles(k) {
					lane := events.Lane{Target: t.Name, Set: set}
					jobs = append(jobs, events.JobSpec{
						ID:       events.NewJobID(a, k.Name, lane, backend, profile, e.parameters.Benchmarks, measures),
						Artifact: a, Kind: k.Name, Target: t.Name, Set: set, Backend: backend, Profile: profile,
						Benchmarks: e.parameters.Benchmarks, Optional: t.Optional, Definitions: e.digest,
						RequestID: e.request.ID, Backfill: backfill, Measures: measures,
					})
				}
			}
		}
	}
	return jobs
}

// matched returns the matched jobs of one kind. A job that measures is measured against the parent, on the same machine:
// so it needs no job for the parent.
func (e expansion) matched(k Kind) ([]events.JobSpec, error) {
	asked, err := match.Parse(e.request.Requires)
	if err != nil {
		return nil, err
	}
	jobs := e.jobs(k, e.request.Artifact, false)
	for i := range jobs {
		j := &jobs[i]
		target, _ := e.definitions.Target(j.Target)
		needs, err := match.Parse(k.Terms(target))
		if err != nil {
			return nil, err
		}
		all, err := match.Join(match.Named{Who: "kind " + string(k.Name), Requirement: needs}, match.Named{Who: "the request", Requirement: asked})
		if err != nil {
			return nil, err
		}
		j.Matched, j.Requires = true, all.Terms()
		for _, name := range k.Caches {
			if e.request.ParentTag == "" && strings.Contains(name, "{parent}") {
				continue
			}
			j.Caches = append(j.Caches, strings.NewReplacer("{tag}", string(j.Artifact.Tag), "{parent}", string(e.request.ParentTag)).Replace(name))
		}
		if parent := e.request.ParentTag; !k.Shared && parent != "" && parent != j.Artifact.Tag {
			j.Against = &events.Artifact{Suite: j.Artifact.Suite, Tag: parent, Kind: j.Artifact.Kind}
		}
		j.ID = j.First()
	}
	return jobs, nil
}

// Terms returns what the machine of a matched job of the kind must meet for a target.
func (k Kind) Terms(t Target) []string {
	terms := append(slices.Clone(k.Requires), "os="+t.OS, "arch="+t.Arch)
	if !k.Shared {
		terms = append(terms, "exclusive")
	}
	return terms
}

func (e expansion) targets(k Kind) []Target {
	asked := e.parameters.Targets
	var targets []Target
	for _, t := range e.definitions.Targets {
		switch {
		case k.Primary && t.Name != e.definitions.PrimaryTarget:
		case k.Primary, len(asked) == 0 && !t.OnRequest, slices.Contains(asked, t.Name):
			targets = append(targets, t)
		}
	}
	return targets
}

func sets(k Kind, t Target) []events.Set {
	if !k.PerSet {
		return []events.Set{0}
	}
	all := make([]events.Set, t.Sets)
	for i := range all {
		all[i] = events.Set(i)
	}
	return all
}

func (e expansion) backends(k Kind) []events.Backend {
	if !k.PerBackend {
		return []events.Backend{e.definitions.DefaultBackend()}
	}
	if len(e.parameters.Backends) > 0 {
		return e.parameters.Backends
	}
	var backends []events.Backend
	for _, b := range e.definitions.Backends {
		if !b.OnRequest {
			backends = append(backends, b.Name)
		}
	}
	return backends
}

func (e expansion) profiles(k Kind) []events.Profile {
	if !k.PerProfile {
		return []events.Profile{k.Profile}
	}
	if len(e.parameters.Profiles) > 0 {
		return e.parameters.Profiles
	}
	var profiles []events.Profile
	for _, p := range e.definitions.Profiles {
		if !p.OnRequest {
			profiles = append(profiles, p.Name)
		}
	}
	return profiles
}
