package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// KindNeed says that the jobs of a kind wait for those of another one.
type KindNeed struct {
	Kind events.JobKind `toml:"kind" json:"kind"`
	// Across are the dimensions in which the two jobs may differ: "target", "set", "backend", "profile", or "all" for a
	// job that waits for all jobs of the other kind. In the others they agree, where both kinds have them.
	Across []string `toml:"across" json:"across,omitempty"`
	// Until is "ended" for a job that runs whatever became of the other one; empty for one that needs its success.
	Until events.Until `toml:"until" json:"until,omitempty"`
	// Output is the output of the other job that this one uses; empty for none.
	Output string `toml:"output" json:"output,omitempty"`
}

// The dimensions of jobs.
const (
	acrossTarget  = "target"
	acrossSet     = "set"
	acrossBackend = "backend"
	acrossProfile = "profile"
	acrossAll     = "all"
)

// dimensions returns those in which the jobs of a kind differ.
func (k Kind) dimensions() []string {
	var all []string
	for _, d := range []struct {
		name string
		has  bool
	}{{acrossTarget, !k.Primary}, {acrossSet, k.PerSet}, {acrossBackend, k.PerBackend}, {acrossProfile, k.PerProfile}} {
		if d.has {
			all = append(all, d.name)
		}
	}
	return all
}

// joins returns the dimensions in which a job and one that it needs agree.
func (n KindNeed) joins(job, on Kind) []string {
	return slices.DeleteFunc(job.dimensions(), func(d string) bool {
		return !slices.Contains(on.dimensions(), d) || slices.Contains(n.Across, d) || slices.Contains(n.Across, acrossAll)
	})
}

// HasNeeds reports whether jobs of the definitions need others.
func (d Definitions) HasNeeds() bool {
	return slices.ContainsFunc(d.Kinds, func(k Kind) bool { return len(k.Needs) > 0 })
}

// Edges returns what jobs need of each other, by their places in the list, sorted by the job that needs. Jobs of
// different artifacts need nothing of each other. A kind that is not among them is needed by none.
func (d Definitions) Edges(jobs []events.JobSpec) []graph.Need {
	if !d.HasNeeds() {
		return nil
	}
	var edges []graph.Need
	of := map[events.JobKind][]int{}
	for i, j := range jobs {
		of[j.Kind] = append(of[j.Kind], i)
	}
	for _, k := range d.Kinds {
		for _, need := range k.Needs {
			on, ok := d.Kind(need.Kind)
			if !ok || on.Name == k.Name {
				continue
			}
			dims := need.joins(k, on)
			at := map[string][]int{}
			for _, i := range of[on.Name] {
				group := key(jobs[i], dims)
				at[group] = append(at[group], i)
			}
			for _, i := range of[k.Name] {
				for _, other := range at[key(jobs[i], dims)] {
					if len(edges) > graph.MaxNeeds { // too many already: the check of the graph says so
						return edges
					}
					edges = append(edges, graph.Need{Job: i, On: other, Until: need.Until, Output: need.Output})
				}
			}
		}
	}
	slices.SortStableFunc(edges, func(a, b graph.Need) int { return cmp.Compare(a.Job, b.Job) })
	return edges
}

// key returns the artifact of a job, and its values in some dimensions.
func key(j events.JobSpec, dims []string) string {
	values := append(make([]string, 0, 5), string(j.Artifact.Tag))
	for _, d := range dims {
		switch d {
		case acrossTarget:
			values = append(values, string(j.Target))
		case acrossSet:
			values = append(values, strconv.Itoa(int(j.Set)))
		case acrossBackend:
			values = append(values, string(j.Backend))
		case acrossProfile:
			values = append(values, string(j.Profile))
		}
	}
	return strings.Join(values, "/")
}

// kindNeeds checks what the kinds need of each other.
func (c *checker) kindNeeds(d Definitions) {
	kinds := names(d.Kinds, func(k Kind) events.JobKind { return k.Name })
	var edges []graph.Need
	for i, k := range d.Kinds {
		path := join(index("kind", i), "needs")
		if len(k.Needs) > 0 && d.Version < 2 {
			c.report(path, "kind %q has needs: write version = 2 at the head of the file, so that programs that do not know needs refuse it", k.Name)
		}
		for at := range k.Needs {
			if on, ok := c.kindNeed(index(path, at), k, at, d, kinds); ok {
				edges = append(edges, graph.Need{Job: i, On: on})
			}
		}
	}
	if err := graph.Check(len(d.Kinds), edges, func(i int) string { return string(d.Kinds[i].Name) }); err != nil {
		c.report("kind", "the needs of the kinds: %v", err)
	}
}

