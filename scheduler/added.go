package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// labelsNamed bounds the labels that a refusal names.
const labelsNamed = 10

// addition is what a wish for jobs that were switched off adds to a request.
type addition struct {
	// made are to be made, also for the parent. shared are jobs of other requests.
	made, shared []events.JobSpec
	graph        *request.Graph
}

// jobs returns all jobs that the request gets.
func (a addition) jobs() []events.JobSpec { return slices.Concat(a.made, a.shared) }

// decideAdded answers a wish for jobs that were switched off: with a graph of them, or with a reason why there is none.
func decideAdded(s *state, r *request.Request, wish events.GraphWanted) decision {
	d := decision{cause: s.Versions[events.RequestSubject(r.ID)], request: r.ID, what: "add jobs"}
	a, why := s.add(r, wish)
	d.otherwise, _ = request.Decide(*r, request.Refuse{Key: wish.Key, Reason: "these are too many jobs to be recorded at once: name fewer of them"})
	if why != "" {
		d.what = "refuse to add jobs"
		d.facts, _ = request.Decide(*r, request.Refuse{Key: wish.Key, Reason: why})
		return d
	}
	facts, _ := request.Decide(*r, request.Grant{Key: wish.Key, Jobs: a.made, Graph: a.graph})
	d.facts = append([]events.Fact{events.GraphAdmitted{RequestID: r.ID, Key: wish.Key, Kind: wish.Kind, Jobs: len(a.made), Graphs: 1}}, facts...)
	return d
}

// add returns what a wish adds to a request, or why it adds nothing. It decides by the ledger's own clock, so that a preview
// does, too.
func (s *state) add(r *request.Request, wish events.GraphWanted) (a addition, why string) {
	if s.ending(r) {
		return a, fmt.Sprintf("the deadline of request %s has passed, and its jobs end now: ask again after that", r.ID)
	}
	x, digest, err := s.Expansion(r)
	if err != nil {
		return a, unknownJobs
	}
	if s.Definitions[digest].ForbidsMore(x.Template) {
		return a, fmt.Sprintf("the branch forbids it: [[branch]] %s in the suite file has customise = %q; another graph or other options of a new request may have these jobs",
			x.Template.Branch, suite.CustomiseNone)
	}
	others := s.measuring(r, r.Artifact.Tag)
	chosen, rest, why := s.chooseOff(r, wish, x, others)
	if why != "" {
		return a, why
	}
	if lack := s.lacks(r, chosen, others, rest); len(lack) > 0 {
		return a, lack[0].why(r)
	}
	for _, spec := range chosen {
		if newest, lacks := s.Lacks(spec, s.Newest); lacks {
			a.made = append(a.made, newest)
		} else {
			a.shared = append(a.shared, newest)
		}
	}
	parents, known := s.addForParent(r, chosen, x)
	a.made = append(append([]events.JobSpec{}, parents...), a.made...) // never nil: it is in the log
	if a.graph, err = s.graphOf(digest, events.GraphAdded, a.made, a.shared, append(others, known...), graphRules{}); err != nil {
		return a, err.Error()
	}
	a.graph.Number = s.Graphed[r.ID]
	for i := range a.shared {
		a.graph.Shared[i].Added = true
	}
	return a, graph.Changed(wish, a.jobs())
}

// ending reports whether the jobs of a request in progress end, because its deadline has passed.
func (s *state) ending(r *request.Request) bool {
	return r.State == events.StateInProgress && slices.ContainsFunc(r.Graphs, func(g request.OpenGraph) bool { return g.Expired })
}

// chooseOff returns which of the jobs that are switched off a wish names, and the others that the request does not have.
// others are the jobs of the request.
func (s *state) chooseOff(r *request.Request, wish events.GraphWanted, x suite.Expansion, others []events.JobSpec) (chosen, rest []events.JobSpec, why string) {
	if len(x.Off) == 0 {
		return nil, nil, fmt.Sprintf("no job of request %s is switched off: `tacho request show %s` lists those that it has", r.ID, r.ID)
	}
	has := map[string]events.JobID{}
	for _, spec := range others {
		has[graph.LabelOf(spec).String()] = spec.ID
	}
	var off []events.JobSpec
	var labels []string
	for _, o := range x.Off {
		label := graph.LabelOf(o.Job).String()
		if has[label] == "" {
			off, labels = append(off, o.Job), append(labels, label)
		}
	}
	for _, label := range wish.Labels {
		switch {
		case has[label] != "":
			return nil, nil, fmt.Sprintf("%s is a job of the request already: `tacho job show %s`", label, has[label])
		case !slices.Contains(labels, label):
			return nil, nil, fmt.Sprintf("no job %s is switched off: use %s", label, some(labels))
		}
	}
	if len(off) == 0 {
		return nil, nil, fmt.Sprintf("every job that was switched off was added before: `tacho graph list %s` lists the graphs that have them", r.ID)
	}
	selector, _ := graph.ParseSelector(wish.Where) // it was checked when it was asked for
	for i, spec := range off {
		if (len(wish.Labels) > 0 && !slices.Contains(wish.Labels, labels[i])) || !selector.Selects(graph.LabelOf(spec), "") {
			rest = append(rest, spec)
			continue
		}
		if k, _ := s.Definitions[r.Definitions].Kind(spec.Kind); k.Matched() && !spec.Matched {
			return nil, nil, fmt.Sprintf("no machine can run %s: what its kind requires and what the request requires exclude one another", labels[i])
		}
		chosen = append(chosen, spec)
	}
	if len(chosen) == 0 {
		return nil, nil, fmt.Sprintf("no job that is switched off has %s: use %s", strings.Join(wish.Where, " "), some(labels))
	}
	return chosen, rest, ""
}

