package suite

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// Option is something that a request or a branch may switch. Options act through the When of kinds alone: what a job
// runs does not see them.
type Option struct {
	Name string `toml:"name" json:"name"`
	// Values are what it can be; the first one is the default.
	Values []string `toml:"values" json:"values"`
	// Who is "branch" if requests may not set it; empty if they may.
	Who string `toml:"who" json:"who,omitempty"`
}

// Default returns the value of an option that is not set.
func (o Option) Default() string {
	if len(o.Values) == 0 {
		return ""
	}
	return o.Values[0]
}

// Who may set an option.
const (
	WhoRequest = "request"
	WhoBranch  = "branch"
)

// Graph is a choice of kinds under a name. The first one of a file is the default; without any, all kinds are in the
// only graph.
type Graph struct {
	Name string `toml:"name" json:"name"`
	// Kinds are the kinds that are in it; empty for all.
	Kinds []events.JobKind `toml:"kinds" json:"kinds,omitempty"`
	// OnFailure is "fail-fast", or empty to keep going.
	OnFailure string `toml:"on_failure" json:"on_failure,omitempty"`
	// Deadline is how long a graph may be open, such as "14d" or "36h"; empty for ever.
	Deadline string `toml:"deadline" json:"deadline,omitempty"`
	// Parameters are those of requests that name none themselves.
	Parameters GraphParameters `toml:"parameters" json:"parameters,omitzero"`
}

// GraphParameters are events.Parameters in a suite file.
type GraphParameters struct {
	Targets    []events.Target  `toml:"targets" json:"targets,omitempty"`
	Backends   []events.Backend `toml:"backends" json:"backends,omitempty"`
	Profiles   []events.Profile `toml:"profiles" json:"profiles,omitempty"`
	Benchmarks []string         `toml:"benchmarks" json:"benchmarks,omitempty"`
}

// IsZero leaves parameters without a value out of the canonical form.
func (p GraphParameters) IsZero() bool {
	return len(p.Targets)+len(p.Backends)+len(p.Profiles)+len(p.Benchmarks) == 0
}

// What happens in a graph when a required job fails.
const (
	KeepGoing = "keep-going"
	FailFast  = "fail-fast"
)

// Branch says what requests for the branches of a repository are expanded with.
type Branch struct {
	// Match is the pattern of the names of the branches.
	Match string `toml:"match" json:"match"`
	// Graph is the graph of requests that name none; empty for the default.
	Graph string `toml:"graph" json:"graph,omitempty"`
	// Options are values for requests that do not set them.
	Options map[string]string `toml:"options" json:"options,omitempty"`
	// Customise is "none", "options" or "any"; empty for what is usual for the kind of request.
	Customise string `toml:"customise" json:"customise,omitempty"`
	// Priority is that of requests that name none, MaxPriority the most urgent one.
	Priority    events.Priority `toml:"priority" json:"priority,omitempty"`
	MaxPriority events.Priority `toml:"max_priority" json:"max_priority,omitempty"`
}

// What requests may change of what they are expanded with.
const (
	CustomiseNone    = "none"
	CustomiseOptions = "options"
	CustomiseAny     = "any"
)

// Choice is what a request chooses among what its definitions offer; the zero value takes the defaults.
type Choice struct {
	// Branch is the name of a branch; empty for none: then no [[branch]] applies.
	Branch  string
	Graph   string
	Options map[string]string
}

// Template is what a request of a kind and a choice is expanded with.
type Template struct {
	// Branch is the pattern of the [[branch]] that applies; empty for none.
	Branch string
	// Graph is the name of the [[graph]]; empty if the file has none.
	Graph string
	// Kinds are the kinds in it; nil for all.
	Kinds []events.JobKind
	// Options has every option with its value.
	Options map[string]string
	// OnFailure is FailFast, or empty to keep going.
	OnFailure string
	// Deadline is how long the graph may be open; 0 for ever.
	Deadline time.Duration
	// Customise is CustomiseNone, CustomiseOptions or CustomiseAny.
	Customise string
	// Priority is that of requests that name none, MaxPriority the most urgent one. They are spelt out, PriorityNormal
	// too: empty means that the branch says nothing.
	Priority, MaxPriority events.Priority
	// Parameters are those of requests that name none, each list for itself.
	Parameters events.Parameters
}

// Usual returns the priority of requests that name none; empty if the branch says nothing about it.
func (t Template) Usual() events.Priority {
	if t.Priority == "" && t.MaxPriority != "" && t.MaxPriority.Level() > events.PriorityNormal.Level() {
		return t.MaxPriority
	}
	return t.Priority
}

// ForbidsMore reports whether the [[branch]] of a template says that its requests get no jobs that are switched off. That
// requests of a kind set no options by themselves says nothing about it.
func (d Definitions) ForbidsMore(t Template) bool {
	return t.Branch != "" && slices.ContainsFunc(d.Branches, func(b Branch) bool { return b.Match == t.Branch && b.Customise == CustomiseNone })
}

// Template resolves a choice. The error names everything that is wrong, and lists what exists. A value that an option
// has anyway may always be named, so the options of a template can be chosen again.
func (d Definitions) Template(kind events.RequestKind, c Choice) (Template, error) {
	return d.template(kind, d.branchOf(c.Branch), c)
}

