package scheduler

import (
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// graphOf returns what jobs of the definitions need of each other: made are to be made, shared exist already. others exist,
// too, and are in the graph only if one of these needs them, or one that has not ended does of which that is so: else it would
// be ready there although its own needs are not met. It returns nil if nothing needs anything and no rule is set, and an error
// that names what no graph can have. A graph of added jobs is made in any case.
func (s *state) graphOf(digest events.Digest, kind events.GraphKind, made, shared, others []events.JobSpec, rules graphRules) (*request.Graph, error) {
	all := slices.Concat(made, shared, others)
	edges, reached := graph.Reach(s.Definitions[digest].Edges(all), len(all), func(i int) bool {
		return i < len(made)+len(shared) || !s.StateOf(all[i].ID).Terminal()
	}, len(made)+len(shared))
	if len(edges) == 0 && (rules == graphRules{} || len(made) == 0) && kind != events.GraphAdded {
		return nil, nil
	}
	if err := graph.Check(len(all), edges, func(i int) string { return graph.LabelOf(all[i]).String() }); err != nil {
		return nil, err
	}
	g := &request.Graph{Kind: kind, OnFailure: rules.onFailure, Deadline: rules.deadline}
	number := make([]int, len(all)) // of those in the graph
	var existing []events.JobSpec
	for i, spec := range all {
		number[i] = i
		if i < len(made) || !reached[i] {
			continue
		}
		number[i] = len(made) + len(g.Shared)
		shared := events.SharedJob{Number: number[i], ID: spec.ID, Optional: spec.Optional}
		if end := s.StateOf(spec.ID); end.Terminal() {
			shared.Outcome, shared.Outputs = events.Outcome(end), s.OutputsOf(spec.ID)
		}
		g.Shared, existing = append(g.Shared, shared), append(existing, spec)
	}
	for _, n := range edges {
		g.Need(graph.Need{Job: number[n.Job], On: number[n.On], Until: n.Until, Output: n.Output})
	}
	s.rank(g, made, existing)
	return g, nil
}

// graphRules are what a template says of the graphs that it makes.
type graphRules struct {
	onFailure events.OnFailure
	deadline  time.Time
}

// rulesOf returns the rules for the graphs that a request gets now. A repair has none: it is for what a person asked for.
func (s *state) rulesOf(r *request.Request, digest events.Digest, now time.Time) graphRules {
	t, _ := s.Definitions[digest].Template(r.Kind, suite.Choice(r.Choice())) // Expand has resolved it
	var rules graphRules
	if t.OnFailure == suite.FailFast {
		rules.onFailure = events.FailFast
	}
	if t.Deadline > 0 {
		rules.deadline = now.Add(t.Deadline)
	}
	return rules
}

// backfill returns the jobs that a parent lacks and could have, and what they need, of each other and of those that it
// has. One that needs the success of a job that failed is not made again: it would be skipped at once.
func (s *state) backfill(digest events.Digest, all []events.JobSpec, rules graphRules, now time.Time) (missing []events.JobSpec, g *request.Graph, err error) {
	missing = s.Missing(all, now)
	d := s.Definitions[digest]
	if len(missing) == 0 || !d.HasNeeds() && rules == (graphRules{}) {
		return missing, nil, nil
	}
	made, has := firsts(missing), []events.JobSpec(nil)
	for _, spec := range all {
		if !made[spec.First()] {
			has = append(has, s.NewestRound(spec))
		}
	}
	missing, has = s.withForgotten(d, missing, has)
	both := slices.Concat(missing, has)
	dead := make([]bool, len(both))
	for i, spec := range both {
		end := s.StateOf(spec.ID)
		dead[i] = i >= len(missing) && end.Terminal() && end != events.JobSuccess
	}
	edges := d.Edges(both)
	for more := true; more; {
		more = false
		for _, n := range edges {
			if n.Until == events.UntilSuccess && dead[n.On] && !dead[n.Job] && n.Job < len(missing) {
				dead[n.Job], more = true, true
			}
		}
	}
	var able []events.JobSpec
	for i, spec := range missing {
		if !dead[i] {
			able = append(able, spec)
		}
	}
	g, err = s.graphOf(digest, events.GraphBackfill, able, nil, has, rules)
	return able, g, err
}

// decideGraphs ends the graphs whose jobs are all over, and with each the jobs that were skipped in it. Those that were
// cancelled, also with their request, wait until their jobs are withdrawn.
func decideGraphs(s *state) (out []decision) {
	for _, id := range slices.Sorted(maps.Keys(s.Over)) {
		if over := s.OverOf(id); len(over) > 0 && !s.amends(s.Requests[id]) && (!s.Stopped(id) && !over[0].Cancelled || len(s.Unwanted(id)) == 0) {
			out = append(out, endGraph(s, over[0]))
		}
	}
	return out
}

// decideDeadlines ends what is open in graphs of tries whose deadline has passed. Of other requests people decide: an alert
// tells them. All graphs of a request end in one decision, because its subject takes only one.
func decideDeadlines(s *state, now time.Time) (out []decision) {
	for _, g := range s.Overdue(now) {
		r := s.Requests[g.Request]
		if r.Kind != events.Try {
			continue
		}
		facts, err := request.Decide(*r, request.ExpireGraph{Graph: g.Number})
		last := len(out) - 1
		switch {
		case err != nil || len(facts) == 0:
		case last >= 0 && out[last].request == r.ID:
			out[last].facts = append(out[last].facts, facts...)
		default:
			out = append(out, decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "expire graph", facts: facts})
		}
	}
	return out
}

