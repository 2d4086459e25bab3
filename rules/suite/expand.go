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
	// Choice is the graph, the branch and the options of the request.
	Choice Choice
	// Nameless leaves out the ids of the jobs, which take most of the time: for plans.
	Nameless bool
}

// Expansion is what a request is turned into.
type Expansion struct {
	// Template is what it was expanded with.
	Template Template
	// Own measure the artifact of the request, Backfill its parent.
	Own, Backfill []events.JobSpec
	// Off and OffBackfill are the jobs that would be made if they were not switched off.
	Off, OffBackfill []OffJob
}

// OffJob is a job that is switched off, and why: "option pgo = off".
type OffJob struct {
	Job    events.JobSpec
	Reason string
}

// Expand turns a request into jobs: own measures its artifact, backfill are all the same jobs for its parent, including
// those that already exist. Both are in the order in which lanes run them; on each lane backfill comes first. No two
// jobs have the same id. An error names what the definitions do not know.
func (d Definitions) Expand(r Request) (own, backfill []events.JobSpec, err error) {
	x, err := d.Expansion(r)
	return x.Own, x.Backfill, err
}

// Expansion is Expand with the template, and with the jobs that are switched off. A job is switched off if its kind is
// not in the graph, if the When of its kind is false for it, or if it needs the success of jobs that are all switched off.
func (d Definitions) Expansion(r Request) (Expansion, error) {
	t, err := d.Template(r.Artifact.Kind, r.Choice)
	if err != nil {
		return Expansion{}, err
	}
	return d.ExpansionWith(t, r)
}

// ExpansionWith is Expansion with a template that was resolved before. It ignores the choice of the request.
func (d Definitions) ExpansionWith(t Template, r Request) (Expansion, error) {
	p, err := d.parameters(r.Parameters, t.Parameters)
	if err != nil {
		return Expansion{}, err
	}
	if err := d.checkArtifact(r.Artifact); err != nil {
		return Expansion{}, err
	}
	if r.Parent != nil {
		if err := d.checkArtifact(*r.Parent); err != nil {
			return Expansion{}, fmt.Errorf("parent: %w", err)
		}
	}
	e := expansion{definitions: d, digest: r.Definitions, request: r, parameters: p}
	if e.digest == "" {
		e.digest = d.Digest()
	}
	jobs := 0
	for _, k := range d.Kinds {
		if k.madeFor(r.Artifact.Kind) {
			jobs += e.count(k)
		}
	}
	var own, backfill []events.JobSpec
	parents := d.backfills()
	own = slices.Grow(own, jobs)
	for _, k := range d.Kinds {
		if !k.madeFor(r.Artifact.Kind) {
			continue
		}
		own = append(own, e.jobs(k, r.Artifact, false)...)
		if slices.Contains(parents, k.Name) && (!k.Matched() || k.Builds()) && r.Parent != nil && r.Parent.Tag != r.Artifact.Tag {
			backfill = append(backfill, e.jobs(k, d.asComparedWith(*r.Parent, r.Artifact.Kind), true)...)
		}
	}
	x := Expansion{Template: t}
	s, err := d.newSwitches(t, r.Artifact.Kind)
	if err != nil {
		return Expansion{}, err
	}
	x.Own, x.Off = s.split(own)
	x.Backfill, x.OffBackfill = s.split(backfill)
	if err := e.match(x); err != nil {
		return Expansion{}, err
	}
	if err := e.complete(x); err != nil {
		return Expansion{}, err
	}
	return x, nil
}

