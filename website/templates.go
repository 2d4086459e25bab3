package website

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

// templatesView is the list of the suites that leave something to choose.
type templatesView struct{ Suites []suiteView }

// suiteView is a suite in the list.
type suiteView struct {
	Name        events.SuiteName
	Link        string
	Description string
	Graphs      []graphTab
	Options     []suite.Option
	// Branches are those for which it has rules or definitions of their own, MoreBranches counts those that are left out.
	Branches     []string
	MoreBranches int
}

// suitesShown is how many suites the list has, branchesShown how many branches of each; the API has all.
const suitesShown, branchesShown = 200, 20

func (s *Server) templatesPage(r *http.Request) (view, error) {
	lines, err := s.Reader.LinesInForce(r.Context(), "", "", maxLimit)
	if err != nil {
		return view{}, err
	}
	var v templatesView
	var before events.SuiteName
	for _, line := range lines {
		if line.Suite == before || len(v.Suites) == suitesShown {
			continue
		}
		some, err := s.offers(r.Context(), line.Digest)
		if err != nil {
			return view{}, err
		}
		if !some {
			continue
		}
		before = line.Suite
		o, err := s.offeringOf(r.Context(), line.Suite)
		if err != nil {
			return view{}, err
		}
		d, err := s.definitionsOf(r.Context(), line.Digest)
		if err != nil {
			return view{}, err
		}
		one := suiteView{Name: line.Suite, Link: templatePath(line.Suite, ""), Description: d.Description, Options: d.Options}
		branches := slices.Concat(o.Patterns(), o.Own)
		one.Branches = branches[:min(len(branches), branchesShown)]
		one.MoreBranches = len(branches) - len(one.Branches)
		for _, g := range d.Graphs {
			one.Graphs = append(one.Graphs, graphTab{Name: g.Name, Link: templatePath(line.Suite, g.Name)})
		}
		v.Suites = append(v.Suites, one)
	}
	if len(v.Suites) == 0 {
		return view{}, wrong(http.StatusNotFound, "", "no suite leaves anything to choose: each request makes all the jobs that its parameters name")
	}
	return view{template: "templates", title: "Templates", data: v}, nil
}

// templatePath returns the address of the page of a graph; an empty graph is the usual one.
func templatePath(name events.SuiteName, graph string) string {
	path := "/templates/" + url.PathEscape(string(name))
	if graph != "" {
		path += "/" + url.PathEscape(graph)
	}
	return path
}

// templateView is what a suite leaves a request to choose, and what comes of a choice.
type templateView struct {
	offering
	chosen
	// Action is the address of the form that chooses, Ask that of the form that asks for a request.
	Action, Ask string
	// Problem says what is wrong with the choice; nil if nothing is. Refused says why no request was made of it.
	Problem, Refused *client.Error
	Graphs           []graphTab
	Options          []optionView
	Kinds            []choiceView
	Branches         []choiceView
	// Typed is a branch that is none of those to choose.
	Typed string
	Plan  *planView
	// Session is who looks at the page; nil if that is unknown. Login is where they can log in; empty if they cannot.
	Session *session
	Login   string
	// Fields are what a request needs beside the choice, as it was typed.
	Fields []fieldView
	// Command makes the same request.
	Command string
}

// graphTab is a graph that may be chosen.
type graphTab struct {
	Name, Link    string
	Chosen, Usual bool
}

// choiceView is an entry of a select box.
type choiceView struct {
	Value, Label string
	Chosen       bool
}

// optionView is an option. Locked says why a request cannot set it; empty if it can.
type optionView struct {
	Field, Name string
	// Usual is the value if the request does not set it.
	Usual  string
	Values []choiceView
	Locked string
}

// planView is a plan as its page shows it.
type planView struct {
	*picture
	Jobs, Needs int
	Facts       []factView
	offView
	// Expect names the plan: a request is made of what was seen.
	Expect string
	// JSON is the address of the whole plan.
	JSON string
	// For says which requests it is of.
	For string
	// Name says that the request must name a branch, which matches the pattern.
	Name string
}

