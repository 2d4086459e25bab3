package suite

import (
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
)

// switches says which jobs are switched off.
type switches struct {
	definitions Definitions
	template    Template
	request     events.RequestKind
	// when are the conditions of the kinds that have one.
	when map[events.JobKind]condition
}

func (d Definitions) newSwitches(t Template, kind events.RequestKind) (switches, error) {
	s := switches{definitions: d, template: t, request: kind, when: map[events.JobKind]condition{}}
	for _, k := range d.Kinds {
		if k.When == "" {
			continue
		}
		c, err := parseWhen(k.When)
		if err != nil {
			return s, fmt.Errorf("kind %s: when, at character %d: %w", k.Name, whenPlace(err)+1, err)
		}
		s.when[k.Name] = c
	}
	return s, nil
}

// split parts jobs of one artifact.
func (s switches) split(jobs []events.JobSpec) (on []events.JobSpec, off []OffJob) {
	why := make([]string, len(jobs))
	some := false
	for i, j := range jobs {
		why[i] = s.off(j)
		some = some || why[i] != ""
	}
	if !some {
		return jobs, nil
	}
	s.needs(jobs, why)
	left := 0
	for _, reason := range why {
		if reason == "" {
			left++
		}
	}
	if left > 0 {
		on = make([]events.JobSpec, 0, left)
	}
	off = make([]OffJob, 0, len(jobs)-left)
	for i, j := range jobs {
		if why[i] == "" {
			on = append(on, j)
			continue
		}
		off = append(off, OffJob{j, why[i]})
	}
	return on, off
}

// off returns why a job is switched off, whatever it needs; empty if it is not.
func (s switches) off(j events.JobSpec) string {
	if s.template.Kinds != nil && !slices.Contains(s.template.Kinds, j.Kind) {
		return fmt.Sprintf("graph %s has no kind %s", s.template.Graph, j.Kind)
	}
	c, ok := s.when[j.Kind]
	if !ok {
		return ""
	}
	on, because := c.holds(func(name string) string {
		switch name {
		case whenProfile:
			return string(j.Profile)
		case whenBackend:
			return string(j.Backend)
		case whenTarget:
			return string(j.Target)
		case whenRequest:
			return string(s.request)
		}
		return s.template.Options[name]
	})
	if on {
		return ""
	}
	return and(because)
}

// needs switches off the jobs of which a need joins jobs, but all of them are switched off. A need of any end is met by
// what is not there.
func (s switches) needs(jobs []events.JobSpec, why []string) {
	root := slices.Clone(why)
	of := map[events.JobKind][]int{}
	for i, j := range jobs {
		of[j.Kind] = append(of[j.Kind], i)
	}
	// No cycle of kinds is longer than there are kinds; and a chain of needs is switched off kind by kind.
	for range s.definitions.Kinds {
		before := root
		root = slices.Clone(root)
		for _, k := range s.definitions.Kinds {
			for _, n := range k.Needs {
				s.need(jobs, k, n, of, why, root)
			}
		}
		if slices.Equal(before, root) {
			return
		}
	}
}

// need switches off the jobs of a kind that lack all jobs of one need. root is why those that they need are.
func (s switches) need(jobs []events.JobSpec, k Kind, n KindNeed, of map[events.JobKind][]int, why, root []string) {
	other, ok := s.definitions.Kind(n.Kind)
	if !ok || other.Name == k.Name || n.Until == events.UntilEnded {
		return
	}
	type group struct {
		left bool
		root string
	}
	groups := map[string]group{}
	dims := n.joins(k, other)
	for _, i := range of[other.Name] {
		g := groups[key(jobs[i], dims)]
		if g.root == "" {
			g.root = root[i]
		}
		g.left = g.left || why[i] == ""
		groups[key(jobs[i], dims)] = g
	}
	for _, i := range of[k.Name] {
		if g, joined := groups[key(jobs[i], dims)]; why[i] == "" && joined && !g.left {
			why[i], root[i] = fmt.Sprintf("needs %s, which is switched off: %s", other.Name, g.root), g.root
		}
	}
}

// and joins facts: "a, b and c".
func and(facts []string) string {
	last := len(facts) - 1
	text := ""
	for i, f := range facts {
		switch {
		case i == 0:
		case i == last:
			text += " and "
		default:
			text += ", "
		}
		text += f
	}
	return text
}
