package command

import (
	"path"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// The keys of parameters.
const (
	targetsKey    = "targets"
	backendsKey   = "backends"
	profilesKey   = "profiles"
	benchmarksKey = "benchmarks"
)

// maxValues is how many values one key may have, and maxValue how long a value outside a closed set may be.
const (
	maxValues = 200
	maxValue  = 128
)

// parameters reads key=value words. after is the text before them, for examples.
func (g Grammar) parameters(after string, arguments []string) (p events.Parameters, c Choice, refusal *Refusal) {
	refusal = pairs(quote(after), g.example(after+" "+g.sample()), g.keys(), arguments, func(name string, list []string) (refusal *Refusal) {
		switch name {
		case targetsKey:
			p.Targets, refusal = choose("target", g.Targets, list)
		case backendsKey:
			p.Backends, refusal = choose("backend", g.Backends, list)
		case profilesKey:
			p.Profiles, refusal = choose("profile", g.Profiles, list)
		case benchmarksKey:
			p.Benchmarks, refusal = globs(list)
		default:
			refusal = g.choice(&c, name, list)
		}
		return refusal
	})
	return p, c, refusal
}

// pairs calls take with each key and its values, until it refuses them. keys are those that there may be, once each. after
// is the quoted text before them, example a right comment.
func pairs(after, example string, keys, arguments []string, take func(name string, list []string) *Refusal) *Refusal {
	given := map[string]bool{}
	for i, argument := range arguments {
		key, values, ok := strings.Cut(argument, "=")
		if refusal := spaces(example, arguments, i); refusal != nil {
			return refusal
		}
		name := strings.ToLower(key)
		switch {
		case !ok:
			return refuse(argument, "I do not know what %s means after %s: give parameters as in %s, and the rest on another line",
				quote(argument), after, example)
		case !slices.Contains(keys, name):
			return refuse(key, "I do not know the parameter %s%s: use %s", quote(key), suggest(key, keys), either(keys))
		case given[name]:
			return refuse(key, "%s is given twice: write its values after one %s, separated by commas", quote(name), quote(name+"="))
		}
		given[name] = true
		list := strings.Split(values, ",")
		if len(list) > maxValues {
			return refuse(key, "%s names more than %d values: name fewer, or leave it out for all", quote(name), maxValues)
		}
		if refusal := take(name, list); refusal != nil {
			return refusal
		}
	}
	return nil
}

// spaces refuses argument i if it looks like a part of a parameter that was written with spaces. example is a right comment.
func spaces(example string, arguments []string, i int) *Refusal {
	word := arguments[i]
	previous, next := "", ""
	if i > 0 {
		previous = arguments[i-1]
	}
	if i+1 < len(arguments) {
		next = arguments[i+1]
	}
	switch {
	case strings.HasPrefix(word, "="),
		!strings.Contains(word, "=") && (strings.HasPrefix(next, "=") || strings.HasSuffix(previous, "=")):
		return refuse(word, "there may be no spaces around the %s near %s: write it as in %s", quote("="), quote(word), example)
	case !strings.Contains(word, "=") && (strings.HasPrefix(word, ",") || strings.HasSuffix(previous, ",")):
		return refuse(word, "there may be no spaces around the commas near %s: write it as in %s", quote(word), example)
	}
	return nil
}

// choose returns the values that a list names, each once, in the order of the list.
func choose[T ~string](what string, set Set[T], list []string) (chosen []T, _ *Refusal) {
	known := set.known()
	for _, value := range list {
		if value == "" {
			continue
		}
		is := T(value)
		if i := slices.IndexFunc(known, func(k T) bool { return strings.EqualFold(string(k), value) }); i >= 0 {
			is = known[i]
		} else if !set.Open {
			return nil, unknown(what, value, spelled(known))
		} else if !openName(value) {
			return nil, refuse(value, "%s cannot name a %s: use up to %d letters, digits, `.`, `_`, `+` or `-`", quote(value), what, maxValue)
		}
		if !slices.Contains(chosen, is) {
			chosen = append(chosen, is)
		}
	}
	return chosen, nil
}

func unknown(what, value string, known []string) *Refusal {
	if len(known) == 0 {
		return refuse(value, "I do not know the %s %s, because there are none to choose from: leave it out", what, quote(value))
	}
	return refuse(value, "I do not know the %s %s%s: use %s", what, quote(value), suggest(value, known), either(known))
}

// globs returns the patterns of benchmark names in a list. Only the definitions tell whether one matches anything.
func globs(list []string) (chosen []string, _ *Refusal) {
	for _, glob := range list {
		if glob == "" {
			continue
		}
		_, err := path.Match(glob, "")
		if err != nil || len(glob) > maxValue || !all(glob, func(c byte) bool { return nameByte(c) || strings.IndexByte("*?[]^", c) >= 0 }) {
			return nil, refuse(glob, "%s is no pattern of benchmark names: use names with %s, %s and %s in them",
				quote(glob), quote("*"), quote("?"), quote("[a-z]"))
		}
		if !slices.Contains(chosen, glob) {
			chosen = append(chosen, glob)
		}
	}
	return chosen, nil
}

func openName(s string) bool { return len(s) <= maxValue && letterOrDigit(s[0]) && all(s, nameByte) }

func nameByte(c byte) bool { return letterOrDigit(c) || strings.IndexByte("._+-", c) >= 0 }

// sample returns a parameter for examples, with a value that exists.
func (g Grammar) sample() string {
	if profiles := g.Profiles.known(); len(profiles) > 0 {
		return profilesKey + "=" + string(profiles[0])
	}
	return benchmarksKey + "=*"
}

func spelled[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}
