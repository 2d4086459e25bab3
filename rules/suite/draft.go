package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Draft is a suite file whose sets may be incomplete: benchmarks may have no set yet, and sets may be empty. It is only
// for planning; Load refuses it.
type Draft struct {
	Definitions
	File  string
	lines positions
}

// LoadDraft reads and checks a suite file like Load, except for the sets of its benchmarks. It does not read the
// programs.
func LoadDraft(file string, data []byte) (Draft, error) {
	d, err := loadChecked(file, data, nil, checker{draft: true})
	if err != nil {
		return Draft{}, err
	}
	return Draft{Definitions: d, File: file, lines: locate(data)}, nil
}

// Edit is a change of one line of a suite file.
type Edit struct {
	// Line counts from 1. Insert says that Text goes after the line instead of replacing it.
	Line   int
	Insert bool
	// Whose is the table that the line belongs to, such as `benchmark "json"`.
	Whose string
	Text  string
}

// Edits returns the changes that give the file the proposed sets, in the order of its lines.
func (d Draft) Edits(b Balance) []Edit {
	var edits []Edit
	for i, t := range d.Targets {
		if t.Name == b.Target && t.Sets != len(b.After) {
			edits = append(edits, d.edit(index("target", i), fmt.Sprintf("target %q", t.Name), fmt.Sprintf("sets = %d", len(b.After))))
		}
	}
	to := map[events.Benchmark]events.Set{}
	for _, s := range b.Shares {
		if s.Moved() || s.New() {
			to[s.Benchmark] = s.To
		}
	}
	for i, bench := range d.Benchmarks {
		set, ok := to[bench.Name]
		if !ok {
			continue
		}
		sets := maps.Clone(bench.Sets)
		if sets == nil {
			sets = map[events.Target]events.Set{}
		}
		sets[b.Target] = set
		edits = append(edits, d.edit(index("benchmark", i), fmt.Sprintf("benchmark %q", bench.Name), "sets = "+d.table(sets)))
	}
	slices.SortFunc(edits, func(x, y Edit) int { return x.Line - y.Line })
	return edits
}

// edit replaces the sets of the table at path, or adds them after its name.
func (d Draft) edit(path, whose, text string) Edit {
	if at, ok := d.lines[join(path, "sets")]; ok {
		return Edit{Line: at.line, Whose: whose, Text: text}
	}
	return Edit{Line: d.lines.at(join(path, "name")).line, Insert: true, Whose: whose, Text: text}
}

// table writes sets in the order of the targets.
func (d Draft) table(sets map[events.Target]events.Set) string {
	var parts []string
	for _, t := range d.Targets {
		if set, ok := sets[t.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s = %d", t.Name, set))
		}
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}
