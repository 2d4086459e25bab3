package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// Warnings says what definitions allow and what is rarely meant, in sentences. They are good all the same.
func (d Definitions) Warnings() []string {
	var out []string
	metric := d.listedTime()
	for _, k := range d.Kinds {
		if metric == "" || !k.Matched() || !k.Shared || !d.has(k) {
			continue
		}
		out = append(out, fmt.Sprintf("kind %q has shared = true and measures the time %s: its jobs run beside others, which change how long things take. "+
			"Write shared = false, or list no [[metric]] of class \"time\" and compare counts only", k.Name, metric))
	}
	return append(out, d.unusedChoices()...)
}

// unusedChoices says which kinds no graph has, and which options switch nothing.
func (d Definitions) unusedChoices() []string {
	var out []string
	used := map[string]bool{}
	for _, k := range d.Kinds {
		if condition, err := parseWhen(k.When); err == nil {
			condition.comparisons(func(one comparison) { used[one.name] = true })
		}
		if len(d.Graphs) > 0 && !slices.ContainsFunc(d.Graphs, func(g Graph) bool { return len(g.Kinds) == 0 || slices.Contains(g.Kinds, k.Name) }) {
			out = append(out, fmt.Sprintf("kind %q is in no [[graph]]: no request makes its jobs", k.Name))
		}
	}
	for _, o := range d.Options {
		if !used[o.Name] {
			out = append(out, fmt.Sprintf("option %q is in the when of no kind: it switches nothing", o.Name))
		}
	}
	return out
}

// listedTime returns the first listed metric that is a time; wall-time if none is listed at all, because every command
// has it; "" if all that are listed are counts.
func (d Definitions) listedTime() string {
	for _, m := range d.Metrics {
		if m.Class == "time" {
			return string(m.Name)
		}
	}
	if len(d.Metrics) == 0 {
		return "wall-time"
	}
	return ""
}

// has reports whether a kind has benchmarks.
func (d Definitions) has(k Kind) bool {
	for _, b := range d.Benchmarks {
		if b.Kind == k.Name {
			return true
		}
	}
	return false
}

// TooNew says in words that collectors must be updated before they can execute definitions.
func TooNew(d Definitions, old []events.CollectorName) string {
	const most = 10
	names := make([]string, 0, most)
	for _, name := range old[:min(len(old), most)] {
		names = append(names, string(name))
	}
	more := ""
	if n := len(old) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the definitions have version %d, and %s %s%s %s not said that they can be read there: such jobs fail until the program is updated (`tacho collector want VERSION`, or start it anew by hand)",
		d.Version, phrase.Verb(len(old), "collector", "collectors"), strings.Join(names, ", "), more, phrase.Verb(len(old), "has", "have"))
}