// factView is something that is said of a plan.
type factView struct{ Name, Words string }

func (s *Server) templatePage(r *http.Request) (view, error) {
	p := query(r, []parameter{{name: "kind"}, {name: "branch"}, {name: "name"}, {name: optionPrefix + "NAME", prefix: optionPrefix}})
	if p.err != nil {
		return view{}, p.err
	}
	p.values.Set("graph", r.PathValue("graph"))
	return s.templateOf(r, p.values, nil)
}

// templateOf returns the page of a choice, which may be wrong. refused says why no request was made of it.
func (s *Server) templateOf(r *http.Request, values url.Values, refused *client.Error) (view, error) {
	v := templateView{Refused: refused}
	var err error
	v.offering, err = s.offeringOf(r.Context(), events.SuiteName(r.PathValue("suite")))
	if err != nil {
		return view{}, err
	}
	var wrongChoice, wrongBranch, wrongPlan error
	v.chosen, wrongChoice = choiceIn(values, events.Try)
	if v.Branch == "" && v.usual == nil { // then some branches have definitions of their own
		v.Branch = v.Own[0]
	}
	o, wrongBranch := s.offerFor(r.Context(), v.offering, v.Branch)
	if wrongBranch != nil {
		o, err = s.offerFor(r.Context(), v.offering, "")
		if err != nil && len(v.Own) > 0 {
			o, err = s.offerFor(r.Context(), v.offering, v.Own[0])
		}
		if err != nil {
			return view{}, err
		}
	}
	var made *plan
	if wrongChoice == nil && wrongBranch == nil {
		made, wrongPlan = s.planFor(o, v.chosen, events.Parameters{})
	}
	page := view{template: "template", title: strings.TrimSpace("Templates of " + string(v.Suite) + " " + excerpt(v.Graph))}
	for _, problem := range []error{wrongChoice, wrongBranch, wrongPlan} {
		if problem == nil {
			continue
		}
		e, said := explain(problem)
		if !said {
			return view{}, problem
		}
		v.Problem, page.status = e, e.Status
		break
	}
	if refused != nil {
		page.status = refused.Status
	}
	v.fill(o)
	if made != nil {
		v.Plan = newPlanView(v.offering, o, v.chosen, made)
	}
	v.Action, v.Ask = templatePath(v.Suite, v.Graph), templatePath(v.Suite, "")+"#ask"
	v.Fields = fieldsOf(v.Kind, values)
	v.Command = v.command(o)
	if v.Session, _ = sessionOf(r.Context()); v.Session == nil && s.commandable() == nil {
		v.Login = loginFrom(v.Action)
	}
	page.data = v
	return page, nil
}

// fill adds what there is to choose.
func (v *templateView) fill(o offer) {
	for _, kind := range requestKinds() {
		v.Kinds = append(v.Kinds, choiceView{Value: string(kind), Label: string(kind), Chosen: kind == v.Kind})
	}
	v.Typed = v.Branch
	if v.usual != nil {
		v.Branches = append(v.Branches, choiceView{Label: "none", Chosen: v.Branch == ""})
	}
	for _, name := range append(v.Patterns(), v.Own...) {
		known := choiceView{Value: name, Label: name, Chosen: v.Branch == name}
		if strings.ContainsAny(name, "*?") {
			known.Label += " (a pattern)"
		}
		if known.Chosen {
			v.Typed = ""
		}
		if !slices.ContainsFunc(v.Branches, func(c choiceView) bool { return c.Value == name }) {
			v.Branches = append(v.Branches, known)
		}
	}
	usual, err := o.Definitions.Template(v.Kind, suite.Choice{Branch: o.Branch})
	if err != nil {
		return // such definitions were not checked: there is nothing to choose, and the plan says what is wrong
	}
	for _, option := range o.Definitions.Options {
		one := newOptionView(option, usual, v.chosen)
		if one.Locked != "" && v.chosen.Options[option.Name] == one.Usual {
			delete(v.chosen.Options, option.Name) // it has the value anyway
		}
		v.Options = append(v.Options, one)
	}
	query := "?" + v.query().Encode()
	for _, g := range o.Definitions.Graphs {
		v.Graphs = append(v.Graphs, graphTab{
			Name: g.Name, Link: templatePath(v.Suite, g.Name) + query, Usual: g.Name == usual.Graph, Chosen: g.Name == cmp.Or(v.Graph, usual.Graph),
		})
	}
}