// kindNeed checks one need of a kind. It returns the place of the kind that is needed.
func (c *checker) kindNeed(path string, k Kind, at int, d Definitions, kinds []events.JobKind) (on int, ok bool) {
	need := k.Needs[at]
	c.reference(join(path, "kind"), "kind that is needed", string(need.Kind), tokens(kinds))
	c.references(join(path, "across"), "dimension", need.Across, []string{acrossTarget, acrossSet, acrossBackend, acrossProfile, acrossAll})
	if i := slices.Index(need.Across, acrossAll); i >= 0 && len(need.Across) > 1 {
		c.report(index(join(path, "across"), i), "across names %q beside others: %q are all dimensions, so leave out the others, or %q", acrossAll, acrossAll, acrossAll)
	}
	if need.Until != events.UntilSuccess && need.Until != events.UntilEnded {
		c.report(join(path, "until"), "until is %q: write %q for a job that runs whatever becomes of the one that it needs, or leave it out", need.Until, events.UntilEnded)
	}
	on = slices.Index(kinds, need.Kind)
	if on < 0 {
		return 0, false
	}
	other := d.Kinds[on]
	c.neededOutput(path, k, other, need)
	if slices.ContainsFunc(k.Needs[:at], func(before KindNeed) bool { return before.Kind == need.Kind && before.Output == need.Output }) {
		c.report(path, "kind %q needs %q twice: remove one of them", k.Name, need.Kind)
	}
	for _, kind := range []events.RequestKind{events.Master, events.Try, events.Release} {
		if k.madeFor(kind) && !other.madeFor(kind) {
			c.report(join(path, "kind"), "kind %q needs %q, which is not made for a %s request: add it to requests of %q, or take it out of those of %q",
				k.Name, need.Kind, kind, need.Kind, k.Name)
		}
	}
	if k.Backfill && !other.Backfill && !other.Builds() { // builds are made for the parent as they are needed
		c.report(join(path, "kind"), "kind %q has backfill and needs %q, which has none: the jobs for the parent need them, too; add backfill = true to %q",
			k.Name, need.Kind, need.Kind)
	}
	if need.Until == events.UntilSuccess {
		c.neededOptional(path, k, other, need, d)
	}
	return on, true
}

// madeFor reports whether a kind of request gets jobs of the kind.
func (k Kind) madeFor(kind events.RequestKind) bool {
	return len(k.Requests) == 0 || slices.Contains(k.Requests, kind)
}

// neededOptional checks that no required job needs the success of an optional one.
func (c *checker) neededOptional(path string, k, other Kind, need KindNeed, d Definitions) {
	e := expansion{definitions: d, parameters: events.Parameters{Targets: names(d.Targets, func(t Target) events.Target { return t.Name })}}
	joined := slices.Contains(need.joins(k, other), acrossTarget)
	for _, t := range e.targets(k) {
		for _, o := range e.targets(other) {
			if (!joined || t.Name == o.Name) && !t.Optional && o.Optional {
				c.report(path, "kind %q on target %s needs the success of %q on target %s, which is optional: add until = %q, or leave out target in across",
					k.Name, t.Name, other.Name, o.Name, events.UntilEnded)
				return
			}
		}
	}
}

// graphSizes checks that the graphs of requests without parameters are not too large.
func (c *checker) graphSizes(d Definitions) {
	for _, kind := range []events.RequestKind{events.Master, events.Try, events.Release} {
		own, _, err := d.Expand(Request{Artifact: events.Artifact{Suite: d.Name, Tag: "any", Kind: kind}})
		if needs := d.Edges(own); err == nil && len(needs) > 0 {
			if err := graph.Check(len(own), needs, func(i int) string { return graph.LabelOf(own[i]).String() }); err != nil {
				c.report("kind", "a %s request: %v", kind, err)
			}
		}
	}
}

// String returns the need in words.
func (n KindNeed) String() string {
	words := string(n.Kind)
	if n.Output != "" {
		words = fmt.Sprintf("output %s of %s", n.Output, n.Kind)
	}
	if n.Until == events.UntilEnded {
		words += " (until it has ended)"
	}
	if len(n.Across) > 0 {
		words += fmt.Sprintf(" across %s", strings.Join(n.Across, ", "))
	}
	return words
}
