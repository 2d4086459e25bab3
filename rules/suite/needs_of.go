package suite

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// NeedsOf is Needs for a template: of the jobs that it does not switch off.
func (d Definitions) NeedsOf(t Template, kind events.RequestKind, p events.Parameters, asked ...match.Named) ([]Need, error) {
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
