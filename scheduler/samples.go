package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
)

// sample answers a wish for samples: with a graph of clones, or with a reason why there is none.
func (s *state) sample(r *request.Request, wish events.GraphWanted, p Policy, refuse func(string) []events.Fact) decision {
	d := decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "make graph of kind " + string(wish.Kind)}
	var jobs []events.JobSpec
	var needs []graph.Need
	var others []events.JobSpec
	var why string
	if wish.Kind == events.GraphNoise {
		jobs, why = s.parentSamples(r, wish)
	} else {
		jobs, others, needs, why = s.clones(r, wish)
	}
	if made, pairs := len(jobs)*wish.Copies, len(needs)*wish.Copies; why == "" {
		why = s.tooMany(made, p)
		if made+len(others) > graph.MaxJobs || pairs > graph.MaxNeeds {
			why = fmt.Sprintf("%d jobs with %d needs are too many: a graph has at most %d jobs and %d needs", made, pairs, graph.MaxJobs, graph.MaxNeeds)
		}
	}
	if why != "" {
		d.facts = refuse(why)
		return d
	}
	g := &request.Graph{Number: max(s.Graphed[r.ID], 1), Kind: wish.Kind, Priority: cmp.Or(wish.Priority, usualPriority(wish.Kind))}
	all := copies(g, r, jobs, others, needs, wish.Copies)
	for i := range g.Shared {
		if end := s.StateOf(g.Shared[i].ID); end.Terminal() {
			g.Shared[i].Outcome = events.Outcome(end)
		}
	}
	made, _ := request.Decide(*r, request.Grant{Key: wish.Key, Jobs: all, Graph: g})
	d.facts = append([]events.Fact{events.GraphAdmitted{RequestID: r.ID, Key: wish.Key, Kind: wish.Kind, Jobs: len(all), Graphs: 1}}, made...)
	d.otherwise = refuse("these are too many jobs to be recorded at once: name fewer of them, or ask for fewer copies")
	return d
}

// usualPriority returns the priority of samples for which nobody has named one: what a master needs comes first.
func usualPriority(k events.GraphKind) events.Priority {
	if k == events.GraphNoise {
		return events.PriorityIdle
	}
	return events.PriorityLow
}

// tooMany says why so many samples are not made now; empty if they are. Samples leave room for requests: these start
// only while fewer jobs wait than the policy allows.
func (s *state) tooMany(jobs int, p Policy) string {
	most := cmp.Or(p.MaxWaiting, usualWaiting) / 2
	if waiting := s.Seats.All + s.Blocked; waiting+jobs > most {
		return fmt.Sprintf("%d jobs wait already, and samples are made only up to %d: ask for %d jobs later, or for fewer", waiting, most, jobs)
	}
	return ""
}

// clones returns the jobs of the base series of which a retrigger makes copies, further ones that they need, and what
// they need of each other, by their places in both lists; or why there are none.
func (s *state) clones(r *request.Request, wish events.GraphWanted) (clones, others []events.JobSpec, needs []graph.Need, why string) {
	var base []*ledger.Job
	at := map[events.JobID]int{} // by the id of any round
	for _, j := range s.NewestRounds(r) {
		newest := s.Find(s.NewestRound(j.Spec()))
		for _, id := range append(newest.Spec().Earlier(), newest.ID) {
			at[id] = len(base)
		}
		base = append(base, newest)
	}
	if len(base) == 0 {
		return nil, nil, nil, unknownJobs
	}
	chosen := make([]bool, len(base))
	for _, id := range wish.Select {
		i, ok := at[id]
		if !ok {
			return nil, nil, nil, s.notOf(r, id)
		}
		chosen[i] = true
	}
	selector, _ := graph.ParseSelector(wish.Where) // it was checked when it was asked for
	specs, states := make([]events.JobSpec, len(base)), make([]graph.State, len(base))
	for i, j := range base {
		specs[i], states[i] = j.Spec(), s.stateFor(r, j)
		named := chosen[i] || len(wish.Select) == 0 && specs[i].Artifact.Tag == r.Artifact.Tag
		chosen[i] = named && selector.Selects(graph.LabelOf(specs[i]), stateName(j, states[i]))
	}
	if !slices.Contains(chosen, true) {
		return nil, nil, nil, nothingSelected(r, wish)
	}
	d := s.Definitions[r.Definitions]
	edges := d.Edges(specs)
	cloned, missing, ok := graph.Clones(edges, func(i int) graph.State { return states[i] }, chosen, wish.Downstream)
	if !ok {
		return nil, nil, nil, fmt.Sprintf("%s needs %s, and job %s has not succeeded (%s): with --downstream needed it is measured, too",
			graph.LabelOf(specs[missing.Job]), graph.LabelOf(specs[missing.On]), specs[missing.On].ID, stateName(base[missing.On], states[missing.On]))
	}
	number := make([]int, len(base))
	for i, spec := range specs {
		if cloned[i] {
			number[i] = len(clones)
			clones = append(clones, spec)
		}
	}
	if why := otherList(wish, clones); why != "" {
		return nil, nil, nil, why
	}
	needed := map[int]bool{}
	for _, n := range edges {
		if cloned[n.Job] && !cloned[n.On] && !needed[n.On] {
			needed[n.On], number[n.On] = true, len(clones)+len(others)
			others = append(others, specs[n.On])
		}
	}
	for _, n := range edges {
		if cloned[n.Job] {
			needs = append(needs, graph.Need{Job: number[n.Job], On: number[n.On], Until: n.Until})
		}
	}
	return s.narrowed(clones, wish.Benchmarks), others, needs, ""
}

