package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// The keys of Retry: the properties of graph.Selector that people name in a comment.
const (
	kindKey    = "kind"
	targetKey  = "target"
	setKey     = "set"
	backendKey = "backend"
	profileKey = "profile"
	stateKey   = "state"
)

func properties() []string {
	return []string{kindKey, targetKey, setKey, backendKey, profileKey, stateKey}
}

// The least and most samples of Noise. What carries it out has the last word.
const (
	leastSamples = 2
	mostSamples  = 20
)

func (g Grammar) retry(arguments []string) (Command, *Refusal) {
	var c Retry
	example := g.example(retryWord + " " + stateKey + "=failure")
	refusal := pairs(quote(retryWord), example, properties(), arguments, func(name string, list []string) *Refusal {
		chosen, refusal := g.having(name, list)
		if refusal == nil && len(chosen) > 0 {
			c.Select = append(c.Select, name+"="+strings.Join(chosen, ","))
		}
		return refusal
	})
	return c, refusal
}

// having returns the values of a property that a list names.
func (g Grammar) having(property string, list []string) ([]string, *Refusal) {
	var known Set[string]
	switch property {
	case targetKey:
		known.Usual = spelled(g.Targets.known())
	case backendKey:
		known.Usual = spelled(g.Backends.known())
	case profileKey:
		known.Usual = spelled(g.Profiles.known())
	case stateKey:
		known.Usual = graph.SelectableStates()
	default:
		known.Open = true
	}
	return choose(property, known, list)
}

func (g Grammar) noise(arguments []string) (Command, *Refusal) {
	var c Noise
	after := noiseWord
	if len(arguments) > 0 && arguments[0] != "" && all(arguments[0], func(b byte) bool { return '0' <= b && b <= '9' }) {
		n, err := strconv.Atoi(arguments[0])
		if err != nil || n < leastSamples || n > mostSamples {
			return nil, refuse(arguments[0], "%s is not a number of samples: use %d to %d, as in %s",
				quote(arguments[0]), leastSamples, mostSamples, g.example(noiseWord+" 5"))
		}
		c.Samples, after, arguments = n, noiseWord+" "+strconv.Itoa(n), arguments[1:]
	}
	refusal := pairs(quote(after), g.example(after+" "+benchmarksKey+"=a*"), []string{benchmarksKey}, arguments, func(_ string, list []string) (refusal *Refusal) {
		c.Benchmarks, refusal = globs(list)
		return refusal
	})
	return c, refusal
}

func (g Grammar) priority(arguments []string) (Command, *Refusal) {
	known := spelled(events.Priorities)
	switch {
	case len(arguments) == 0:
		return nil, refuse("", "%s needs one of %s after it: write it as in %s", quote(priorityWord), either(known), g.example(priorityWord+" high"))
	case len(arguments) > 1:
		return nil, refuse(arguments[1], "%s takes one word after it, and I do not know what to do with %s: write it as in %s",
			quote(priorityWord), quote(arguments[1]), g.example(priorityWord+" high"))
	}
	i := slices.IndexFunc(known, func(p string) bool { return strings.EqualFold(p, arguments[0]) })
	if i < 0 {
		return nil, unknown("priority", arguments[0], known)
	}
	return Priority{To: events.Priorities[i]}, nil
}
