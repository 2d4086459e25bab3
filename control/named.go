package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// shortestDigest is the least length of the beginning of a digest that names definitions, as it is of ids and tags.
const shortestDigest = 4

// mostNamed is how many definitions that requests named are kept.
const mostNamed = 16

type namedKey struct {
	suite  events.SuiteName
	digest events.Digest
}

// move says which definitions a branch was moved to; an empty digest is a branch that took those of all again.
type move struct {
	branch string
	digest events.Digest
}

// evolve notes what was published, and which branch it moved.
func (p *Published) evolve(f events.Fact) {
	// Only these move a branch.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.DefinitionsPublished:
		p.digests[f.Digest] = true
		if !f.Aside {
			p.moves = append(p.moves, move{f.Branch, f.Digest})
		}
	case events.DefinitionsPromoted:
		p.moves = append(p.moves, move{f.Branch, f.Digest})
	}
}

// Used reports whether a branch has ever used definitions; branch "" stands for all that have none of their own.
func (p *Published) Used(branch string, digest events.Digest) bool {
	var own, all events.Digest
	for _, m := range p.moves {
		if m.branch == "" {
			all = m.digest
		}
		if m.branch == branch {
			own = m.digest
		}
		if own == digest || own == "" && all == digest {
			return true
		}
	}
	return false
}

// digest returns the only published definitions whose digest begins so, or a refusal.
func (p *Published) digest(beginning events.Digest) (events.Digest, error) {
	if p.digests[beginning] {
		return beginning, nil
	}
	var found []string
	for d := range maps.Keys(p.digests) {
		if len(beginning) >= shortestDigest && strings.HasPrefix(string(d), string(beginning)) {
			found = append(found, string(d))
		}
	}
	slices.Sort(found)
	switch {
	case len(found) == 1:
		return events.Digest(found[0]), nil
	case len(found) > 1:
		return "", refuse(Invalid, "several definitions of suite %s begin with %s: %s", p.name, beginning, strings.Join(found[:min(len(found), 5)], ", "))
	case len(beginning) < shortestDigest:
		return "", refuse(Invalid, "name the definitions by the beginning of their digest, at least %d characters: `tacho suite promote %s` lists them", shortestDigest, p.name)
	}
	return "", refuse(NotFound, "suite %s has no definitions %.64s: `tacho suite promote %s` lists what was published", p.name, beginning, p.name)
}

// named returns published definitions, whichever branches use them.
func (c *Control) named(ctx context.Context, p *Published, digest events.Digest) (suite.Definitions, error) {
	if d, ok := p.definitions[digest]; ok {
		return d, nil
	}
	key := namedKey{p.name, digest}
	c.published.mu.Lock()
	d, ok := c.published.named[key]
	c.published.mu.Unlock()
	if ok {
		return d, nil
	}
	history, err := c.Log.Read(ctx, events.SuiteSubject(p.name))
	if err != nil {
		return d, err
	}
	i := slices.IndexFunc(history, func(e events.Recorded) bool {
		f, ok := e.Fact.(events.DefinitionsPublished)
		return ok && f.Digest == digest
	})
	if i < 0 {
		return d, refuse(NotFound, "suite %s has no definitions %s: `tacho suite promote %s` lists what was published", p.name, digest, p.name)
	}
	if d, err = suite.Parse(history[i].Fact.(events.DefinitionsPublished).Content); err != nil {
		return d, refuse(Invalid, "the definitions %s of suite %s cannot be read by this program: %s", digest, p.name, err)
	}
	c.published.mu.Lock()
	defer c.published.mu.Unlock()
	if c.published.named == nil || len(c.published.named) >= mostNamed {
		c.published.named = map[namedKey]suite.Definitions{}
	}
	c.published.named[key] = d
	return d, nil
}

// DefinitionsOf returns the definitions that a request would be expanded with now: those that it names, by their full digest,
// or those of its branch.
func (c *Control) DefinitionsOf(ctx context.Context, name events.SuiteName, branch string, named events.Digest) (suite.Definitions, error) {
	p, err := c.Published(ctx, name)
	if err != nil {
		return suite.Definitions{}, err
	}
	if named != "" {
		return c.named(ctx, p, named)
	}
	return p.For(branch)
}

// chosen is what a request is measured with, and what it may do.
type chosen struct {
	definitions *suite.Definitions
	// caps are those of the definitions that the branch uses, whatever the request names.
	caps suite.Template
	// customised says that the request names definitions that its branch never used.
	customised bool
}