// parentSamples returns the jobs that measure the parent of a request as its own jobs do, and of which the parent has
// results; or why there are none.
func (s *state) parentSamples(r *request.Request, wish events.GraphWanted) (jobs []events.JobSpec, why string) {
	if r.Parent == "" {
		return nil, "the request has no parent, and noise is measured with the parent's artifact"
	}
	_, parents, _, err := s.Expand(r)
	if err != nil {
		return nil, unknownJobs
	}
	var labels []graph.Label
	for _, j := range s.NewestRounds(r) {
		spec := s.NewestRound(j.Spec())
		if slices.ContainsFunc(append(spec.Earlier(), spec.ID), func(id events.JobID) bool { return slices.Contains(wish.Select, id) }) {
			labels = append(labels, graph.LabelOf(spec))
		}
		if spec.Against != nil { // it measured the parent itself
			parents = append(parents, spec)
		}
	}
	if len(labels) < len(wish.Select) {
		return nil, fmt.Sprintf("some of the %d jobs are none of the request: `tacho request show %s` lists them", len(wish.Select), r.ID)
	}
	selector, _ := graph.ParseSelector(wish.Where) // it was checked when it was asked for
	selected := 0
	for _, spec := range parents {
		newest := s.NewestRound(spec)
		label, state := graph.LabelOf(spec), s.StateOf(newest.ID)
		if len(labels) > 0 && !slices.Contains(labels, label) || !selector.Selects(label, string(state)) {
			continue
		}
		if selected++; state != events.JobSuccess {
			continue
		}
		if newest.Against != nil {
			newest.Artifact, newest.Against = *newest.Against, nil
		}
		jobs = append(jobs, newest)
	}
	switch {
	case len(parents) == 0:
		return nil, fmt.Sprintf("its parent %s was never asked for here, so it has no results: ask for it first", r.Parent)
	case selected == 0:
		return nil, nothingSelected(r, wish)
	case len(jobs) == 0:
		return nil, fmt.Sprintf("its parent %s has no results of these jobs yet: ask again when they are measured", r.Parent)
	}
	if why := otherList(wish, jobs); why != "" {
		return nil, why
	}
	return s.narrowed(jobs, wish.Benchmarks), ""
}

// narrowed returns the jobs with a filter of benchmarks instead of their own; as they are if there is none.
func (s *state) narrowed(jobs []events.JobSpec, benchmarks []string) []events.JobSpec {
	if len(benchmarks) > 0 {
		for i := range jobs {
			jobs[i].Benchmarks = benchmarks
		}
	}
	return jobs
}

// copies returns the samples of a graph, copy after copy, and gives it the others that exist already and the needs of
// all. needs are those of one copy: the clones come first, then the others.
func copies(g *request.Graph, r *request.Request, clones, others []events.JobSpec, needs []graph.Need, n int) (all []events.JobSpec) {
	for i := range n {
		first := len(all)
		for _, spec := range clones {
			spec.Sample, spec.RequestID, spec.Backfill = events.NewSample(r.ID, g.Number, i+1), r.ID, spec.Artifact.Tag != r.Artifact.Tag
			spec.Round, spec.On = 0, nil
			spec.ID = spec.First()
			all = append(all, spec)
		}
		for _, need := range needs {
			on := need.On + first
			if need.On >= len(clones) {
				on = need.On - len(clones) + n*len(clones)
			}
			g.Need(need.Job+first, on, need.Until)
		}
	}
	for i, spec := range others {
		g.Shared = append(g.Shared, events.SharedJob{Number: len(all) + i, ID: spec.ID, Optional: spec.Optional})
	}
	return all
}

// unknownJobs says that a request has no jobs in memory, although it started.
const unknownJobs = "this program cannot read the definitions that the request started with, so its jobs are not known any more: ask for the artifact anew"

// nothingSelected says that a wish selects no job.
func nothingSelected(r *request.Request, wish events.GraphWanted) string {
	if len(wish.Where) == 0 {
		return "the request has no job of its own"
	}
	return fmt.Sprintf("no job has %s: `tacho request show %s` lists them", strings.Join(wish.Where, " "), r.ID)
}

// otherList says that the jobs are not those that the asker was shown; empty if they are, or nobody was shown any.
func otherList(wish events.GraphWanted, jobs []events.JobSpec) string {
	ids := make([]events.JobID, len(jobs))
	for i, spec := range jobs {
		ids[i] = spec.ID
	}
	if wish.Expect == "" || wish.Expect == graph.Token(ids) {
		return ""
	}
	return fmt.Sprintf("the jobs are not those that you were shown: now they are %d, token %s: look again with --dry-run", len(jobs), graph.Token(ids))
}

// notOf says why a job cannot be named for a request.
func (s *state) notOf(r *request.Request, id events.JobID) string {
	if j, ok := s.Jobs[id]; ok && j.Sampled() && j.Spec().RequestID == r.ID {
		return fmt.Sprintf("job %s is a sample: name the job that it is a sample of, %s", id, j.Spec().Base().ID)
	}
	return fmt.Sprintf("job %s is none of the request", id)
}

// stateFor returns the state of a job for a request, with those that its graph gives it.
func (s *state) stateFor(r *request.Request, j *ledger.Job) graph.State {
	if j.State.Terminal() {
		return graph.State(j.State)
	}
	if _, skipped := s.Skips(r.ID, j); skipped {
		return graph.Skipped
	}
	if s.Held(j) {
		return graph.Blocked
	}
	return graph.Ready
}

// stateName returns the state of a job as selectors name it.
func stateName(j *ledger.Job, state graph.State) string {
	if state == graph.Ready {
		return string(j.State)
	}
	return string(state)
}
