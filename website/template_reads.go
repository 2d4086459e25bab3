package website

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

// answerBytes is about how large an answer about templates becomes at most. One entry may be larger.
const answerBytes = 1 << 20

// templates answers with what suites leave requests to choose.
func (s *Server) templates(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	name, branch, _ := strings.Cut(p.text("after"), "@")
	most := cmp.Or(p.limit(), 100)
	if p.err != nil {
		return nil, p.err
	}
	out := client.Templates{Templates: []client.BranchTemplates{}}
	size := 0
	for {
		lines, err := s.Reader.LinesInForce(r.Context(), events.SuiteName(name), branch, maxLimit)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			some, err := s.offers(r.Context(), line.Digest)
			if err != nil {
				return nil, err
			}
			if !some {
				continue
			}
			if len(out.Templates) == most || size > answerBytes/2 {
				last := out.Templates[len(out.Templates)-1]
				out.Next = string(last.Suite) + "@" + last.Branch
				return out, nil
			}
			one, err := s.templatesOf(r, line)
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(one)
			if err != nil {
				return nil, err
			}
			size += len(text)
			out.Templates = append(out.Templates, one)
		}
		if len(lines) < maxLimit {
			return out, nil
		}
		last := lines[len(lines)-1]
		name, branch = string(last.Suite), last.Branch
	}
}

// templatesOf returns what a suite leaves the requests for a branch to choose.
func (s *Server) templatesOf(r *http.Request, line readmodel.DefinitionLine) (client.BranchTemplates, error) {
	out := client.BranchTemplates{
		Suite: line.Suite, Branch: line.Branch, Digest: line.Digest, Graphs: []client.OfferedGraph{}, Options: []client.OfferedOption{}, Sizes: []suite.Size{},
	}
	d, err := s.definitionsOf(r.Context(), line.Digest)
	if err != nil {
		return out, err
	}
	out.Branches = append([]suite.Branch{}, d.Branches...)
	for _, g := range d.Graphs {
		out.Graphs = append(out.Graphs, client.OfferedGraph{
			Name: g.Name, Kinds: append([]events.JobKind{}, g.Kinds...), OnFailure: cmp.Or(g.OnFailure, suite.KeepGoing), Deadline: g.Deadline,
		})
	}
	for _, o := range d.Options {
		out.Options = append(out.Options, client.OfferedOption{Name: o.Name, Values: append([]string{}, o.Values...), Who: cmp.Or(o.Who, suite.WhoRequest)})
	}
	sizes, err := s.sizesOf(d, line.Digest)
	if err != nil {
		e, _ := explain(err)
		out.Problem = e.Message
		return out, nil
	}
	out.Sizes = append(out.Sizes, sizes...)
	return out, nil
}

// planLimit is how many jobs of a plan are answered by default.
const planLimit = 500

// graphPlan answers with the jobs that a request would make.
func (s *Server) graphPlan(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	offset, limit := p.small("offset"), cmp.Or(p.limit(), planLimit)
	if p.err != nil {
		return nil, p.err
	}
	name := events.SuiteName(p.text("suite"))
	if name == "" {
		only, err := s.onlySuite(r.Context())
		if err != nil {
			return nil, err
		}
		name = only
	}
	c, err := choiceIn(p.values, events.Master)
	if err != nil {
		return nil, err
	}
	all, err := s.suiteNamed(r.Context(), name)
	if err != nil {
		return nil, err
	}
	o, err := s.offerFor(r.Context(), all, c.Branch)
	if err != nil {
		return nil, err
	}
	made, err := s.planFor(o, c, events.Parameters{})
	if err != nil {
		return nil, err
	}
	out := client.Plan{
		Suite: name, Digest: o.Digest, Request: c.Kind, Jobs: len(made.jobs), Needs: len(made.needs), SwitchedOff: len(made.off),
		JobList: []suite.PlannedJob{}, OffList: []suite.PlannedOff{},
	}
	if o.Definitions.HasChoices() {
		t := made.template.Planned(c.Branch)
		out.Template = &t
	}
	made.page(&out, offset, limit)
	return out, nil
}

// page adds the jobs from an offset on to an answer, as many as it has room for.
func (p *plan) page(out *client.Plan, offset, limit int) {
	size := 0
	at, end := offset, min(offset+limit, len(p.jobs)+len(p.off))
	for ; at < end && size < answerBytes/2; at++ {
		if at < len(p.jobs) {
			j := p.jobs[at]
			size += 256 + len(j.Name) + 32*len(j.Needs)
			out.JobList = append(out.JobList, j)
			continue
		}
		o := p.off[at-len(p.jobs)]
		size += 256 + len(o.Name) + len(o.Reason)
		out.OffList = append(out.OffList, o)
	}
	if at < len(p.jobs)+len(p.off) {
		out.Next = at
	}
}

