package control

import (
	"context"
	"errors"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/suite"
)

// canonical returns the one form in which terms are recorded; nil for none. It refuses what is no term, and terms that
// exclude one another.
func canonical(terms []string) ([]string, error) {
	r, err := match.Parse(terms)
	switch {
	case errors.Is(err, match.ErrExclude):
		return nil, refuse(Impossible, "requires: %s", err)
	case err != nil:
		return nil, refuse(Invalid, "requires: %s", err)
	case r.String() == "":
		return nil, nil
	}
	return r.Terms(), nil
}

// possible returns a refusal if a request could never run: if its queue, its suite and it require what no machine can
// have together, or what no registered machine has. Requests of programs wait instead.
func (p *placing) possible(ctx context.Context, in events.QueueConfigured, n creation) error {
	if n.AsItIs {
		return nil
	}
	asked := make([]match.Named, 2)
	for i, who := range []struct {
		name  string
		terms []string
	}{{"queue " + string(in.Queue), in.Requires}, {"the request", n.Requires}} {
		r, err := match.Parse(who.terms)
		if err != nil {
			return refuse(Impossible, "%s requires what this program does not know: %s", who.name, err)
		}
		asked[i] = match.Named{Who: who.name, Requirement: r}
	}
	// What a queue and a request exclude is refused even if the suite has nothing to match.
	if _, err := match.Join(asked...); err != nil {
		return refuse(Impossible, "%s", err)
	}
	if err := p.fewEnough(ctx, n.Requires); err != nil {
		return err
	}
	needs, err := n.definitions.Needs(n.template, n.Kind, n.Parameters, asked...)
	switch {
	case err != nil:
		return refuse(Impossible, "%s", err)
	case len(needs) == 0 && len(n.Requires) > 0:
		return refuse(Invalid, "suite %s has no kind with lanes = %q among what this request measures, so no machine is chosen for its jobs: leave the requirements out", n.Suite, suite.LanesAny)
	case len(needs) == 0 || p.control.Offers == nil:
		return nil
	}
	if p.offers == nil {
		offers, err := p.control.Offers(ctx)
		if err != nil {
			return err
		}
		p.offers = &offers
	}
	for _, need := range needs {
		if err := match.Check(need.Job, need.Requires, n.Kind, *p.offers); err != nil {
			return refuse(Impossible, "%s", err)
		}
	}
	return nil
}

// maxRequirements bounds the different requirements of requests that have not ended: the scheduler looks at each.
const maxRequirements = 4096

// fewEnough returns a refusal if the terms of a request would be one requirement too many.
func (p *placing) fewEnough(ctx context.Context, terms []string) error {
	if len(terms) == 0 || p.control.Requirements == nil {
		return nil
	}
	key := strings.Join(terms, " ")
	count, known, err := p.control.Requirements(ctx, terms)
	if err != nil || known || p.required[key] {
		return err
	}
	p.required[key] = true
	if count+len(p.required) > maxRequirements {
		return refuse(Impossible, "the requests that have not ended have %d different requirements, and the farm takes %d: use one of those, or wait until some have ended",
			count, maxRequirements)
	}
	return nil
}