// choose returns a request with the branch that it is recorded with, and what it is checked against. A branch is recorded
// only if the suite has something of its own for branches: requests of others stay as they were before there were
// branches.
func (c *Control) choose(ctx context.Context, n NewRequest, from publications) (NewRequest, chosen, error) {
	var wrong error // it matters only if the branch does: a program cannot leave it out
	if n.Branch != "" {
		wrong = events.CheckBranch(n.Branch)
	}
	if wrong != nil && !n.AsItIs {
		return n, chosen{}, refuse(Invalid, "%s", wrong)
	}
	if n.Named != "" {
		return c.chooseNamed(ctx, n, from, wrong)
	}
	d := n.Definitions
	if d != nil && n.Branch == "" {
		return n, chosen{definitions: d, caps: d.Caps(n.Kind, n.Branch)}, nil
	}
	published, err := from(ctx, n.Suite)
	if err == nil && d == nil {
		var own suite.Definitions
		own, err = published.For(n.Branch)
		d = &own
	}
	if err == nil && n.Branch != "" {
		n, err = branched(n, published.Varies(), wrong)
	}
	if err != nil {
		return n, chosen{}, err
	}
	return n, chosen{definitions: d, caps: d.Caps(n.Kind, n.Branch)}, nil
}

// chooseNamed is choose for a request that names its definitions. What it measures is theirs; what it may do is what the
// definitions say that its branch uses: a file that was never put into force must not lift a limit.
func (c *Control) chooseNamed(ctx context.Context, n NewRequest, from publications, wrong error) (NewRequest, chosen, error) {
	published, err := from(ctx, n.Suite)
	if err != nil {
		return n, chosen{}, err
	}
	if n.Named, err = published.digest(n.Named); err != nil {
		return n, chosen{}, err
	}
	d, err := c.named(ctx, published, n.Named)
	if err == nil && n.Branch != "" {
		n, err = branched(n, published.Varies() || len(d.Branches) > 0, wrong)
	}
	if err != nil {
		return n, chosen{}, err
	}
	inForce, err := published.For(n.Branch)
	var none *RefusedError
	if err != nil && !errors.As(err, &none) {
		return n, chosen{}, err
	}
	return n, chosen{definitions: &d, caps: inForce.Caps(n.Kind, n.Branch), customised: !n.Tree && !published.Used(n.Branch, n.Named)}, nil
}

// branched returns a request with the branch that it is recorded with, or a refusal of a wrong one.
func branched(n NewRequest, varies bool, wrong error) (NewRequest, error) {
	switch {
	case varies && wrong != nil:
		return n, refuse(Invalid, "%s", wrong)
	case !varies:
		n.Branch = "" // mayAsk refuses what a person may leave out
	}
	return n, nil
}

// allow returns what the request takes of its definitions, or a refusal if it may not have what it chooses, or if that does
// not exist.
func (w chosen) allow(by By, n NewRequest) (suite.Template, error) {
	choice := suite.Choice{Branch: n.Branch, Graph: n.Graph, Options: n.Options}
	t, err := w.definitions.Template(n.Kind, choice)
	if err != nil {
		return t, refuse(Invalid, "%s", err)
	}
	if n.Named != "" && w.caps.Customise == suite.CustomiseNone && len(n.Options) > 0 {
		choice.Options = nil
		usual, err := w.definitions.Template(n.Kind, choice)
		if err != nil || !maps.Equal(usual.Options, t.Options) {
			return t, refuse(Invalid, "the definitions that its branch uses let a %s request set no options, whichever definitions it names: leave the options out", n.Kind)
		}
	}
	if !w.customised {
		return t, nil
	}
	return t, mayCustomise(by, n, w.caps)
}

// mayCustomise returns a refusal if a request may not name definitions that its branch never used. An account also needs the
// right to customise (needs).
func mayCustomise(by By, n NewRequest, caps suite.Template) error {
	if by.Account == "" || caps.Customise == suite.CustomiseAny {
		return nil
	}
	of := "the suite has never used them"
	if n.Branch != "" {
		of = "branch " + n.Branch + " has never used them"
	}
	return refuse(Forbidden, "account %s cannot name definitions %.12s, because %s and its [[branch]] has no customise = %q: name others, or ask the operator",
		by.Account, n.Named, of, suite.CustomiseAny)
}
