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
	all := diffFields("graph", a.Template.fields(), b.Template.fields())
	old, now := labelled(from, a.Own), labelled(to, b.Own)
	wasOff, isOff := reasons(a.Off), reasons(b.Off)
	for _, j := range b.Own {
		l := graph.LabelOf(j)
		if _, had := old[l]; had {
			all = append(all, diffFields(l.String(), old[l], now[l])...)
			continue
		}
		all = append(all, Difference{What: l.String(), Change: Added, Why: wasOff[l]})
	}
	for _, j := range a.Own {
		if l := graph.LabelOf(j); now[l] == nil {
			all = append(all, Difference{What: l.String(), Change: Removed, Why: isOff[l]})
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

// labelled returns the fields of jobs, and what they need, by their labels.
func labelled(d Definitions, jobs []events.JobSpec) map[graph.Label]map[string]any {
	needs := make([]map[string]any, len(jobs))
	for _, n := range d.Edges(jobs) {
		if needs[n.Job] == nil {
			needs[n.Job] = map[string]any{}
		}
		needs[n.Job][graph.LabelOf(jobs[n.On]).String()] = cmp.Or(n.Until, "success")
	}
	all := map[graph.Label]map[string]any{}
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
		all[graph.LabelOf(j)] = fields
	}
	return all
}

// reasons returns why jobs are switched off, by their labels.
func reasons(off []OffJob) map[graph.Label]string {
	all := map[graph.Label]string{}
	for _, j := range off {
		all[graph.LabelOf(j.Job)] = j.Reason
	}
	return all
}
