package suite

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// The most of each that a file of version 2 may have.
const (
	maxOptions  = 64
	maxKinds    = 64
	maxGraphs   = 32
	maxBranches = 64
	maxValues   = 64
)

var optionValueForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// choices checks options, graphs and branches, and the conditions of kinds.
func (c *checker) choices(d Definitions) {
	c.newForm(d)
	for _, l := range []struct {
		table     string
		have, max int
	}{{"option", len(d.Options), maxOptions}, {"kind", len(d.Kinds), maxKinds}, {"graph", len(d.Graphs), maxGraphs}, {"branch", len(d.Branches), maxBranches}} {
		if l.have > l.max && d.Version > 1 {
			c.report(index(l.table, l.max), "there are %d [[%s]]: at most %d are possible", l.have, l.table, l.max)
		}
	}
	c.options(d)
	c.graphs(d)
	c.branches(d)
	for i, k := range d.Kinds {
		if k.When != "" {
			c.when(join(index("kind", i), "when"), k, d)
		}
	}
}

// newForm checks that a file with what version 2 has says so.
func (c *checker) newForm(d Definitions) {
	if d.Version > 1 {
		return
	}
	report := func(path, what string) {
		c.report(path, "%s: write version = 2 at the head of the file, so that programs that do not know it refuse the file", what)
	}
	for i, k := range d.Kinds {
		if k.When != "" {
			report(join(index("kind", i), "when"), fmt.Sprintf("kind %q has when", k.Name))
		}
	}
	for _, table := range []struct {
		name string
		has  bool
	}{{"option", len(d.Options) > 0}, {"graph", len(d.Graphs) > 0}, {"branch", len(d.Branches) > 0}} {
		if table.has {
			report(table.name, "the file has [["+table.name+"]]")
		}
	}
}

// reservedOptions are no names of options: they have a meaning in a When, or where requests are made.
func reservedOptions() []string {
	return []string{
		whenProfile, whenBackend, whenTarget, whenRequest, "and", "or", "not",
		"profiles", "backends", "targets", "benchmarks", "kind", "set", "state", "graph", "branch", "option", "parent", "tag", "suite", "priority", "queue",
	}
}

func (c *checker) options(d Definitions) {
	if len(d.Options) > 0 {
		c.entries("option", nil, names(d.Options, func(o Option) string { return o.Name }))
	}
	for i, o := range d.Options {
		path := index("option", i)
		if slices.Contains(reservedOptions(), o.Name) {
			c.report(join(path, "name"), "option %q: the word has another meaning in requests; use another name, such as %q", o.Name, "use-"+o.Name)
		}
		if n := len(o.Values); n < 2 || n > maxValues {
			c.report(join(path, "values"), "option %q has %d values: list 2 to %d, the default first", o.Name, n, maxValues)
		}
		for at, v := range o.Values {
			if !optionValueForm.MatchString(v) {
				c.report(index(join(path, "values"), at), "value %q of option %q: use up to 64 letters, digits and %q, starting with a letter or digit", v, o.Name, "._+-")
			}
			if slices.Index(o.Values, v) < at {
				c.report(index(join(path, "values"), at), "value %q of option %q is there twice", v, o.Name)
			}
		}
		if o.Who != "" {
			c.reference(join(path, "who"), "who", o.Who, []string{WhoRequest, WhoBranch})
		}
	}
}

func (c *checker) graphs(d Definitions) {
	if len(d.Graphs) > 0 {
		c.entries("graph", nil, names(d.Graphs, func(g Graph) string { return g.Name }))
	}
	kinds := tokens(names(d.Kinds, func(k Kind) events.JobKind { return k.Name }))
	for i, g := range d.Graphs {
		path := index("graph", i)
		if at := join(path, "kinds"); len(g.Kinds) == 0 && c.has(at) {
			c.report(at, "graph %q has no kinds: list some of %s, or remove the key for a graph with all", g.Name, either(kinds))
		}
		c.references(join(path, "kinds"), "kind", tokens(g.Kinds), kinds)
		c.closed(path, g, d)
		if at := join(path, "on_failure"); g.OnFailure != "" {
			c.reference(at, "on_failure", g.OnFailure, []string{KeepGoing, FailFast})
		}
		if at := join(path, "deadline"); g.Deadline != "" {
			if _, err := parseDeadline(g.Deadline); err != nil {
				c.report(at, "deadline of graph %q: %v", g.Name, err)
			}
		}
		for _, one := range []struct {
			key string
			p   events.Parameters
		}{
			{"targets", events.Parameters{Targets: g.Parameters.Targets}},
			{"backends", events.Parameters{Backends: g.Parameters.Backends}},
			{"profiles", events.Parameters{Profiles: g.Parameters.Profiles}},
			{"benchmarks", events.Parameters{Benchmarks: g.Parameters.Benchmarks}},
		} {
			if err := d.CheckParameters(one.p); err != nil {
				for _, line := range strings.Split(err.Error(), "\n") {
					c.report(join(join(path, "parameters"), one.key), "graph %q: %s", g.Name, line)
				}
			}
		}
	}
}

