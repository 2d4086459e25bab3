package suite

import (
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Output returns an output of the kind; false if it yields none of that name.
func (k Kind) Output(name string) (OutputPaths, bool) {
	i := slices.IndexFunc(k.Outputs, func(o OutputPaths) bool { return o.Name == name })
	if i < 0 {
		return OutputPaths{}, false
	}
	return k.Outputs[i], true
}

// measuresBeside reports whether the jobs of the kind measure the parent's artifact, too.
func (k Kind) measuresBeside() bool { return k.Matched() && !k.Shared && !k.RunsCommands() }

// artifactNeed returns the need whose output is the artifact of the jobs of a kind; false if they need none.
func (k Kind) artifactNeed() (KindNeed, bool) {
	i := slices.IndexFunc(k.Needs, func(n KindNeed) bool { return n.Output != "" })
	if i < 0 {
		return KindNeed{}, false
	}
	return k.Needs[i], true
}

// backfills returns the kinds that get jobs for the parent of a request: those with backfill, and the builds that they need.
func (d Definitions) backfills() []events.JobKind {
	var all []events.JobKind
	for _, k := range d.Kinds {
		if k.Backfill {
			all = append(all, k.Name)
		}
	}
	for at := 0; at < len(all); at++ {
		k, _ := d.Kind(all[at])
		for _, n := range k.Needs {
			if other, ok := d.Kind(n.Kind); ok && other.Builds() && !slices.Contains(all, n.Kind) {
				all = append(all, n.Kind)
			}
		}
	}
	return all
}

// builds completes a job of a kind that builds, or that runs commands.
func (e expansion) builds(k Kind, j *events.JobSpec) error {
	if k.Tokens.Min > 0 {
		j.Tokens = &events.Tokens{Min: k.Tokens.Min, Max: k.Tokens.Max}
	}
	for _, c := range k.Checkouts {
		revision := c.Revision
		switch revision {
		case revisionTag:
			revision = string(j.Artifact.Tag)
		case revisionParent:
			if revision = string(e.request.ParentTag); revision == "" || j.Artifact.Tag != e.request.Artifact.Tag {
				continue // it has no parent, or none that is known here
			}
		}
		j.Checkouts = append(j.Checkouts, events.Checkout{Repository: c.Repository, Revision: revision, Path: c.Path})
	}
	if !k.Builds() || e.request.Nameless {
		return nil
	}
	var err error
	if j.Recipe, err = e.definitions.Recipe(*j); err != nil {
		return err
	}
	j.ID = j.First()
	return nil
}

// complete completes the jobs that build or run commands, once all else about them is known: a build is another one if it is
// made of something else.
func (e expansion) complete(x Expansion) error {
	one := func(j *events.JobSpec) error {
		k, _ := e.definitions.Kind(j.Kind)
		if !k.RunsCommands() {
			return nil
		}
		return e.builds(k, j)
	}
	for _, jobs := range [][]events.JobSpec{x.Own, x.Backfill} {
		for i := range jobs {
			if err := one(&jobs[i]); err != nil {
				return err
			}
		}
	}
	for _, off := range [][]OffJob{x.Off, x.OffBackfill} {
		for i := range off {
			if err := one(&off[i].Job); err != nil {
				return err
			}
		}
	}
	return nil
}

// neededOutput checks a need by output.
func (c *checker) neededOutput(path string, k, other Kind, need KindNeed) {
	if need.Output == "" {
		return
	}
	at := join(path, "output")
	_, yields := other.Output(need.Output)
	switch {
	case !other.Builds():
		c.report(at, "kind %q needs the output %q of %q, which does not build: add does = %q to %q, or remove output", k.Name, need.Output, other.Name, DoesBuild, other.Name)
	case !yields:
		c.reference(at, "output of kind "+string(other.Name), need.Output, names(other.Outputs, func(o OutputPaths) string { return o.Name }))
	case need.Until != events.UntilSuccess:
		c.report(at, "kind %q uses the output %q, which is there or not, whatever becomes of %q: remove until, or output", k.Name, need.Output, other.Name)
	case k.measuresBeside():
		c.report(at, "kind %q measures two artifacts on one machine (lanes = %q), and each job has one build: add shared = true, or remove lanes", k.Name, LanesAny)
	}
}

// built checks that every kind that measures has the build that it measures.
func (c *checker) built(d Definitions) {
	if d.Artifact.Kind != ArtifactBuilt {
		return
	}
	if d.Version < 2 {
		c.report("artifact.kind", "artifact.kind is %q: write version = 2 at the head of the file, so that programs that do not know it refuse the file", ArtifactBuilt)
	}
	var yields []string
	for _, k := range d.Kinds {
		for _, o := range k.Outputs {
			yields = append(yields, "needs = [{ kind = \""+string(k.Name)+"\", output = \""+o.Name+"\" }]")
		}
	}
	if len(yields) == 0 {
		yields = append(yields, "a kind with does = \""+DoesBuild+"\" and outputs, and needs = [{ kind = …, output = … }]")
	}
	for i, k := range d.Kinds {
		if k.RunsCommands() {
			continue
		}
		path := index("kind", i)
		n, ok := k.artifactNeed()
		if !ok {
			c.report(path, "kind %q measures the artifact, and artifacts of kind %q are built by jobs: it needs what yields it, add %s", k.Name, ArtifactBuilt, either(yields))
			continue
		}
		other, known := d.Kind(n.Kind)
		for _, dim := range other.dimensions() {
			if known && !slices.Contains(n.joins(k, other), dim) {
				c.report(join(path, "needs"), "kind %q measures the output %q of %q, and there is one for each %s: add %s to %q, or let %q be made once",
					k.Name, n.Output, n.Kind, dim, strings.ReplaceAll("per_"+dim+" = true", "per_target = true", "no primary"), k.Name, n.Kind)
			}
		}
	}
}

// outputsOf returns the outputs of a kind in words.
func outputsOf(k Kind) string {
	if len(k.Outputs) == 0 {
		return "none"
	}
	return either(names(k.Outputs, func(o OutputPaths) string { return o.Name }))
}
