package suite

import (
	"cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/graph"
)

// DiffJobs lists how the jobs of a request would differ between two expansions, by label: kind, target, set, backend and
// profile. First come the jobs of b in their order, then those that only a has. What the jobs measure of their benchmarks is
// not compared, see Diff for that; neither are ids, artifacts and digests.
func DiffJobs(from Definitions, a Expansion, to Definitions, b Expansion) []Difference {
	return append(diffFields("graph", a.Template.fields(), b.Template.fields()),
		diffJobs(labelled(a.Own), from.Edges(a.Own), labelled(b.Own), to.Edges(b.Own), reasons(a.Off), reasons(b.Off))...)
}

// diffJobs lists how jobs differ, by name: those of b in their order, then those that only a has. The reasons say why jobs are
// switched off on either side.
func diffJobs(a []namedJob, needsA []graph.Need, b []namedJob, needsB []graph.Need, wasOff, isOff map[string]string) (all []Difference) {
	old, now := fieldsOf(a, needsA), fieldsOf(b, needsB)
	for _, j := range b {
		if _, had := old[j.name]; had {
			all = append(all, diffFields(j.name, old[j.name], now[j.name])...)
			continue
		}
		all = append(all, Difference{What: j.name, Change: Added, Why: wasOff[j.name]})
	}
	for _, j := range a {
		if now[j.name] == nil {
			all = append(all, Difference{What: j.name, Change: Removed, Why: isOff[j.name]})
		}
	}
	return all
}

// fields returns what a template says about a graph as a whole.
func (t Template) fields() map[string]any {
	fields := map[string]any{"on_failure": cmp.Or(t.OnFailure, KeepGoing)}
	if t.Deadline > 0 {
		fields["deadline"] = phrase.Duration(t.Deadline)
	}
	return fields
}

// labelled names the jobs of one artifact by their labels.
func labelled(jobs []events.JobSpec) []namedJob {
	all := make([]namedJob, len(jobs))
	for i, j := range jobs {
		all[i] = namedJob{graph.LabelOf(j).String(), j}
	}
	return all
}

// fieldsOf returns the fields of jobs, and what they need, by their names.
func fieldsOf(jobs []namedJob, edges []graph.Need) map[string]map[string]any {
	needs := make([]map[string]any, len(jobs))
	for _, n := range edges {
		if needs[n.Job] == nil {
			needs[n.Job] = map[string]any{}
		}
		needs[n.Job][jobs[n.On].name] = cmp.Or(n.Until, "success")
	}
	all := map[string]map[string]any{}
	for i, j := range jobs {
		fields := map[string]any{"needs": needs[i]}
		for key, list := range map[string][]string{
			"benchmarks": j.Benchmarks, "measures": j.Measures, "requires": j.Requires, "caches": j.Caches,
		} {
			if len(list) > 0 {
				fields[key] = list
			}
		}
		for key, is := range map[string]bool{"optional": j.Optional, "matched": j.Matched} {
			if is {
				fields[key] = true
			}
		}
		if j.Iterations > 0 {
			fields["iterations"] = j.Iterations
		}
		all[j.name] = fields
	}
	return all
}

// reasons returns why jobs are switched off, by their labels.
func reasons(off []OffJob) map[string]string {
	all := map[string]string{}
	for _, j := range off {
		all[graph.LabelOf(j.Job).String()] = j.Reason
	}
	return all
}
