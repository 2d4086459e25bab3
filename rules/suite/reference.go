package suite

import (
	"fmt"
	"strings"
)

// ParseReference reads SUITE[@BRANCH][:GRAPH][,NAME=VALUE]…. exists says whether there is a suite of that name: the name is
// the longest one that exists, so paths may have the signs, too.
func ParseReference(reference string, exists func(name string) bool) (name string, choice Choice, err error) {
	choice.Options = map[string]string{}
	end := len(reference)
	for end > 0 && !exists(reference[:end]) {
		end = strings.LastIndexAny(reference[:end], "@:,")
	}
	if end <= 0 {
		end = len(reference)
		if at := strings.IndexAny(reference, "@:,"); at > 0 {
			end = at
		}
	}
	name, rest := reference[:end], reference[end:]
	rest, options, _ := strings.Cut(rest, ",")
	rest, graph, hasGraph := strings.Cut(rest, ":")
	branch, hasBranch := strings.CutPrefix(rest, "@")
	if hasGraph && graph == "" || hasBranch && branch == "" {
		return "", choice, fmt.Errorf("%q: write SUITE@BRANCH:GRAPH,NAME=VALUE; all but the suite may be left out, with the sign before it", reference)
	}
	choice.Branch, choice.Graph = branch, graph
	for _, pair := range strings.FieldsFunc(options, func(r rune) bool { return r == ',' }) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return "", choice, fmt.Errorf("%q: option %q has no value, write NAME=VALUE", reference, pair)
		}
		choice.Options[key] = value
	}
	return name, choice, nil
}
