package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// MaxIterations is how often a job measures each test case at most.
const MaxIterations = 1000

// Candidate is a job of the base series that a wish for samples may clone, in its newest round.
type Candidate struct {
	Spec events.JobSpec
	// State is that of the job, or blocked or skipped.
	State string
}

// state returns how the candidate stands in a graph.
func (c Candidate) state() State {
	switch c.State {
	case string(Blocked), string(Skipped), string(Succeeded), string(Failed), string(Cancelled):
		return State(c.State)
	}
	return Ready
}

// ended reports whether the job has ended: what it needs makes no difference any more.
func (c Candidate) ended() bool { return c.state().Over() && c.state() != Skipped }

// is reports whether id names the job in any of its rounds.
func (c Candidate) is(id events.JobID) bool {
	return c.Spec.ID == id || slices.Contains(c.Spec.Earlier(), id)
}

// Plan is what one copy of a graph of samples has.
type Plan struct {
	// Clones are the jobs to clone, in their newest rounds. Others are those that they need and that exist already.
	Clones, Others []events.JobSpec
	// Needs are by the places of jobs in Clones, then Others.
	Needs []Need
}

// Retrigger returns what a retrigger clones. jobs are those of its request, its own and those that it asked for its
// parent; only those that measure tag are taken if the wish names none. edges says what jobs need of each other. A reason
// why there is nothing to clone is returned instead.
func Retrigger(w events.GraphWanted, tag events.Tag, jobs []Candidate, edges func([]events.JobSpec) []Need) (p Plan, why string) {
	specs, named := make([]events.JobSpec, len(jobs)), make([]bool, len(jobs))
	for i, c := range jobs {
		specs[i], named[i] = c.Spec, len(w.Select) == 0 && c.Spec.Artifact.Tag == tag
	}
	for _, id := range w.Select {
		i := slices.IndexFunc(jobs, func(c Candidate) bool { return c.is(id) })
		if i < 0 {
			return Plan{}, fmt.Sprintf("job %s is none that can be cloned: `tacho request show %s` lists them, and samples are not among them", id, w.RequestID)
		}
		named[i] = true
	}
	selector, err := ParseSelector(w.Where)
	if err != nil {
		return Plan{}, err.Error()
	}
	chosen := make([]bool, len(jobs))
	for i, c := range jobs {
		chosen[i] = named[i] && selector.Selects(LabelOf(c.Spec), c.State)
	}
	if !slices.Contains(chosen, true) {
		return Plan{}, nothing(w)
	}
	needs := edges(specs)
	cloned, missing, ok := clones(needs, jobs, chosen, w.Downstream)
	if !ok {
		on := jobs[missing.On]
		return Plan{}, fmt.Sprintf("%s needs %s, and job %s has not succeeded (%s): with --downstream needed it is measured, too",
			LabelOf(specs[missing.Job]), LabelOf(on.Spec), on.Spec.ID, on.State)
	}
	number, original := make([]int, len(jobs)), make([]int, len(jobs))
	for i, spec := range specs {
		if original[i] = -1; cloned[i] {
			number[i] = len(p.Clones)
			p.Clones = append(p.Clones, spec)
		}
	}
	// A job that exists may wait itself: then it waits for its own needs here, too, and never for a clone.
	var others []int
	other := func(i int) int {
		if original[i] < 0 {
			original[i] = len(p.Clones) + len(others)
			others, p.Others = append(others, i), append(p.Others, specs[i])
		}
		return original[i]
	}
	of := map[int][]Need{}
	for _, n := range needs {
		of[n.Job] = append(of[n.Job], n)
		switch {
		case cloned[n.Job] && cloned[n.On]:
			p.Needs = append(p.Needs, Need{Job: number[n.Job], On: number[n.On], Until: n.Until, Output: n.Output})
		case cloned[n.Job]:
			p.Needs = append(p.Needs, Need{Job: number[n.Job], On: other(n.On), Until: n.Until, Output: n.Output})
		}
	}
	for at := 0; at < len(others); at++ {
		if jobs[others[at]].ended() {
			continue
		}
		for _, n := range of[others[at]] {
			p.Needs = append(p.Needs, Need{Job: original[n.Job], On: other(n.On), Until: n.Until, Output: n.Output})
		}
	}
	return p, Changed(w, p.Clones)
}