func endGraph(s *state, g *ledger.Graph) decision {
	ended := events.GraphEnded{RequestID: g.Request, Graph: g.Number, Outcome: events.Success}
	for number := range g.Jobs {
		if g.States.Optional(number) {
			continue
		}
		ended.Jobs++
		switch g.States.State(number) {
		case graph.Failed:
			ended.Failed++
			ended.Causes = append(ended.Causes, number)
		case graph.Cancelled:
			ended.Failed++
		case graph.Skipped:
			ended.Skipped++
		case graph.Blocked, graph.Ready, graph.Succeeded:
		}
	}
	for number := range g.Jobs {
		if cause, skipped := g.States.Cause(number); skipped && !slices.Contains(ended.Causes, cause) {
			ended.Causes = append(ended.Causes, cause)
		}
	}
	slices.Sort(ended.Causes)
	switch {
	case g.Expired:
		ended.Outcome = events.GraphExpired
	case g.Cancelled, s.Stopped(g.Request) && (g.Kind == events.GraphInitial || g.Kind == events.GraphBackfill):
		ended.Outcome = events.Cancelled
	case ended.Failed+ended.Skipped > 0:
		ended.Outcome = events.Failure
	}
	d := decision{cause: s.Versions[events.RequestSubject(g.Request)], request: g.Request, what: "end graph"}
	if jobs := s.Leftover(g); len(jobs) > 0 {
		d.facts = append(d.facts, events.JobsWithdrawn{RequestID: g.Request, Jobs: jobs, Skipped: true})
	}
	d.facts = append(d.facts, ended)
	return d
}

// runAgain splits the next rounds of jobs: those whose job is in a graph of a request in progress run again in it. What
// was skipped for a request that has ended may have been withdrawn, so its graphs are left as they are.
func (s *state) runAgain(r *request.Request, jobs []events.JobSpec) (plain []events.JobSpec, again []request.Again) {
	if r.State != events.StateInProgress {
		return jobs, nil
	}
	at := map[int]int{} // where the rounds of a graph are
	for _, spec := range jobs {
		g, number, ok := s.graphOfNext(r, spec)
		if !ok {
			plain = append(plain, spec)
			continue
		}
		i, known := at[g.Number]
		if !known {
			i = len(again)
			at[g.Number] = i
			again = append(again, request.Again{Graph: g.Number})
		}
		again[i].Numbers, again[i].Jobs = append(again[i].Numbers, number), append(again[i].Jobs, spec)
	}
	return plain, again
}

// graphOfNext returns the open graph of a request that has an earlier round of a job, and the job's number there. Another
// request may have made the last rounds, so the graph need not have these.
func (s *state) graphOfNext(r *request.Request, spec events.JobSpec) (g *ledger.Graph, number int, ok bool) {
	for _, id := range slices.Backward(spec.Earlier()) {
		if g, number, ok = s.NumberOf(r.ID, id); ok {
			break
		}
	}
	return g, number, ok
}