// closed checks that a graph has the kinds whose success its kinds need. Without them its jobs would never be made.
func (c *checker) closed(path string, g Graph, d Definitions) {
	for at, name := range g.Kinds {
		k, _ := d.Kind(name)
		for _, n := range k.Needs {
			if _, known := d.Kind(n.Kind); known && n.Until == events.UntilSuccess && !slices.Contains(g.Kinds, n.Kind) {
				c.report(index(join(path, "kinds"), at), "graph %q has kind %q without kind %q, whose success it needs: add %q", g.Name, name, n.Kind, n.Kind)
			}
		}
	}
}

func (c *checker) branches(d Definitions) {
	graphs := names(d.Graphs, func(g Graph) string { return g.Name })
	for i, b := range d.Branches {
		path := index("branch", i)
		c.pattern(path, b.Match)
		if i < maxBranches { // of too many, not all pairs are compared
			for j, other := range d.Branches[:i] {
				c.ambiguous(path, b.Match, other.Match, join(index("branch", j), "match"))
			}
		}
		if at := join(path, "graph"); b.Graph != "" && len(graphs) == 0 {
			c.report(at, "unknown graph %q: the file has no [[graph]]", b.Graph)
		} else if b.Graph != "" {
			c.reference(at, "graph", b.Graph, graphs)
		}
		for _, name := range slices.Sorted(maps.Keys(b.Options)) {
			if _, err := d.optionValue(name, b.Options[name]); err != nil {
				c.report(join(join(path, "options"), name), "branch %q: %v", b.Match, err)
			}
		}
		if at := join(path, "customise"); b.Customise != "" {
			c.reference(at, "customise", b.Customise, []string{CustomiseNone, CustomiseOptions, CustomiseAny})
		}
		for _, p := range []struct {
			key   string
			value events.Priority
		}{{"priority", b.Priority}, {"max_priority", b.MaxPriority}} {
			if p.value != "" {
				c.reference(join(path, p.key), p.key, string(p.value), tokens(events.Priorities))
			}
		}
		if b.Priority != "" && b.MaxPriority != "" && b.Priority.Level() < b.MaxPriority.Level() {
			c.report(join(path, "priority"), "priority %q of branch %q is above its max_priority %q: lower it, or raise max_priority", b.Priority, b.Match, b.MaxPriority)
		}
	}
}

func (c *checker) pattern(path, match string) {
	if match == "" {
		c.report(join(path, "match"), "[[branch]] has no match: write the name of a branch, or a pattern such as \"release/*\"")
		return
	}
	if err := CheckBranchPattern(match); err != nil {
		c.report(join(path, "match"), "match %q: %v", match, err)
	}
}

// ambiguous reports two patterns of which neither is more specific, if some name matches both. It does so even if a third
// pattern is more specific for each such name: adding and removing that one then changes nothing about the others.
func (c *checker) ambiguous(path, match, other, otherPath string) {
	if !branchForm.MatchString(match) || !branchForm.MatchString(other) || moreSpecific(match, other) || moreSpecific(other, match) {
		return
	}
	line := c.places.at(otherPath).line
	if match == other {
		c.report(join(path, "match"), "branch %q is there twice: the first is on line %d", match, line)
		return
	}
	if name, both := commonName(match, other); both {
		c.report(join(path, "match"), "match %q is as specific as %q on line %d, and both match %q: give one of them more letters", match, other, line, name)
	}
}

// when checks the condition of a kind.
func (c *checker) when(path string, k Kind, d Definitions) {
	condition, err := parseWhen(k.When)
	if err != nil {
		c.reportIn(path, whenPlace(err), "when of kind %q: %v", k.Name, err)
		return
	}
	options := names(d.Options, func(o Option) string { return o.Name })
	condition.comparisons(func(one comparison) {
		var valid []string
		what := one.name
		switch one.name {
		case whenProfile:
			valid = tokens(names(d.Profiles, func(p Profile) events.Profile { return p.Name }))
		case whenBackend:
			valid = tokens(names(d.Backends, func(b Backend) events.Backend { return b.Name }))
		case whenTarget:
			valid = tokens(names(d.Targets, func(t Target) events.Target { return t.Name }))
		case whenRequest:
			valid, what = tokens([]events.RequestKind{events.Master, events.Try, events.Release}), "kind of request"
		default:
			o, ok := find(d.Options, func(o Option) bool { return o.Name == one.name })
			if !ok {
				c.reportIn(path, one.at, "when of kind %q: unknown name %q: use %s", k.Name, one.name, either(slices.Concat(options, whenNames())))
				return
			}
			valid, what = o.Values, "value of option "+o.Name
		}
		if !slices.Contains(valid, one.value) {
			c.reportIn(path, one.atValue, "when of kind %q: unknown %s %q: use %s", k.Name, what, one.value, either(valid))
		}
	})
}

// reportIn adds a problem at a place in the text that path names; at counts from 0. Where the file writes the text in
// another way, the problem is reported at its key, and the message says at which character of the text it is.
func (c *checker) reportIn(path string, at int, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	start, ok := c.places[textOf(path)]
	if !ok {
		c.report(path, "%s (at character %d of the text)", message, at+1)
		return
	}
	c.problems = append(c.problems, Problem{c.file, start.line, start.column + at, message})
}
