package suite

import (
	"fmt"
	"path"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/match"
)

// External turns a graph that somebody wrote for a request into its jobs, in the order in which it has them. They are the sample
// of that name, so they stand beside what the request measures itself. What a job leaves out is that of the definitions. All that
// is wrong is returned at once; then there are no jobs. The form of the graph was checked before (graph.Proposed.Check).
func (d Definitions) External(r Request, p graph.Proposed, sample string) ([]events.JobSpec, error) {
	if err := d.checkArtifact(r.Artifact); err != nil {
		return nil, err
	}
	asked, err := match.Parse(r.Requires)
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	e := external{expansion: expansion{definitions: d, digest: r.Definitions, request: r}, asked: asked, sample: sample, globs: map[string]string{}}
	if e.digest == "" {
		e.digest = d.Digest()
	}
	jobs := make([]events.JobSpec, len(p.Jobs))
	var problems graph.Problems
	of := map[events.JobID]int{}
	for i, one := range p.Jobs {
		var wrong []string
		jobs[i], wrong = e.job(one)
		if first, twice := of[jobs[i].ID]; twice && len(wrong) == 0 {
			wrong = append(wrong, fmt.Sprintf("it measures the same as job %d: leave one of them out", p.Jobs[first].Number))
		}
		for _, why := range wrong {
			problems = append(problems, p.Name(i)+": "+why)
		}
		if len(wrong) == 0 {
			of[jobs[i].ID] = i
		}
	}
	if err := problems.AsError(); err != nil {
		return nil, err
	}
	for _, n := range p.Needs {
		if n.Output != "" {
			on, _ := d.Kind(jobs[n.On].Kind)
			if _, yields := on.Output(n.Output); !yields {
				problems = append(problems, fmt.Sprintf("%s needs the output %.40q of %s, which yields %s", p.Name(n.Job), n.Output, p.Name(n.On), outputsOf(on)))
			}
		}
		if n.Until == events.UntilSuccess && jobs[n.On].Optional && !jobs[n.Job].Optional {
			problems = append(problems, fmt.Sprintf("%s is required and needs the success of %s, which is optional: add \"until\": %q to the need, or make both required, or both optional",
				p.Name(n.Job), p.Name(n.On), events.UntilEnded))
		}
	}
	return jobs, problems.AsError()
}

// external turns jobs that somebody wrote into jobs.
type external struct {
	expansion
	asked  match.Requirement
	sample string
	// globs says what is wrong with a pattern of benchmarks; empty for nothing. Most jobs have the same ones.
	globs map[string]string
}

