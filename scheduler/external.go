package scheduler

import (
	"cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// external is a graph that somebody wrote, turned into jobs.
type external struct {
	jobs  []events.JobSpec
	needs []graph.Need
	// differs says how they differ from what the definitions make.
	differs []suite.Difference
}

// decideExternal answers a wish for a graph that somebody wrote: with its jobs, which are one sample, or with a reason why there
// are none.
func decideExternal(s *state, r *request.Request, wish events.GraphWanted, p Policy) decision {
	refuse := func(why string) []events.Fact {
		facts, _ := request.Decide(*r, request.Refuse{Key: wish.Key, Reason: why})
		return facts
	}
	d := decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "make external graph"}
	made, why := s.external(r, wish, r.Proposed, p)
	if why != "" {
		d.facts = refuse(why)
		return d
	}
	g := &request.Graph{Number: s.nextSample(r), Kind: wish.Kind, Priority: cmp.Or(wish.Priority, events.PriorityLow), Customised: len(made.differs) > 0}
	for _, n := range made.needs {
		g.Need(n)
	}
	s.rank(g, made.jobs, nil)
	facts, _ := request.Decide(*r, request.Grant{Key: wish.Key, Jobs: made.jobs, Graph: g})
	d.facts = append([]events.Fact{events.GraphAdmitted{RequestID: r.ID, Key: wish.Key, Kind: wish.Kind, Jobs: len(made.jobs), Graphs: 1}}, facts...)
	d.otherwise = refuse("its jobs are too large to be recorded at once: name fewer benchmarks, or submit the graph in parts")
	return d
}

// nextSample returns the number of the next graph of samples of a request.
func (s *state) nextSample(r *request.Request) int { return max(s.Graphed[r.ID], 1) }

// external returns the jobs of a graph that somebody wrote for a request, or why it gets none.
func (s *state) external(r *request.Request, wish events.GraphWanted, parts []events.GraphProposed, p Policy) (external, string) {
	d, asked, err := s.ForExpansion(r)
	if err != nil {
		return external{}, unknownJobs
	}
	t, err := d.Template(r.Kind, asked.Choice)
	if err != nil {
		return external{}, unknownJobs
	}
	if why := whyNotCustomised(t, r.Kind); why != "" {
		return external{}, why
	}
	proposed, whole := graph.JoinParts(wish, parts)
	if !whole {
		return external{}, "the log does not have all parts of the graph: submit it anew, with another key"
	}
	if err := proposed.Check(); err != nil {
		return external{}, err.Error()
	}
	made := external{needs: proposed.Needs}
	if made.jobs, err = d.External(asked, proposed, events.NewSample(r.ID, s.nextSample(r), 1)); err != nil {
		return external{}, err.Error()
	}
	if made.differs, err = d.Customised(asked, made.jobs, made.needs); err != nil {
		return external{}, unknownJobs
	}
	plan := graph.Plan{Clones: made.jobs, Needs: made.needs}
	return made, s.tooMany(plan, 1, p)
}

// shownDifferences is how many differences a preview tells.
const shownDifferences = 1000

// previewExternal returns what would be made for a graph that somebody wrote.
func (s *state) previewExternal(r *request.Request, wish events.GraphWanted, parts []events.GraphProposed, p Policy) graph.Preview {
	made, why := s.external(r, wish, parts, p)
	out := graph.Preview{Refused: why, Customised: len(made.differs) > 0}
	for _, spec := range made.jobs {
		out.Jobs = append(out.Jobs, graph.Candidate{Spec: spec})
	}
	for _, one := range made.differs[:min(len(made.differs), shownDifferences)] {
		out.Differs = append(out.Differs, one.String())
	}
	return out
}
