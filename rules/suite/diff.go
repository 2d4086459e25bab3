package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is the closed set of ways in which a part of the definitions can differ.
type Change string

// The changes.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// Difference is one way in which two definitions differ.
type Difference struct {
	// What is the part, such as "benchmark helloworld" or "defaults".
	What string `json:"what"`
	// Key is the changed key, such as "sets.x86_64" or "iterations"; empty when the whole part was added or removed.
	Key    string `json:"key,omitempty"`
	Change Change `json:"change"`
	// From and To are the values as JSON; empty when there was or is none.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Why is the reason for which a job that was added had been switched off, or one that was removed is.
	Why string `json:"why,omitempty"`
}

// String returns the difference in words.
func (d Difference) String() string {
	switch {
	case d.Key == "" && d.Why != "" && d.Change == Added:
		return fmt.Sprintf("%s: %s, was switched off: %s", d.What, d.Change, d.Why)
	case d.Key == "" && d.Why != "":
		return fmt.Sprintf("%s: %s, is switched off: %s", d.What, d.Change, d.Why)
	case d.Key == "":
		return fmt.Sprintf("%s: %s", d.What, d.Change)
	}
	switch d.Change {
	case Added:
		return fmt.Sprintf("%s: %s added: %s", d.What, d.Key, d.To)
	case Removed:
		return fmt.Sprintf("%s: %s removed, was %s", d.What, d.Key, d.From)
	case Changed:
	}
	if strings.HasPrefix(d.Key, "sets.") {
		target := strings.TrimPrefix(d.Key, "sets.")
		return fmt.Sprintf("%s: moved from set %s to set %s on %s", d.What, d.From, d.To, target)
	}
	return fmt.Sprintf("%s: %s changed from %s to %s", d.What, d.Key, d.From, d.To)
}

// Diff lists how b differs from a, part by part: the head of the file first, then targets, kinds, profiles, backends,
// scenarios, metrics, benchmarks, options, graphs and branches, each in the order of b, then those that only a has. It is
// empty exactly when the digests are equal.
func Diff(a, b Definitions) []Difference {
	headA, headB := tree(a), tree(b)
	var lists []Difference
	for _, what := range []string{"target", "kind", "profile", "backend", "scenario", "metric", "benchmark", "option", "graph", "branch"} {
		key := what + "s"
		if what == "branch" {
			key = "branches"
		}
		lists = append(lists, diffLists(what, key, entriesOf(headA[key]), entriesOf(headB[key]))...)
		delete(headA, key)
		delete(headB, key)
	}
	return append(diffFields("suite", headA, headB), lists...)
}

// entry is one named table of a list.
type entry struct {
	name   string
	fields map[string]any
}

func diffLists(what, several string, a, b []entry) []Difference {
	var all []Difference
	for _, e := range b {
		title := what + " " + e.name
		old, ok := find(a, func(o entry) bool { return o.name == e.name })
		if !ok {
			all = append(all, Difference{What: title, Change: Added})
			continue
		}
		all = append(all, diffFields(title, old.fields, e.fields)...)
	}
	for _, e := range a {
		if _, ok := find(b, func(o entry) bool { return o.name == e.name }); !ok {
			all = append(all, Difference{What: what + " " + e.name, Change: Removed})
		}
	}
	if from, to := common(a, b), common(b, a); !slices.Equal(from, to) {
		all = append(all, Difference{What: several, Key: "order", Change: Changed, From: compactJSON(from), To: compactJSON(to)})
	}
	return all
}

// common returns the names in list that other has too, in order.
func common(list, other []entry) []string {
	var both []string
	for _, e := range list {
		if _, ok := find(other, func(o entry) bool { return o.name == e.name }); ok {
			both = append(both, e.name)
		}
	}
	return both
}

func diffFields(what string, a, b map[string]any) []Difference {
	flatA, flatB := map[string]string{}, map[string]string{}
	flatten("", a, flatA)
	flatten("", b, flatB)
	both := maps.Clone(flatA)
	maps.Copy(both, flatB)
	var all []Difference
	for _, key := range slices.Sorted(maps.Keys(both)) {
		from, had := flatA[key]
		to, has := flatB[key]
		switch {
		case !had:
			all = append(all, Difference{What: what, Key: key, Change: Added, To: to})
		case !has:
			all = append(all, Difference{What: what, Key: key, Change: Removed, From: from})
		case from != to:
			all = append(all, Difference{What: what, Key: key, Change: Changed, From: from, To: to})
		}
	}
	return all
}

// flatten writes the leaves of a table by their dotted keys; lists are leaves.
func flatten(prefix string, table map[string]any, leaves map[string]string) {
	for key, value := range table {
		switch v := value.(type) {
		case nil:
		case map[string]any:
			flatten(join(prefix, key), v, leaves)
		default:
			leaves[join(prefix, key)] = compactJSON(v)
		}
	}
}

// tree returns d as plain JSON values.
func tree(d Definitions) map[string]any {
	var t map[string]any
	dec := json.NewDecoder(bytes.NewReader(d.Canonical()))
	dec.UseNumber()
	if err := dec.Decode(&t); err != nil {
		panic(fmt.Sprintf("suite: canonical form of %s is no JSON object: %v", d.Name, err))
	}
	return t
}

func entriesOf(list any) []entry {
	tables, _ := list.([]any)
	var all []entry
	for _, t := range tables {
		if fields, ok := t.(map[string]any); ok {
			name, named := fields["name"].(string)
			if !named {
				name, _ = fields["match"].(string)
			}
			all = append(all, entry{name, fields})
		}
	}
	return all
}

func compactJSON(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(out.String())
}
