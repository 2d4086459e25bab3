package scheduler

import (
	"cmp"
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// decideSamples answers a wish for samples: with a graph of clones, or with a reason why there is none.
func decideSamples(s *state, r *request.Request, wish events.GraphWanted, p Policy) decision {
	refuse := func(why string) []events.Fact {
		facts, _ := request.Decide(*r, request.Refuse{Key: wish.Key, Reason: why})
		return facts
	}
	d := decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "make " + string(wish.Kind) + " graph"}
	plan, why := s.plan(r, wish)
	switch {
	case why != "":
	case wish.Copies < 1: // its writer has not checked it; unanswered it would keep all others waiting
		why = "it asks for no copies"
	default:
		why = s.tooMany(plan, wish.Copies, p)
	}
	if why != "" {
		d.facts = refuse(why)
		return d
	}
	g := &request.Graph{Number: max(s.Graphed[r.ID], 1), Kind: wish.Kind, Priority: cmp.Or(wish.Priority, usualPriority(wish.Kind)), Customised: wish.Iterations > 0}
	jobs := plan.Samples(wish, g.Number, r.Artifact.Tag)
	g.Shared = s.shared(plan.Others, len(jobs))
	plan.AllNeeds(wish.Copies, g.Need)
	s.rank(g, jobs, plan.Others)
	made, _ := request.Decide(*r, request.Grant{Key: wish.Key, Jobs: jobs, Graph: g})
	d.facts = append([]events.Fact{events.GraphAdmitted{RequestID: r.ID, Key: wish.Key, Kind: wish.Kind, Jobs: len(jobs), Graphs: 1}}, made...)
	d.otherwise = refuse("these are too many jobs to be recorded at once: name fewer of them, or ask for fewer copies")
	return d
}

// plan returns what one copy of the graph that a wish asks for has, or why there is none.
func (s *state) plan(r *request.Request, wish events.GraphWanted) (graph.Plan, string) {
	own := s.candidates(r)
	if len(own) == 0 {
		return graph.Plan{}, unknownJobs
	}
	d := s.Definitions[r.Definitions]
	if _, err := d.Normalise(events.Parameters{Benchmarks: wish.Benchmarks}); err != nil {
		return graph.Plan{}, err.Error()
	}
	if wish.Iterations > 0 {
		t, _ := d.Template(r.Kind, suite.Choice(r.Choice())) // the request was expanded with it
		if why := whyNotCustomised(t, r.Kind); why != "" {
			return graph.Plan{}, why
		}
	}
	if wish.Kind == events.GraphRetrigger {
		return graph.Retrigger(wish, r.Artifact.Tag, own, d.Edges)
	}
	_, backfill, _, err := s.Expand(r)
	if err != nil {
		return graph.Plan{}, unknownJobs
	}
	var parents []graph.Candidate
	for _, spec := range backfill {
		if kind, _ := d.Kind(spec.Kind); kind.RunsCommands() {
			continue // there is nothing of it that differs from time to time
		}
		newest := s.NewestRound(spec)
		parents = append(parents, graph.Candidate{Spec: newest, State: string(s.StateOf(newest.ID))})
	}
	return graph.Noise(wish, r.Parent, own, parents)
}

// candidates returns the jobs of the base series of a request.
func (s *state) candidates(r *request.Request) (all []graph.Candidate) {
	for _, j := range s.NewestRounds(r) {
		newest := s.Find(s.NewestRound(j.Spec()))
		all = append(all, graph.Candidate{Spec: newest.Spec(), State: s.stateFor(r, newest)})
	}
	return all
}

// shared returns jobs of a graph that exist already, with numbers from first on.
func (s *state) shared(jobs []events.JobSpec, first int) (all []events.SharedJob) {
	for i, spec := range jobs {
		shared := events.SharedJob{Number: first + i, ID: spec.ID, Optional: spec.Optional}
		if end := s.StateOf(spec.ID); end.Terminal() {
			shared.Outcome, shared.Outputs = events.Outcome(end), s.OutputsOf(spec.ID)
		}
		all = append(all, shared)
	}
	return all
}

// usualPriority returns the priority of samples for which nobody has named one: what a request itself needs comes first.
func usualPriority(k events.GraphKind) events.Priority {
	if k == events.GraphNoise {
		return events.PriorityIdle
	}
	return events.PriorityLow
}

// tooMany says why so many copies of a plan are not made now; empty if they are. Samples leave room for requests, which
// start only while fewer jobs wait than the policy allows.
func (s *state) tooMany(plan graph.Plan, copies int, p Policy) string {
	jobs, needs := len(plan.Clones)*copies, len(plan.Needs)*copies
	if jobs+len(plan.Others) > graph.MaxJobs || needs > graph.MaxNeeds {
		return fmt.Sprintf("%d jobs with %d needs are too many: a graph has at most %d jobs and %d needs", jobs, needs, graph.MaxJobs, graph.MaxNeeds)
	}
	if waiting, most := s.Seats.All+s.Blocked, cmp.Or(p.MaxWaiting, usualWaiting)/2; waiting+jobs > most {
		return fmt.Sprintf("%d jobs wait already, and samples are made only up to %d: ask for these %d later, or for fewer", waiting, most, jobs)
	}
	return ""
}

// unknownJobs says that a request that has started has no jobs in memory.
const unknownJobs = "this program cannot read the definitions that the request started with, so its jobs are not known any more: ask for the artifact anew"

// stateFor returns the state of a job for a request as selectors name it: that of the job, or blocked or skipped.
func (s *state) stateFor(r *request.Request, j *ledger.Job) string {
	_, skipped := s.Skips(r.ID, j)
	switch {
	case j.State.Terminal():
	case skipped:
		return string(graph.Skipped)
	case s.Held(j):
		return string(graph.Blocked)
	}
	return string(j.State)
}