func newOptionView(o suite.Option, usual suite.Template, c chosen) optionView {
	v := optionView{Field: optionPrefix + o.Name, Name: o.Name, Usual: usual.Options[o.Name]}
	switch {
	case o.Who == suite.WhoBranch:
		v.Locked = "only branches set it"
	case usual.Customise == suite.CustomiseNone && usual.Branch != "":
		v.Locked = fmt.Sprintf("requests for %s set no options", usual.Branch)
	case usual.Customise == suite.CustomiseNone:
		v.Locked = fmt.Sprintf("%s requests set no options", c.Kind)
	}
	if v.Locked != "" {
		return v
	}
	for _, value := range o.Values {
		v.Values = append(v.Values, choiceView{Value: value, Label: value, Chosen: value == c.Options[o.Name]})
	}
	return v
}

func newPlanView(all offering, o offer, c chosen, made *plan) *planView {
	t := made.template
	v := &planView{picture: made.picture(), Jobs: len(made.jobs), Needs: len(made.needs), offView: newOffView(made.off, ""), Expect: made.key}
	q := c.query()
	q.Set("suite", string(all.Suite))
	if c.Graph != "" {
		q.Set("graph", c.Graph)
	}
	v.JSON = apiPrefix + "graphs/plan?" + q.Encode()
	v.For = fmt.Sprintf("A %s request", c.Kind)
	if t.Graph != "" {
		v.For += " with graph " + t.Graph
	}
	switch {
	case o.Pattern:
		v.For += " for a branch like " + o.Branch
		v.Name = o.Branch
	case o.Branch != "":
		v.For += " for branch " + o.Branch
	}
	if t.Branch != "" && t.Branch != o.Branch {
		v.fact("Rules of", t.Branch)
	}
	if t.OnFailure == suite.FailFast {
		v.fact("Failure of a required job", "skips what is not dispatched")
	}
	if t.Deadline > 0 {
		late := "an alert comes"
		if c.Kind == events.Try {
			late = "it ends"
		}
		v.fact("Deadline", phrase.Duration(t.Deadline)+", then "+late)
	}
	if p := t.Usual(); p != "" {
		v.fact("Usual priority", string(p))
	}
	if t.MaxPriority != "" {
		v.fact("Highest priority", string(t.MaxPriority))
	}
	return v
}

func (v *planView) fact(name, words string) { v.Facts = append(v.Facts, factView{name, words}) }

// command returns the command that makes the request.
func (v *templateView) command(o offer) string {
	words := []string{"tacho", "request", string(v.Kind), "TAG", "--suite", string(v.Suite)}
	switch {
	case o.Pattern:
		words = append(words, "--branch", "BRANCH")
	case v.Branch != "":
		words = append(words, "--branch", v.Branch)
	}
	if v.Graph != "" {
		words = append(words, "--graph", v.Graph)
	}
	for _, option := range o.Definitions.Options {
		if value := v.chosen.Options[option.Name]; value != "" {
			words = append(words, "--option", option.Name+"="+value)
		}
	}
	return commandLine(words...)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// commandLine returns words as a shell reads them.
func commandLine(words ...string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word
		if !plainWord.MatchString(word) {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