// measuring returns the newest rounds of the jobs of a request that measure an artifact.
func (s *state) measuring(r *request.Request, tag events.Tag) (specs []events.JobSpec) {
	for _, j := range s.NewestRounds(r) {
		if spec := s.NewestRound(j.Spec()); spec.Artifact.Tag == tag {
			specs = append(specs, spec)
		}
	}
	return specs
}

// firsts returns the names of jobs in all their rounds.
func firsts(jobs []events.JobSpec) map[events.JobID]bool {
	names := map[events.JobID]bool{}
	for _, spec := range jobs {
		names[spec.First()] = true
	}
	return names
}

// tags returns the artifacts of jobs, each once.
func tags(jobs []events.JobSpec) (all []events.Tag) {
	for _, spec := range jobs {
		if !slices.Contains(all, spec.Artifact.Tag) {
			all = append(all, spec.Artifact.Tag)
		}
	}
	return all
}

// undone reports whether a job did not succeed for a request and does not come to it by itself any more: it failed, was
// cancelled, or was skipped and the request has ended.
func (s *state) undone(r *request.Request, j *ledger.Job) bool {
	if g, number, ok := s.graphOfNext(r, j.Spec().Again()); ok && j.State == events.JobSuccess && r.State == events.StateInProgress && g.Jobs[number] != j.Spec().ID {
		return g.States.State(number).Over() && g.States.State(number) != graph.Succeeded // its graph does not know this round, which another request had made
	}
	_, skipped := s.Skips(r.ID, j)
	return j.State == events.JobFailure || j.State == events.JobCancelled || skipped && !j.State.Terminal() && r.State.Terminal()
}

// repairGraph returns what next rounds of jobs need: of each other, and of the newest rounds that the request has. It
// returns nil if they need nothing.
func (s *state) repairGraph(r *request.Request, jobs []events.JobSpec) *request.Graph {
	made, others := firsts(jobs), []events.JobSpec(nil)
	for _, tag := range tags(jobs) {
		for _, spec := range s.measuring(r, tag) {
			if !made[spec.First()] {
				others = append(others, spec)
			}
		}
	}
	g, err := s.graphOf(r.Definitions, events.GraphRepair, jobs, nil, others, graphRules{})
	if g == nil || err != nil { // a part of a graph that was checked has no fault
		return nil
	}
	g.Number = s.Graphed[r.ID]
	return g
}

// stillNeeds reports whether a job of a request needs the success of another one when it runs again. In an open graph needs
// that were met stay met, and nothing else is needed than the graph says.
func (s *state) stillNeeds(r *request.Request, job, on events.JobSpec) bool {
	g, number, ok := s.graphOfNext(r, job.Again())
	if !ok || r.State != events.StateInProgress {
		return true
	}
	for _, id := range on.Again().Earlier() {
		if needed, in := s.NumberIn(g, id); in && g.States.Unmet(number, needed) {
			return true
		}
	}
	return false
}

// withAncestors adds to next rounds those of the jobs that they need the success of, and that did not succeed.
func (s *state) withAncestors(r *request.Request, jobs []events.JobSpec) []events.JobSpec {
	d := s.Definitions[r.Definitions]
	if !d.HasNeeds() {
		return jobs
	}
	taken := firsts(jobs)
	for _, tag := range tags(jobs) {
		all := s.measuring(r, tag)
		on := map[int][]int{} // the jobs whose success each needs
		for _, n := range d.Edges(all) {
			if n.Until == events.UntilSuccess && s.stillNeeds(r, all[n.Job], all[n.On]) {
				on[n.Job] = append(on[n.Job], n.On)
			}
		}
		var next []int
		made := make([]bool, len(all))
		for i, spec := range all {
			if made[i] = taken[spec.First()]; made[i] {
				next = append(next, i)
			}
		}
		for ; len(next) > 0; next = next[1:] {
			for _, i := range on[next[0]] {
				if j := s.Find(all[i]); !made[i] && (s.undone(r, j) || s.forgotten(d, all[i])) {
					made[i], next, jobs = true, append(next, i), append(jobs, s.nextRound(j, r))
				}
			}
		}
	}
	return jobs
}
