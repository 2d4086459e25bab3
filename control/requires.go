package control

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// canonical returns the one form in which terms are recorded; nil for none. It refuses what is no term.
func canonical(terms []string) ([]string, error) {
	r, err := match.Parse(terms)
	if err != nil {
		return nil, refuse(Invalid, "requires: %s", err)
	}
	if r.String() == "" {
		return nil, nil
	}
	return r.Terms(), nil
}

// joined returns what a queue and a request require together, or a refusal if one excludes the other.
func joined(q events.QueueConfigured, terms []string) (match.Requirement, error) {
	asked, err := match.Parse(terms)
	if err != nil {
		return asked, refuse(Invalid, "requires: %s", err)
	}
	ofQueue, err := match.Parse(q.Requires)
	if err != nil {
		return asked, refuse(Impossible, "queue %s requires what this program does not know: %s", q.Queue, err)
	}
	all, err := match.Join(match.Named{Who: fmt.Sprintf("queue %s", q.Queue), Requirement: ofQueue}, match.Named{Who: "the request", Requirement: asked})
	if err != nil {
		return all, refuse(Impossible, "%s", err)
	}
	return all, nil
}