// job returns one job, or what is wrong with it.
func (e external) job(one events.ProposedJob) (j events.JobSpec, wrong []string) {
	d := e.definitions
	k, known := d.Kind(one.Kind)
	if !known {
		wrong = append(wrong, fmt.Sprintf("unknown kind %q: use %s", one.Kind, either(names(d.Kinds, func(k Kind) events.JobKind { return k.Name }))))
	}
	t, hasTarget := d.Target(one.Target)
	switch {
	case !hasTarget:
		wrong = append(wrong, fmt.Sprintf("unknown target %q: use %s", one.Target, either(names(d.Targets, func(t Target) events.Target { return t.Name }))))
	case known && !k.PerSet && one.Set != 0:
		wrong = append(wrong, fmt.Sprintf("set is %d: jobs of kind %s are not made for each set, use 0", one.Set, k.Name))
	case known && int(one.Set) >= t.Sets:
		wrong = append(wrong, fmt.Sprintf("set is %d: target %s has %d, numbered from 0", one.Set, t.Name, t.Sets))
	}
	if _, ok := d.Backend(one.Backend); !ok {
		wrong = append(wrong, fmt.Sprintf("unknown backend %q: use %s", one.Backend, either(names(d.Backends, func(b Backend) events.Backend { return b.Name }))))
	}
	if _, ok := d.Profile(one.Profile); !ok {
		wrong = append(wrong, fmt.Sprintf("unknown profile %q: use %s", one.Profile, either(names(d.Profiles, func(p Profile) events.Profile { return p.Name }))))
	}
	if one.Iterations > graph.MaxIterations {
		wrong = append(wrong, fmt.Sprintf("iterations is %d: use 1 to %d", one.Iterations, graph.MaxIterations))
	}
	if known && k.RunsCommands() && (len(one.Benchmarks) > 0 || one.Iterations > 0) {
		wrong = append(wrong, fmt.Sprintf("it has benchmarks or iterations, and jobs of kind %s run commands: leave both out", k.Name))
	}
	artifact, why := e.artifact(one.Tag)
	if why != "" {
		wrong = append(wrong, why)
	}
	benchmarks := e.benchmarks(one.Benchmarks, &wrong)
	needs, err := match.Parse(one.Requires)
	switch {
	case err != nil:
		wrong = append(wrong, "requires: "+err.Error())
	case known && !k.Matched() && len(one.Requires) > 0:
		wrong = append(wrong, fmt.Sprintf("it has requires, and jobs of kind %s run on the lane of their target and set: leave requires out", k.Name))
	}
	if len(wrong) > 0 {
		return j, wrong
	}
	j = events.JobSpec{
		Artifact: artifact, Kind: k.Name, Target: t.Name, Set: one.Set, Backend: one.Backend, Profile: one.Profile, Benchmarks: benchmarks,
		Optional: t.Optional, Definitions: e.digest, RequestID: e.request.ID, Backfill: artifact.Tag != e.request.Artifact.Tag, Sample: e.sample, Iterations: one.Iterations,
	}
	if !k.RunsCommands() {
		j.Measures = d.unlikeMaster(artifact)
	}
	if one.Optional != nil {
		j.Optional = *one.Optional
	}
	if k.Matched() {
		if err := e.matched(k, e.asked, &j); err != nil {
			return j, []string{"requires: " + err.Error()}
		}
		base, _ := match.Parse(j.Requires) // its terms were written by Join
		all, err := match.Join(match.Named{Who: "the definitions and the request", Requirement: base}, match.Named{Who: "the job", Requirement: needs.Beyond(base)})
		if err != nil {
			return j, []string{"requires: " + err.Error()}
		}
		j.Requires = all.Terms()
	}
	if k.RunsCommands() {
		if err := e.builds(k, &j); err != nil {
			return j, []string{err.Error()}
		}
	}
	j.ID = j.First()
	return j, nil
}

// artifact returns the artifact of a tag, or why a job cannot measure it.
func (e external) artifact(tag events.Tag) (events.Artifact, string) {
	own, parent := e.request.Artifact, e.request.Parent
	switch {
	case tag == "" || tag == own.Tag:
		return own, ""
	case parent != nil && tag == parent.Tag:
		return e.definitions.asComparedWith(*parent, own.Kind), ""
	case tag == e.request.ParentTag:
		return own, fmt.Sprintf("tag is %s, the parent, which was never asked for here: ask for it first (`tacho request master %s`)", tag, tag)
	case e.request.ParentTag == "":
		return own, fmt.Sprintf("tag is %s: the jobs of a request measure its own artifact, %s, and it has no parent", tag, own.Tag)
	}
	return own, fmt.Sprintf("tag is %s: the jobs of a request measure its own artifact, %s, or its parent's, %s; submit a graph for the request of %s to measure that one",
		tag, own.Tag, e.request.ParentTag, tag)
}

// benchmarks returns the patterns of a job in the form that its identity has, and adds what is wrong with them.
func (e external) benchmarks(asked []string, wrong *[]string) (all []string) {
	for _, glob := range asked {
		why, seen := e.globs[glob]
		if !seen {
			if _, err := path.Match(glob, ""); err != nil || glob == "" {
				why = fmt.Sprintf("benchmarks %.100q is not a pattern: use names with *, ? and [a-z]", glob)
			} else if _, err := e.definitions.globs([]string{glob}); err != nil {
				why = err.Error()
			}
			e.globs[glob] = why
		}
		if why != "" {
			*wrong = append(*wrong, why)
			continue
		}
		all = append(all, glob)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
