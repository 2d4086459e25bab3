package suite

import (
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// Need is what the machines of some matched jobs of a request must have.
type Need struct {
	// Job names the first of the jobs: kind, target and set.
	Job      string
	Requires match.Requirement
}

// Needs returns what the matched jobs of a request need: one need for each kind and target that has some. asked are the
// terms of the request and of its queue. The error names what is asked for that excludes one another.
func (d Definitions) Needs(kind events.RequestKind, p events.Parameters, asked ...match.Named) ([]Need, error) {
	var needs []Need
	e := expansion{definitions: d, parameters: p}
	for _, k := range d.Kinds {
		if !k.Matched() || len(k.Requests) > 0 && !slices.Contains(k.Requests, kind) {
			continue
		}
		for _, t := range e.targets(k) {
			own, err := match.Parse(k.Terms(t))
			if err != nil {
				return nil, fmt.Errorf("kind %s: %w", k.Name, err)
			}
			all, err := match.Join(append([]match.Named{{Who: "kind " + string(k.Name), Requirement: own}}, asked...)...)
			if err != nil {
				return nil, err
			}
			needs = append(needs, Need{fmt.Sprintf("%s/%s/%d", k.Name, t.Name, sets(k, t)[0]), all})
		}
	}
	return needs, nil
}
