package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Selector selects jobs by what they measure and by their state. The zero value selects all.
type Selector struct{ terms map[string][]string }

// selectable are the properties that a selector can name.
var selectable = []string{"kind", "target", "set", "backend", "profile", "state", "name"}

// SelectableStates returns the values of the property state.
func SelectableStates() []string {
	return []string{
		string(events.JobQueued), string(events.JobInProgress), string(events.JobSuccess), string(events.JobFailure), string(events.JobCancelled),
		string(Blocked), string(Skipped),
	}
}

// ParseSelector returns the selector of terms such as "kind=compile,link", "state=failure" or "name=compile/*/opt". A job
// is selected if it has one of the values of each property that is named. The values of name are globs over the whole
// label (Label.String), in which "*" stands for any text. An error names the properties or values that exist.
func ParseSelector(terms []string) (Selector, error) {
	s := Selector{terms: map[string][]string{}}
	for _, term := range terms {
		property, values, ok := strings.Cut(term, "=")
		if !ok || !slices.Contains(selectable, property) {
			return Selector{}, fmt.Errorf("%q selects no jobs: write PROPERTY=VALUE, where the property is one of %s", term, strings.Join(selectable, ", "))
		}
		for value := range strings.SplitSeq(values, ",") {
			_, err := path.Match(value, "")
			switch {
			case value == "":
				return Selector{}, fmt.Errorf("%q names no %s", term, property)
			case property == "name" && err != nil:
				return Selector{}, fmt.Errorf("%q is no glob: %w", value, err)
			case property == "state" && !slices.Contains(SelectableStates(), value):
				return Selector{}, fmt.Errorf("unknown state %q: use one of %s", value, strings.Join(SelectableStates(), ", "))
			}
			s.terms[property] = append(s.terms[property], value)
		}
	}
	return s, nil
}

// Selects reports whether the selector selects a job with a label in a state: that of the job, or blocked or skipped.
func (s Selector) Selects(l Label, state string) bool {
	parts := l.parts()
	for property, values := range s.terms {
		has := state
		if i := slices.Index(selectable[:len(parts)], property); i >= 0 {
			has = parts[i]
		}
		matches := func(value string) bool { return value == has }
		if property == "name" {
			matches = func(glob string) bool { return globMatches(glob, l.String()) }
		}
		if !slices.ContainsFunc(values, matches) {
			return false
		}
	}
	return true
}

// globMatches reports whether a glob matches a whole label. Its "*" also matches slashes.
func globMatches(glob, label string) bool {
	flat := strings.NewReplacer("/", "\x1f")
	ok, err := path.Match(flat.Replace(glob), flat.Replace(label))
	return ok && err == nil
}

// Token names a list of jobs, in whatever order: equal lists have equal tokens.
func Token(jobs []events.JobSpec) string {
	ids := make([]string, len(jobs))
	for i, spec := range jobs {
		ids[i] = string(spec.ID)
	}
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return hex.EncodeToString(sum[:8])
}