// parameters returns those of a request, with those of its graph where it names none.
func (d Definitions) parameters(asked, usual events.Parameters) (events.Parameters, error) {
	p, err := d.Normalise(asked)
	if err != nil {
		return p, err
	}
	rest, err := d.Normalise(usual)
	if err != nil {
		return p, fmt.Errorf("parameters of the graph: %w", err)
	}
	if len(p.Targets) == 0 {
		p.Targets = rest.Targets
	}
	if len(p.Backends) == 0 {
		p.Backends = rest.Backends
	}
	if len(p.Profiles) == 0 {
		p.Profiles = rest.Profiles
	}
	if len(p.Benchmarks) == 0 {
		p.Benchmarks = rest.Benchmarks
	}
	return p, nil
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

// count returns how many jobs of one kind there are.
func (e expansion) count(k Kind) int {
	lanes := 0
	for _, t := range e.targets(k) {
		if !k.PerSet {
			lanes++
			continue
		}
		lanes += t.Sets
	}
	return lanes * len(e.backends(k)) * len(e.profiles(k))
}

// jobs returns the jobs of one kind that measure a.
func (e expansion) jobs(k Kind, a events.Artifact, backfill bool) []events.JobSpec {
	measures, benchmarks := e.definitions.unlikeMaster(a), e.parameters.Benchmarks
	if k.RunsCommands() { // which are the same, whatever is measured
		measures, benchmarks = nil, nil
	}
	backends, profiles := e.backends(k), e.profiles(k)
	jobs := make([]events.JobSpec, 0, e.count(k))
	for _, t := range e.targets(k) {
		for _, set := range sets(k, t) {
			for _, backend := range backends {
				for _, profile := range profiles {
					lane := events.Lane{Target: t.Name, Set: set}
					j := events.JobSpec{
						Artifact: a, Kind: k.Name, Target: t.Name, Set: set, Backend: backend, Profile: profile,
						Benchmarks: benchmarks, Optional: t.Optional, Definitions: e.digest,
						RequestID: e.request.ID, Backfill: backfill, Measures: measures,
					}
					if !e.request.Nameless {
						j.ID = events.NewJobID(a, k.Name, lane, backend, profile, benchmarks, measures)
					}
					jobs = append(jobs, j)
				}
			}
		}
	}
	return jobs
}

// match completes the matched jobs. What those that are switched off ask for may exclude one another.
func (e expansion) match(x Expansion) error {
	asked, wrong := match.Parse(e.request.Requires)
	for _, jobs := range [][]events.JobSpec{x.Own, x.Backfill} {
		for i := range jobs {
			if k, _ := e.definitions.Kind(jobs[i].Kind); k.Matched() {
				if wrong != nil {
					return fmt.Errorf("kind %s: %w", k.Name, wrong)
				}
				if err := e.matched(k, asked, &jobs[i]); err != nil {
					return fmt.Errorf("kind %s: %w", k.Name, err)
				}
			}
		}
	}
	for _, off := range [][]OffJob{x.Off, x.OffBackfill} {
		for i := range off {
			if k, _ := e.definitions.Kind(off[i].Job.Kind); k.Matched() && wrong == nil {
				_ = e.matched(k, asked, &off[i].Job) // without its terms it still shows what is switched off
			}
		}
	}
	return nil
}

// matched makes a job a matched one. A job that measures is measured against the parent, on the same machine: so it
// needs no job for the parent.
func (e expansion) matched(k Kind, asked match.Requirement, j *events.JobSpec) error {
	target, _ := e.definitions.Target(j.Target)
	needs, err := match.Parse(k.Terms(target))
	if err != nil {
		return err
	}
	all, err := match.Join(match.Named{Who: "kind " + string(k.Name), Requirement: needs}, match.Named{Who: "the request", Requirement: asked})
	if err != nil {
		return err
	}
	j.Matched, j.Requires = true, all.Terms()
	for _, name := range k.Caches {
		if e.request.ParentTag == "" && strings.Contains(name, "{parent}") {
			continue
		}
		j.Caches = append(j.Caches, strings.NewReplacer("{tag}", string(j.Artifact.Tag), "{parent}", string(e.request.ParentTag)).Replace(name))
	}
	if parent := e.request.ParentTag; !k.Shared && !k.RunsCommands() && parent != "" && parent != j.Artifact.Tag {
		j.Against = &events.Artifact{Suite: j.Artifact.Suite, Tag: parent, Kind: j.Artifact.Kind}
	}
	if !e.request.Nameless {
		j.ID = j.First()
	}
	return nil
}

// Terms returns what the machine of a matched job of the kind must meet for a target.
func (k Kind) Terms(t Target) []string {
	terms := append(slices.Clone(k.Requires), "os="+t.OS, "arch="+t.Arch)
	if k.Tokens.Min > 0 {
		terms = append(terms, fmt.Sprintf("cpus=%d", k.Tokens.Min))
	}
	if !k.Shared && !k.Builds() && k.Tokens.Min == 0 { // builds share a machine by their CPUs
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