// differencesShown is how many differences are answered at most, longestValue how many bytes of a value.
const (
	differencesShown = 200
	longestValue     = 1000
	// longestReference bounds what names one side: a suite, a branch, a graph, and all its options.
	longestReference = 16 << 10
	// mostCompared is how many names of benchmarks all jobs of two plans may have: each difference of them is a text.
	mostCompared = 1_000_000
)

// graphDiff answers how the jobs differ that two choices make.
func (s *Server) graphDiff(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	offset, limit := p.small("offset"), cmp.Or(p.small("limit"), differencesShown)
	if limit > differencesShown {
		p.fail("parameter limit is %d and must be at most %d: ask for further pages", limit, differencesShown)
	}
	for _, name := range []string{"a", "b"} {
		if p.text(name) == "" {
			p.fail("parameter %s is missing: write a=SUITE@BRANCH:GRAPH,NAME=VALUE and b=…", name)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	both, err := choiceIn(p.values, events.Master)
	if err != nil {
		return nil, err
	}
	from, a, err := s.side(r, p.text("a"), both)
	if err != nil {
		return nil, err
	}
	to, b, err := s.side(r, p.text("b"), both)
	if err != nil {
		return nil, err
	}
	if benchmarks(a)+benchmarks(b) > mostCompared {
		return nil, wrong(http.StatusUnprocessableEntity, "compare the files with `tacho graph diff`", "the jobs name too many benchmarks to compare them here")
	}
	list := suite.DiffJobs(*from, a, *to, b)
	list = list[min(offset, len(list)):]
	list = slices.Clone(list[:min(limit, len(list))])
	for i := range list {
		list[i].From, list[i].To = cut(list[i].From, longestValue), cut(list[i].To, longestValue)
	}
	if list == nil {
		list = []suite.Difference{}
	}
	return list, nil
}

func benchmarks(x suite.Expansion) int {
	n := 0
	for _, j := range x.Own {
		n += len(j.Benchmarks) + len(j.Measures)
	}
	return n
}

// side expands one of two things to compare.
func (s *Server) side(r *http.Request, reference string, both chosen) (*suite.Definitions, suite.Expansion, error) {
	var none suite.Expansion
	if len(reference) > longestReference {
		return nil, none, wrong(http.StatusBadRequest, "set fewer options", "one side of the comparison has more than %d bytes", longestReference)
	}
	name, choice, err := suite.ParseReference(reference, func(name string) bool {
		return isDigest(name) || len(name) < 65 && events.CheckToken("suite", name) == nil // a long text would be checked again and again
	})
	if err == nil && len(choice.Options) > mostChosen {
		err = wrong(http.StatusBadRequest, "set fewer", "more than %d options are set, and no suite has as many", mostChosen)
	}
	if err != nil {
		return nil, none, wrong(http.StatusBadRequest, "", "%s", clipped(err.Error()))
	}
	for option, value := range both.Options {
		if _, own := choice.Options[option]; !own {
			choice.Options[option] = value
		}
	}
	var o offer
	if isDigest(name) {
		o.Digest = events.Digest(name)
		o.Definitions, err = s.definitionsOf(r.Context(), o.Digest)
	} else {
		var all offering
		all, err = s.suiteNamed(r.Context(), events.SuiteName(name))
		if err == nil {
			o, err = s.offerFor(r.Context(), all, choice.Branch)
		}
	}
	if err != nil {
		return nil, none, err
	}
	t, err := o.Definitions.Template(both.Kind, choice)
	if err != nil {
		return nil, none, wrong(http.StatusBadRequest, "", "%s: %s", excerpt(reference), clipped(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	x, err := o.Definitions.BoundedExpansion(t, suite.Request{
		Artifact: events.Artifact{Suite: o.Definitions.Name, Tag: "plan", Kind: both.Kind}, Definitions: "any", Nameless: true,
	})
	if err != nil {
		return nil, none, wrong(http.StatusUnprocessableEntity, "choose something else", "%s", clipped(err.Error()))
	}
	return o.Definitions, x, nil
}

// isDigest reports whether a text has the form of a digest.
func isDigest(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}
