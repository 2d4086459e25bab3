package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// roundsInAll bounds the rounds of a job that people can ask for.
const roundsInAll = 20

// decideStart makes the jobs of a request, or records why there are none. It returns false while the farm lacks
// something and that is already recorded.
func decideStart(s *state, r *request.Request, reason string, now time.Time) (decision, bool) {
	cause := s.Versions[events.RequestSubject(r.ID)]
	start, err := s.start(r, now)
	if err != nil {
		var command request.Command = request.FailExpansion{Reason: err.Error()}
		if lack, is := errors.AsType[ledger.LackError](err); is {
			command = request.Hold{Lack: lack.Lack, Detail: lack.Detail}
		}
		facts, _ := request.Decide(*r, command)
		return decision{cause: cause, request: r.ID, what: "fail expansion", facts: facts}, len(facts) > 0
	}
	facts, err := request.Decide(*r, start)
	if err != nil {
		return decision{}, false
	}
	admitted := events.RequestAdmitted{RequestID: r.ID, Tag: r.Artifact.Tag, Reason: reason}
	tooMuch, _ := request.Decide(*r, request.FailExpansion{Reason: "its jobs are too large to be recorded: ask for fewer benchmarks, by shorter names"})
	return decision{
		cause: cause, request: r.ID, what: "start request", facts: append([]events.Fact{admitted}, facts...), otherwise: tooMuch,
	}, true
}

// start returns the jobs of a request, and what they need.
func (s *state) start(r *request.Request, now time.Time) (request.Start, error) {
	own, backfill, digest, err := s.Expand(r)
	if err != nil {
		return request.Start{}, err
	}
	requires, _ := s.Requires(r) // Expand has read them
	start := request.Start{Definitions: digest, Requires: requires, Template: s.templateOf(r, digest)}
	var shared []events.JobSpec
	for _, spec := range own {
		if spec, lacks := s.Lacks(spec, now); lacks {
			start.Jobs = append(start.Jobs, spec)
		} else {
			shared = append(shared, spec)
		}
	}
	start.Jobs, shared = s.withForgotten(s.Definitions[digest], start.Jobs, shared)
	for _, spec := range shared {
		start.Shared = append(start.Shared, spec.ID)
	}
	rules := s.rulesOf(r, digest, now)
	if start.Graph, err = s.graphOf(digest, events.GraphInitial, start.Jobs, shared, nil, rules); err != nil {
		return request.Start{}, err
	}
	start.Backfill, start.BackfillGraph, err = s.backfill(digest, backfill, rules, now)
	if start.BackfillGraph != nil && start.Graph != nil {
		start.BackfillGraph.Number = 1
	}
	return start, err
}

// templateOf returns what a request takes of what its definitions offer; nil if they offer no choice.
func (s *state) templateOf(r *request.Request, digest events.Digest) *events.Template {
	d := s.Definitions[digest]
	if len(d.Options)+len(d.Graphs)+len(d.Branches) == 0 {
		return nil
	}
	t, _ := d.Template(r.Kind, suite.Choice(r.Choice())) // Expand has resolved it
	return &events.Template{Graph: t.Graph, Branch: t.Branch, Options: t.Options}
}

func decideLateBackfill(s *state, r, parent *request.Request, now time.Time) (decision, bool) {
	_, backfill, digest, err := s.Expand(r)
	if err != nil {
		return decision{}, false
	}
	missing, g, err := s.backfill(digest, backfill, s.rulesOf(r, digest, now), now)
	if err != nil {
		return decision{}, false // its own jobs had no such fault, so this is a program that changed: they go on without
	}
	admitted := events.BackfillAdmitted{RequestID: r.ID, Parent: parent.Artifact.Tag, Jobs: len(missing)}
	if g != nil {
		g.Number, admitted.Graphs = s.Graphed[r.ID], 1
	}
	facts, err := request.Decide(*r, request.AddBackfill{Jobs: missing, Graph: g})
	if err != nil {
		return decision{}, false
	}
	return decision{
		cause: s.Versions[events.RequestSubject(parent.ID)], request: r.ID, what: "backfill late parent", facts: append([]events.Fact{admitted}, facts...),
	}, true
}

// owesBackfill reports whether the parent of a request in progress has appeared and its missing jobs were not made yet.
func owesBackfill(s *state, r *request.Request, now time.Time) bool {
	parent, known := s.ParentOf(r)
	if !known || s.Backfilled[r.ID] {
		return false
	}
	_, owes := decideLateBackfill(s, r, parent, now)
	return owes
}

// decideAgain makes new rounds of jobs that a request in progress had shared with another request and that were
// cancelled with it, unless a third request has made them. The person who cancelled need not have known of the sharing.
func decideAgain(s *state, r *request.Request) (decision, bool) {
	if !s.Torn[r.ID] {
		return decision{}, false
	}
	var jobs []events.JobSpec
	for _, j := range s.NewestRounds(r) {
		if g, _, ok := s.graphOfNext(r, j.Spec().Again()); ok && g.Cancelled {
			continue // its deadline has passed
		}
		if j.State == events.JobCancelled {
			jobs = append(jobs, s.nextRound(j, r))
		}
	}
	if len(jobs) == 0 {
		return decision{}, false
	}
	return s.grant(r, events.GraphRepair, fmt.Sprint("again-", len(r.Jobs)), "make cancelled jobs again", jobs), true
}

