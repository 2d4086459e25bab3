package website

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/suite"
)

// offering is what a suite offers, branch by branch.
type offering struct {
	Suite events.SuiteName
	// Own are the branches that have definitions of their own.
	Own   []string
	lines suite.Lines
	// usual are the definitions of all other branches; nil if there are none.
	usual *suite.Definitions
}

// Patterns returns the patterns of branches for which there are rules.
func (o offering) Patterns() []string {
	var out []string
	if o.usual != nil {
		for _, b := range o.usual.Branches {
			out = append(out, b.Match)
		}
	}
	return out
}

// Varies reports whether the suite has something of its own for branches.
func (o offering) Varies() bool { return len(o.Own) > 0 || o.usual != nil && len(o.usual.Branches) > 0 }

// offer is what a suite offers to requests for one branch.
type offer struct {
	// Branch is the one that was asked for; empty for none. Pattern says that it is the pattern of a [[branch]], which stands
	// for all names that it describes.
	Branch  string
	Pattern bool
	// Digest names the definitions that it uses.
	Digest      events.Digest
	Definitions *suite.Definitions
}

// chosen is what a caller chooses in a query or a form. Names are as they were typed.
type chosen struct {
	Kind    events.RequestKind
	Branch  string
	Graph   string
	Options map[string]string
}

// The parameters of a choice. Those of options begin with optionPrefix.
const (
	optionPrefix = "option."
	// mostChosen is how many options a suite can have, longestChosen how long a name or a value may be.
	mostChosen    = 64
	longestChosen = 256
)

// choiceIn reads a choice. An option without a value is not chosen.
func choiceIn(values url.Values, usual events.RequestKind) (chosen, error) {
	c := chosen{Kind: usual, Branch: values.Get("branch"), Graph: values.Get("graph"), Options: map[string]string{}}
	if name := values.Get("name"); name != "" {
		c.Branch = name
	}
	if len(c.Branch) > longestChosen || len(c.Graph) > longestChosen {
		c.Branch, c.Graph = cut(c.Branch, longestChosen), cut(c.Graph, longestChosen)
		return c, wrong(http.StatusBadRequest, "use a shorter one", "the name of a branch or graph has more than %d bytes", longestChosen)
	}
	for name, all := range values {
		option, is := strings.CutPrefix(name, optionPrefix)
		switch {
		case !is || all[0] == "":
		case len(option) > longestChosen || len(all[0]) > longestChosen:
			return c, wrong(http.StatusBadRequest, "use shorter ones", "a name or a value of an option has more than %d bytes", longestChosen)
		case len(c.Options) >= mostChosen:
			return c, wrong(http.StatusBadRequest, "set fewer", "more than %d options are set, and no suite has as many", mostChosen)
		default:
			c.Options[option] = all[0]
		}
	}
	if kind := values.Get("kind"); kind != "" {
		c.Kind = events.RequestKind(kind)
		if !slices.Contains(requestKinds(), c.Kind) {
			c.Kind = usual
			return c, wrong(http.StatusBadRequest, "use "+choices(requestKinds()), "unknown kind of request %q", excerpt(kind))
		}
	}
	return c, nil
}

// query returns the choice as a query of a URL.
func (c chosen) query() url.Values {
	q := url.Values{"kind": {string(c.Kind)}}
	if c.Branch != "" {
		q.Set("branch", c.Branch)
	}
	for name, value := range c.Options {
		q.Set(optionPrefix+name, value)
	}
	return q
}

// offeringOf returns what a suite offers. It refuses a suite that leaves nothing to choose.
func (s *Server) offeringOf(ctx context.Context, name events.SuiteName) (offering, error) {
	o, err := s.suiteNamed(ctx, name)
	if err != nil {
		return o, err
	}
	for _, line := range o.lines {
		some, err := s.offers(ctx, line.Digest)
		if some || err != nil {
			return o, err
		}
	}
	return o, wrong(http.StatusNotFound, "`tacho suite show --json` prints what it measures",
		"suite %s leaves nothing to choose: each request makes all the jobs that its parameters name", name)
}

// suiteNamed returns what a suite offers, if anything.
func (s *Server) suiteNamed(ctx context.Context, name events.SuiteName) (offering, error) {
	o := offering{Suite: name, lines: suite.Lines{}}
	if events.CheckToken("suite", string(name)) != nil {
		return o, s.noSuite(ctx, name)
	}
	rows, err := s.Reader.Branches(ctx, name)
	for _, row := range rows {
		if row.Digest != "" {
			o.lines[row.Branch] = suite.Line{Digest: row.Digest}
		}
	}
	switch {
	case errors.Is(err, readmodel.ErrNotFound), err == nil && len(o.lines) == 0:
		return o, s.noSuite(ctx, name)
	case err != nil:
		return o, err
	}
	o.Own = o.lines.Branches()
	if usual := o.lines[""].Digest; usual != "" {
		o.usual, err = s.definitionsOf(ctx, usual)
	}
	return o, err
}

// offerFor returns what a suite offers to a branch, or to the requests that name none.
func (s *Server) offerFor(ctx context.Context, o offering, branch string) (offer, error) {
	out := offer{Branch: branch, Digest: o.lines.InForce(branch), Definitions: o.usual}
	_, own := o.lines[branch]
	out.Pattern = !own && slices.Contains(o.Patterns(), branch) && events.CheckBranch(branch) != nil
	switch {
	case branch == "" && o.usual == nil:
		return out, wrong(http.StatusNotFound, "name one of these branches", "suite %s has definitions for %s alone", o.Suite, clipped(strings.Join(o.Own, ", ")))
	case branch == "" || out.Pattern:
		return out, nil
	case !o.Varies():
		return out, wrong(http.StatusBadRequest, "leave the branch out", "suite %s has nothing of its own for branches", o.Suite)
	}
	wrongName := events.CheckBranch(branch)
	if wrongName != nil {
		return out, wrong(http.StatusBadRequest, "", "%s; there are rules for %s", clipped(wrongName.Error()), clipped(strings.Join(append(o.Patterns(), o.Own...), ", ")))
	}
	if out.Digest == "" {
		return out, wrong(http.StatusNotFound, "name one of these branches", "suite %s has definitions for %s alone", o.Suite, clipped(strings.Join(o.Own, ", ")))
	}
	var err error
	if own {
		out.Definitions, err = s.definitionsOf(ctx, out.Digest)
	}
	return out, err
}

// planFor returns the plan of a choice. The error says what is wrong with it and what there is.
func (s *Server) planFor(o offer, c chosen, asked events.Parameters) (*plan, error) {
	t, err := o.Definitions.Template(c.Kind, suite.Choice{Branch: o.Branch, Graph: c.Graph, Options: c.Options})
	if err != nil {
		status := http.StatusBadRequest
		if c.Graph != "" && !slices.ContainsFunc(o.Definitions.Graphs, func(g suite.Graph) bool { return g.Name == c.Graph }) {
			status = http.StatusNotFound
		}
		return nil, wrong(status, "", "%s", clipped(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	return s.planOf(o.Definitions, o.Digest, c.Kind, t, asked)
}

// noSuite returns the error for a suite that does not exist.
func (s *Server) noSuite(ctx context.Context, name events.SuiteName) error {
	suites, err := s.tables().Suites(ctx, "")
	next := "publish definitions with `tacho suite publish`"
	if err == nil {
		next = "use " + clipped(listed(suites))
	}
	return wrong(http.StatusNotFound, next, "there is no suite %q", excerpt(string(name)))
}
