package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tachobench/tacho/internal/phrase"
)

// metricBlocks shows each metric: the headline metric open, the others folded away.
func metricBlocks(c Comparison, o Options) []block {
	var blocks []block
	var quiet []string
	c.Changes = ranked(c.Changes)
	for _, s := range sections(c, o) {
		name := code(string(s.Metric.Name))
		if s.Metric.Name == c.Headline {
			verdict := block{rank: rankVerdict, name: name, open: "\n### " + name + "\n"}
			if s.Outcome.said() { // a table of zeros would say that nothing changed
				verdict.open += "\n" + s.table()
			}
			blocks = append(blocks, verdict)
			cases := s.cases()
			cases.rank, cases.name = rankCases, "the test cases of "+name
			cases.open = "\n<details><summary>" + s.title() + "</summary>\n" + s.reasons()
			cases.shut = "\n</details>\n"
			if len(cases.rows) > 0 || len(s.notes) > 0 {
				blocks = append(blocks, cases)
			}
			continue
		}
		if len(s.rows) == 0 && len(s.notes) == 0 {
			quiet = append(quiet, name)
			continue
		}
		other := s.cases()
		other.rank, other.name = rankMetric, name
		other.open = "\n<details><summary>" + codeHTML(string(s.Metric.Name)) + ": " + s.brief() + "</summary>\n\n" + s.say(name).Sentence + "\n"
		if s.All.Regressed.Count+s.All.Improved.Count > 0 {
			other.open += "\n" + s.table()
		}
		other.open += s.reasons()
		if s.shared != "" && len(other.rows) > 0 {
			other.open += "\nAll for " + code(s.shared) + ".\n"
		}
		other.shut = "\n</details>\n"
		blocks = append(blocks, other)
	}
	if len(quiet) > 0 {
		line := "\nNothing changed in " + strings.Join(quiet, ", ") + ".\n"
		blocks = append(blocks, block{rank: rankQuiet, name: "the metrics in which nothing changed", open: line})
	}
	return blocks
}

// ranked returns the changes, most important first: the significant ones, largest first.
func ranked(changes []Change) []Change {
	size := func(c Change) float64 {
		if !c.Significant || c.Relative == nil {
			return 0
		}
		return math.Abs(*c.Relative)
	}
	return slices.SortedStableFunc(slices.Values(changes), func(a, b Change) int {
		return cmp.Or(compareBools(b.Relevant, a.Relevant), compareBools(b.Significant, a.Significant), cmp.Compare(size(b), size(a)))
	})
}

// table sums up the relevant changes of a metric as rust-timer does.
func (s section) table() string {
	var b strings.Builder
	b.WriteString("| | mean | range | count |\n|:--|--:|:-:|--:|\n")
	for _, row := range []struct {
		name string
		Range
	}{
		{"Regressions ❌ (primary)", s.Primary.Regressed},
		{"Regressions ❌ (secondary)", s.Secondary.Regressed},
		{"Improvements ✅ (primary)", s.Primary.Improved},
		{"Improvements ✅ (secondary)", s.Secondary.Improved},
		{"All ❌✅ (primary)", s.Primary.Regressed.join(s.Primary.Improved)},
	} {
		if row.Count == 0 {
			fmt.Fprintf(&b, "| %s | - | - | 0 |\n", row.name)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | [%s, %s] | %d |\n", row.name, signed(row.Mean), signed(row.Min), signed(row.Max), row.Count)
	}
	return b.String()
}

// brief returns the verdict on a metric in a few words, with the means.
func (s section) brief() string {
	var parts []string
	for _, g := range []struct {
		words string
		Group
	}{{"primary", s.Primary}, {"secondary", s.Secondary}} {
		if all := g.Regressed.join(g.Improved); all.Count > 0 {
			parts = append(parts, g.words+" "+signed(all.Mean))
		}
	}
	if len(parts) == 0 {
		return s.Overall
	}
	return s.Outcome.mark() + strings.Join(parts, ", ")
}

// title returns the line that is visible when the test cases are folded.
func (s section) title() string {
	title := phrase.Count(len(s.rows), "test case")
	if hidden := s.Cases - len(s.rows); hidden > 0 {
		title += fmt.Sprintf(" (%d unchanged not shown)", hidden)
	}
	if s.shared != "" {
		title += ", " + codeHTML(s.shared)
	}
	return title
}

// reasons says why test cases could not be judged. The sentences are Tacho's own, so they need no escaping.
func (s section) reasons() string {
	if len(s.notes) == 0 {
		return ""
	}
	return "\n- " + strings.Join(s.notes, "\n- ") + "\n"
}

// cases returns the test cases of a metric as rows of a table, with threshold and number of samples.
func (s section) cases() block {
	b := block{head: "\n| " + strings.Join(columns(), " | ") + " |\n|---|--:|--:|--:|--:|--:|--:|---|\n"}
	for _, r := range s.rows {
		var row strings.Builder
		row.WriteString("| " + codeSpan(r[0]))
		for _, text := range r[1:] {
			row.WriteString(" | " + cell(text))
		}
		row.WriteString(" |\n")
		b.rows = append(b.rows, row.String())
	}
	return b
}

// absentBlock lists the metrics that one side lacks.
func absentBlock(title string, absent []Absent, o Options) block {
	b := block{rank: rankAbsent, name: strings.ToLower(title[:1]) + title[1:]}
	for _, a := range absent {
		if o.shows(a.Metric) {
			b.rows = append(b.rows, fmt.Sprintf("- %s of %s\n", code(string(a.Metric)), code(a.Case.String())))
		}
	}
	if len(b.rows) > 0 {
		b.open = fmt.Sprintf("\n<details><summary>%s: %s</summary>\n\n", title, phrase.Count(len(b.rows), "measurement"))
		b.shut = "\n</details>\n"
	}
	return b
}