// nextRound returns the round after a job's newest one, for a request.
func (s *state) nextRound(j *ledger.Job, r *request.Request) events.JobSpec {
	spec := s.NewestRound(j.Spec()).Again()
	// Whichever request made the last round: a job for another artifact than the request's own measures its parent.
	spec.RequestID, spec.Backfill = r.ID, j.Spec().Artifact.Tag != r.Artifact.Tag
	return spec
}

// grant returns the decision that makes more jobs for a request after its start: in the open graph that has them, or in
// a new one if they need others.
func (s *state) grant(r *request.Request, kind events.GraphKind, key, what string, jobs []events.JobSpec) decision {
	admitted := events.GraphAdmitted{RequestID: r.ID, Key: key, Kind: kind, Jobs: len(jobs)}
	command := request.Grant{Key: key}
	command.Jobs, command.Again = s.runAgain(r, jobs)
	if g := s.repairGraph(r, command.Jobs); g != nil {
		command.Graph, admitted.Graphs = g, 1
	}
	facts, _ := request.Decide(*r, command)
	return decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: what, facts: append([]events.Fact{admitted}, facts...)}
}

// decideWish answers the oldest wish of a request: with the next rounds of the jobs that it names or with clones of them,
// or with a reason why not.
func decideWish(s *state, r *request.Request, p Policy) decision {
	wish := r.Wishes[0]
	refuse := func(why string) []events.Fact {
		facts, _ := request.Decide(*r, request.Refuse{Key: wish.Key, Reason: why})
		return facts
	}
	switch {
	case wish.Kind == events.GraphExternal:
		return decideExternal(s, r, wish, p)
	case wish.Kind.Sampled():
		return decideSamples(s, r, wish, p)
	case wish.Kind == events.GraphForce:
		return decideForce(s, r, wish)
	case wish.Kind == events.GraphAdded:
		return decideAdded(s, r, wish)
	}
	jobs, why := s.repairs(r, wish)
	if why == "" {
		d := s.grant(r, wish.Kind, wish.Key, string(wish.Kind)+" jobs", jobs)
		d.otherwise = refuse("these are too many jobs to be recorded at once: name fewer of them")
		return d
	}
	return decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "refuse " + string(wish.Kind), facts: refuse(why)}
}

// repairs returns the next rounds of the selected jobs of a request, or why there are none. If none is named, it takes
// of the jobs that did not succeed those that the wish selects. A forced wish also takes those that did.
func (s *state) repairs(r *request.Request, wish events.GraphWanted) (jobs []events.JobSpec, why string) {
	if s.ending(r) {
		return nil, fmt.Sprintf("the deadline of request %s has passed, and its jobs end now: use `tacho request repair %s` after that", r.ID, r.ID)
	}
	selected := wish.Select
	selector, _ := graph.ParseSelector(wish.Where) // it was checked when it was asked for
	known := map[events.JobID]*ledger.Job{}        // the newest round, by the id of any round
	var failed []events.JobID
	running, undone := 0, 0
	for _, j := range s.NewestRounds(r) {
		newest := s.Find(s.NewestRound(j.Spec()))
		for _, id := range append(newest.Spec().Earlier(), newest.ID) {
			known[id] = newest
		}
		switch {
		case s.undone(r, newest) || wish.Force && newest.State == events.JobSuccess:
			if selector.Selects(graph.LabelOf(newest.Spec()), s.stateFor(r, newest)) {
				failed = append(failed, newest.ID)
			}
			undone++
		case !newest.State.Terminal():
			running++
		}
	}
	if len(known) == 0 {
		return nil, unknownJobs
	}
	if wish.Kind == events.GraphRerun && r.State != events.StateInProgress {
		return nil, s.tooLate(r, wish, known)
	}
	if len(selected) == 0 {
		selected = failed
	}
	switch {
	case len(selected) > 0:
	case undone > 0:
		return nil, fmt.Sprintf("%s did not succeed, but %s %s: `tacho request show %s` lists the jobs",
			phrase.Count(undone, "job"), phrase.Verb(undone, "it does not have", "none of them has"), strings.Join(wish.Where, " "), r.ID)
	case running > 0:
		return nil, fmt.Sprintf("no job of the request has failed or was cancelled, and %s still to end: ask again then (`tacho request show %s`)", phrase.Are(running, "job"), r.ID)
	default:
		return nil, fmt.Sprintf("every job of the request succeeded: what they measured stands; `tacho graph retrigger %s` measures them once more", r.ID)
	}
	taken := map[events.JobID]events.JobID{} // how the jobs were named
	for _, id := range selected {
		j, ok := known[id]
		switch {
		case !ok:
			return nil, notOf(r, id)
		case taken[j.Spec().First()] != "":
			continue
		case !s.undone(r, j) && (!wish.Force || j.State != events.JobSuccess):
			return nil, s.whyNot(r, id, j)
		}
		taken[j.Spec().First()] = id
		jobs = append(jobs, s.nextRound(j, r))
	}
	jobs = s.withAncestors(r, jobs)
	if why := graph.Changed(wish, jobs); why != "" {
		return nil, why
	}
	for _, spec := range jobs {
		if spec.Round >= roundsInAll {
			last := spec.Earlier()[spec.Round-1]
			return nil, fmt.Sprintf("job %s had %d rounds: no more are made; `tacho graph retrigger %s --job %s` measures it from the beginning",
				cmp.Or(taken[spec.First()], last), roundsInAll, r.ID, last)
		}
	}
	return jobs, ""
}
