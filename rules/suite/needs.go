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

// Needs returns what the matched jobs of a request need that is expanded with a template: one need for each kind and target
// that has some. asked are the terms of the request and of its queue. The error names what is asked for that excludes one
// another.
func (d Definitions) Needs(t Template, kind events.RequestKind, p events.Parameters, asked ...match.Named) ([]Need, error) {
	if !slices.ContainsFunc(d.Kinds, Kind.Matched) {
		return nil, nil
	}
	x, err := d.ExpansionWith(t, Request{
		Artifact: events.Artifact{Suite: d.Name, Tag: "any", Kind: kind}, Parameters: p, Definitions: "any",
	})
	if err != nil {
		return nil, err
	}
	type group struct {
		kind   events.JobKind
		target events.Target
	}
	seen := map[group]bool{}
	var needs []Need
	for _, j := range x.Own {
		if !j.Matched || seen[group{j.Kind, j.Target}] {
			continue
		}
		seen[group{j.Kind, j.Target}] = true
		own, err := match.Parse(j.Requires)
		if err != nil {
			return nil, fmt.Errorf("kind %s: %w", j.Kind, err)
		}
		all, err := match.Join(append([]match.Named{{Who: "kind " + string(j.Kind), Requirement: own}}, asked...)...)
		if err != nil {
			return nil, err
		}
		needs = append(needs, Need{fmt.Sprintf("%s/%s/%d", j.Kind, j.Target, j.Set), all})
	}
	return needs, nil
}