// some names labels, but not too many.
func some(labels []string) string {
	switch len(labels) {
	case 0:
		return "none: all that were switched off were added before"
	case 1:
		return labels[0]
	}
	text := "one of " + strings.Join(labels[:min(len(labels), labelsNamed)], ", ")
	if more := len(labels) - labelsNamed; more > 0 {
		text += fmt.Sprintf(" and %s more", phrase.Count(more, "job"))
	}
	return text
}

// lack is a job that cannot be added as things are, because it needs the success of another one. off says that the other one
// is switched off.
type lack struct {
	job   int
	spec  events.JobSpec
	needs events.JobSpec
	off   bool
}

// lacks returns what chosen jobs lack: of a need one job at least must be chosen, or be one of the others, and none of these
// may have ended without success. rest are further jobs that are not made.
func (s *state) lacks(r *request.Request, chosen, others, rest []events.JobSpec) (all []lack) {
	specs := slices.Concat(chosen, others, rest)
	type need struct {
		job int
		on  events.JobKind
	}
	met, order, first := map[need]bool{}, []need(nil), map[need]lack{}
	for _, n := range s.Definitions[r.Definitions].Edges(specs) {
		if n.Job >= len(chosen) || n.Until != events.UntilSuccess {
			continue
		}
		at, on := need{n.Job, specs[n.On].Kind}, specs[n.On]
		switch {
		case n.On >= len(chosen)+len(others):
			if _, known := first[at]; !known {
				first[at], order = lack{n.Job, chosen[n.Job], on, true}, append(order, at)
			}
			continue
		case n.On >= len(chosen) && s.undone(r, s.Find(on)):
			all = append(all, lack{n.Job, chosen[n.Job], on, false})
		}
		met[at] = true
	}
	for _, at := range order {
		if !met[at] {
			all = append(all, first[at])
		}
	}
	slices.SortStableFunc(all, func(a, b lack) int { return cmp.Compare(a.job, b.job) })
	return all
}

// why says in words what a job lacks, and what to do.
func (l lack) why(r *request.Request) string {
	job, on := graph.LabelOf(l.spec), graph.LabelOf(l.needs)
	if l.off {
		return fmt.Sprintf("%s needs %s, which is switched off as well: name that one, too (--job %s)", job, on, on)
	}
	use := fmt.Sprintf("tacho job rerun %s", l.needs.ID)
	if r.State.Terminal() {
		use = fmt.Sprintf("tacho request repair %s --select %s", r.ID, l.needs.ID)
	}
	return fmt.Sprintf("%s needs %s, and job %s did not succeed: run it again first with `%s`", job, on, l.needs.ID, use)
}

// addForParent returns the jobs that the parent lacks of the same labels as the chosen ones, and the jobs of the parent that
// exist. One that needs what the parent does not have is left out, as a backfill does.
func (s *state) addForParent(r *request.Request, chosen []events.JobSpec, x suite.Expansion) (made, known []events.JobSpec) {
	if len(x.OffBackfill) == 0 {
		return nil, nil
	}
	labels := map[graph.Label]bool{}
	for _, spec := range chosen {
		labels[graph.LabelOf(spec)] = true
	}
	var rest []events.JobSpec
	sort := func(spec events.JobSpec, wanted bool) {
		newest, lacks := s.Lacks(spec, s.Newest)
		switch {
		case wanted && lacks:
			made = append(made, newest)
		case s.Made(spec.ID):
			known = append(known, s.NewestRound(spec))
		default:
			rest = append(rest, spec)
		}
	}
	for _, spec := range x.Backfill {
		sort(spec, false)
	}
	for _, off := range x.OffBackfill {
		sort(off.Job, labels[graph.LabelOf(off.Job)])
	}
	for {
		missing := s.lacks(r, made, known, rest)
		if len(missing) == 0 {
			return made, known
		}
		var able []events.JobSpec
		for i, spec := range made {
			if slices.ContainsFunc(missing, func(l lack) bool { return l.job == i }) {
				rest = append(rest, spec)
			} else {
				able = append(able, spec)
			}
		}
		made = able
	}
}