// Noise returns what a noise graph measures: the parent's artifact as the request measures its own. own are the jobs of
// the request, parents those that it wants of its parent, which need not exist yet. A job is measured if the parent has
// results of it. A reason why there is none is returned instead.
func Noise(w events.GraphWanted, parent events.Tag, own, parents []Candidate) (p Plan, why string) {
	if parent == "" {
		return Plan{}, "the request has no parent, and noise is measured with the parent's artifact"
	}
	var labels []Label
	for _, id := range w.Select {
		i := slices.IndexFunc(own, func(c Candidate) bool { return c.is(id) })
		if i < 0 {
			return Plan{}, fmt.Sprintf("job %s is none of the request: `tacho request show %s` lists them", id, w.RequestID)
		}
		labels = append(labels, LabelOf(own[i].Spec))
	}
	selector, err := ParseSelector(w.Where)
	if err != nil {
		return Plan{}, err.Error()
	}
	for _, c := range own {
		if c.Spec.Against != nil { // it measures the parent itself
			parents = append(slices.Clip(parents), c)
		}
	}
	selected := 0
	for _, c := range parents {
		if label := LabelOf(c.Spec); len(labels) > 0 && !slices.Contains(labels, label) || !selector.Selects(label, c.State) {
			continue
		}
		if selected++; c.State == string(Succeeded) {
			p.Clones = append(p.Clones, c.Spec)
		}
	}
	switch {
	case len(parents) == 0:
		return Plan{}, fmt.Sprintf("its parent %s was never asked for here, so it has no results: ask for it first", parent)
	case selected == 0:
		return Plan{}, nothing(w)
	case len(p.Clones) == 0:
		return Plan{}, fmt.Sprintf("its parent %s has no results of these jobs yet: ask again when they are measured", parent)
	}
	return p, Changed(w, p.Clones)
}

// Samples returns the jobs of a graph of samples, copy after copy. They measure what the clones of the plan measure; of a
// noise graph those that measure a parent beside their own artifact measure the parent alone.
func (p Plan) Samples(w events.GraphWanted, graph int, own events.Tag) (all []events.JobSpec) {
	for i := range w.Copies {
		for _, spec := range p.Clones {
			if w.Kind == events.GraphNoise && spec.Against != nil {
				spec.Artifact, spec.Against = *spec.Against, nil
			}
			if len(w.Benchmarks) > 0 {
				spec.Benchmarks = w.Benchmarks
			}
			spec.Sample, spec.RequestID, spec.Backfill = events.NewSample(w.RequestID, graph, i+1), w.RequestID, spec.Artifact.Tag != own
			if w.Iterations > 0 {
				spec.Iterations = w.Iterations
			}
			spec.Round, spec.On = 0, nil
			spec.ID = spec.First()
			all = append(all, spec)
		}
	}
	return all
}

// AllNeeds calls f with the needs of all copies, sorted by job. Others follow the jobs of all copies.
func (p Plan) AllNeeds(copies int, f func(Need)) {
	for i := range copies {
		place := func(at int) int {
			if at < len(p.Clones) {
				return at + i*len(p.Clones)
			}
			return at + (copies-1)*len(p.Clones)
		}
		for _, n := range p.Needs {
			if n.Job < len(p.Clones) || i == copies-1 { // what the others need is said once
				f(Need{Job: place(n.Job), On: place(n.On), Until: n.Until, Output: n.Output})
			}
		}
	}
}

// nothing says that a wish selects no job.
func nothing(w events.GraphWanted) string {
	if len(w.Where) == 0 {
		return "the request has no job of its own"
	}
	return fmt.Sprintf("no job has %s: `tacho request show %s` lists them", strings.Join(w.Where, " "), w.RequestID)
}

// Changed says that the jobs of a wish are not those that the asker was shown; empty if they are, or nobody was shown any.
func Changed(w events.GraphWanted, jobs []events.JobSpec) string {
	token := Token(jobs)
	if w.Expect == "" || w.Expect == token {
		return ""
	}
	return fmt.Sprintf("the jobs are not those that you were shown: now they are %d, token %s: look again with --dry-run", len(jobs), token)
}

// clones returns which jobs are cloned: the chosen ones and, depending on d, others that these need or that need them.
// If a job needs the success of one that is not cloned and has not succeeded, it returns both, and ok is false; with d
// other than none it waits for one that can still succeed.
func clones(needs []Need, jobs []Candidate, chosen []bool, d events.Downstream) (cloned []bool, missing Need, ok bool) {
	cloned = slices.Clone(chosen)
	on, dependants := map[int][]Need{}, map[int][]int{}
	for _, n := range needs {
		on[n.Job], dependants[n.On] = append(on[n.Job], n), append(dependants[n.On], n.Job)
	}
	var next []int
	for i, c := range chosen {
		if c {
			next = append(next, i)
		}
	}
	add := func(i int) {
		if !cloned[i] {
			cloned[i], next = true, append(next, i)
		}
	}
	if d == events.DownstreamAll {
		for at := 0; at < len(next); at++ {
			for _, i := range dependants[next[at]] {
				add(i)
			}
		}
	}
	for at := 0; at < len(next); at++ {
		for _, n := range on[next[at]] {
			is := jobs[n.On].state()
			switch {
			case cloned[n.On] || n.Until == events.UntilEnded || is == Succeeded:
			case d == events.DownstreamNone:
				return nil, n, false
			case is.Over():
				add(n.On)
			}
		}
	}
	return cloned, Need{}, true
}