// Templates returns what requests of a kind that set no options are expanded with: for no branch and for each
// [[branch]], each graph. Without graphs there is one for each of them.
func (d Definitions) Templates(kind events.RequestKind) ([]Template, error) {
	var all []Template
	for at := -1; at < len(d.Branches); at++ {
		var b Branch
		if at >= 0 {
			b = d.Branches[at]
		}
		graphs := []string{""}
		if len(d.Graphs) > 0 {
			graphs = names(d.Graphs, func(g Graph) string { return g.Name })
		}
		for _, g := range graphs {
			t, err := d.template(kind, b, Choice{Graph: g})
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// Caps returns what requests of a kind may do because of their branch: Customise, Priority and MaxPriority of the template,
// and the pattern of the [[branch]]. The other fields are empty.
func (d Definitions) Caps(kind events.RequestKind, branch string) Template {
	return capsOf(kind, d.branchOf(branch))
}

func capsOf(kind events.RequestKind, b Branch) Template {
	return Template{Branch: b.Match, Customise: cmp.Or(b.Customise, usualCustomise(kind)), Priority: b.Priority, MaxPriority: b.MaxPriority}
}

// branchOf returns the [[branch]] that applies to a branch: the most specific one that matches.
func (d Definitions) branchOf(name string) Branch {
	var best Branch
	if name == "" {
		return best
	}
	for _, b := range d.Branches {
		if BranchMatches(b.Match, name) && (best.Match == "" || moreSpecific(b.Match, best.Match)) {
			best = b
		}
	}
	return best
}

// template resolves a choice for a [[branch]], or for none.
func (d Definitions) template(kind events.RequestKind, b Branch, c Choice) (Template, error) {
	t := capsOf(kind, b)
	var errs []error
	if g, err := d.graph(cmp.Or(c.Graph, b.Graph)); err != nil {
		errs = append(errs, err)
	} else {
		t.Graph, t.OnFailure, t.Parameters = g.Name, g.OnFailure, events.Parameters(g.Parameters)
		if len(g.Kinds) > 0 {
			t.Kinds = g.Kinds
		}
		if g.Deadline != "" {
			if t.Deadline, err = parseDeadline(g.Deadline); err != nil {
				errs = append(errs, fmt.Errorf("deadline of graph %s: %w", g.Name, err))
			}
		}
	}
	for _, o := range d.Options {
		if t.Options == nil {
			t.Options = map[string]string{}
		}
		t.Options[o.Name] = o.Default()
	}
	for _, name := range slices.Sorted(maps.Keys(b.Options)) {
		if _, err := d.optionValue(name, b.Options[name]); err != nil {
			errs = append(errs, fmt.Errorf("branch %s: %w", b.Match, err))
			continue
		}
		t.Options[name] = b.Options[name]
	}
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		if err := d.choose(&t, kind, name, c.Options[name]); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Template{}, err
	}
	return t, nil
}

// choose sets an option as a request asks for it.
func (d Definitions) choose(t *Template, kind events.RequestKind, name, value string) error {
	o, err := d.optionValue(name, value)
	switch {
	case err != nil:
		return err
	case t.Options[name] == value:
		return nil
	case o.Who == WhoBranch:
		return fmt.Errorf("option %s is set by branches alone: leave it out%s", name, d.settable())
	case t.Customise == CustomiseNone && t.Branch != "":
		return fmt.Errorf("branch %s lets requests set no options: leave out %s", t.Branch, name)
	case t.Customise == CustomiseNone:
		return fmt.Errorf("a %s request sets no options unless its [[branch]] has customise = %q: leave out %s", kind, CustomiseOptions, name)
	}
	t.Options[name] = value
	return nil
}

// settable lists the options that requests may set.
func (d Definitions) settable() string {
	var all []string
	for _, o := range d.Options {
		if o.Who != WhoBranch {
			all = append(all, o.Name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ", or set " + either(all)
}

func usualCustomise(kind events.RequestKind) string {
	if kind == events.Try {
		return CustomiseOptions
	}
	return CustomiseNone
}

// graph returns the graph of a name, or the default one.
func (d Definitions) graph(name string) (Graph, error) {
	switch {
	case name == "" && len(d.Graphs) == 0:
		return Graph{}, nil
	case name == "":
		return d.Graphs[0], nil
	}
	g, ok := find(d.Graphs, func(g Graph) bool { return g.Name == name })
	if !ok && len(d.Graphs) == 0 {
		return g, fmt.Errorf("unknown graph %q: suite %s has no graphs, leave it out", name, d.Name)
	}
	if !ok {
		return g, fmt.Errorf("unknown graph %q: use %s", name, either(names(d.Graphs, func(g Graph) string { return g.Name })))
	}
	return g, nil
}

// optionValue returns the option of a name if it can have the value.
func (d Definitions) optionValue(name, value string) (Option, error) {
	o, ok := find(d.Options, func(o Option) bool { return o.Name == name })
	switch {
	case !ok && len(d.Options) == 0:
		return o, fmt.Errorf("unknown option %q: suite %s has no options, leave it out", name, d.Name)
	case !ok:
		return o, fmt.Errorf("unknown option %q: use %s", name, either(names(d.Options, func(o Option) string { return o.Name })))
	case !slices.Contains(o.Values, value):
		return o, fmt.Errorf("unknown value %q of option %s: use %s", value, name, either(o.Values))
	}
	return o, nil
}

// maxDeadline is longer than any wait, and fits a Duration.
const maxDeadline = 365 * 24 * time.Hour

// parseDeadline reads a Go duration, or a whole number of days: "14d".
func parseDeadline(text string) (time.Duration, error) {
	var d time.Duration
	number, inDays := strings.CutSuffix(text, "d")
	days, err := strconv.ParseUint(number, 10, 16)
	if inDays {
		d = time.Duration(days) * 24 * time.Hour
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d <= 0 || d > maxDeadline {
		return 0, fmt.Errorf("%q is no deadline: write days or hours, such as \"14d\" or \"36h\", at most 365d", text)
	}
	return d, nil
}
