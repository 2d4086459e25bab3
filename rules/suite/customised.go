package suite

import (
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// Customised lists how the jobs of a graph differ from those that their request is expanded to: added, removed, and changed field
// by field. Only jobs for artifacts that the graph measures are compared, so a graph for the parent alone lacks none of the
// others. It is nil exactly if the definitions make these jobs with these needs. needs are by places in jobs.
func (d Definitions) Customised(r Request, jobs []events.JobSpec, needs []graph.Need) ([]Difference, error) {
	x, err := d.Expansion(r)
	if err != nil {
		return nil, err
	}
	measured := map[events.Tag]bool{}
	for _, j := range jobs {
		measured[j.Artifact.Tag] = true
	}
	var made []events.JobSpec
	for _, j := range slices.Concat(x.Own, x.Backfill) {
		if measured[j.Artifact.Tag] {
			made = append(made, j)
		}
	}
	off := map[string]string{}
	for _, j := range slices.Concat(x.Off, x.OffBackfill) {
		off[nameOf(j.Job, r.Artifact.Tag)] = j.Reason
	}
	return diffJobs(named(made, r.Artifact.Tag), d.Edges(made), named(jobs, r.Artifact.Tag), needs, off, nil), nil
}

// namedJob is a job with the name by which it is compared.
type namedJob struct {
	name string
	events.JobSpec
}

// named names jobs by their labels; further ones with the same label are numbered.
func named(jobs []events.JobSpec, own events.Tag) []namedJob {
	all, count := make([]namedJob, len(jobs)), map[string]int{}
	for i, j := range jobs {
		name := nameOf(j, own)
		if count[name]++; count[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, count[name])
		}
		all[i] = namedJob{name, j}
	}
	return all
}

func nameOf(j events.JobSpec, own events.Tag) string {
	if j.Artifact.Tag != own {
		return fmt.Sprintf("%s of %s", graph.LabelOf(j), j.Artifact.Tag)
	}
	return graph.LabelOf(j).String()
}
