package website

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
)

// halfBar is the length of the bar of the largest change.
const halfBar = 50

// changeTable is one metric of a comparison as its page shows it.
type changeTable struct {
	compare.Summary
	// Shared is what all test cases have in common and their names leave out; may be empty.
	Shared string
	Rows   []changeRow
	// Help is what would help to decide what is undecided; nil for nothing.
	Help *compare.Help
}

// changeRow is one test case of a table.
type changeRow struct {
	compare.Change
	Name              string
	From, To, Percent string
	// X and Width place the bar; there is no bar if Width is 0.
	X, Width float64
}

// changeTables makes a table for each metric. Significant changes come first, the largest of them first.
func changeTables(c comparison.Comparison) []changeTable {
	tables := make([]changeTable, len(c.Summaries))
	for i, s := range c.Summaries {
		tables[i].Summary = s
		if n := slices.IndexFunc(c.Helps, func(h compare.Help) bool { return h.Metric == s.Metric.Name }); n >= 0 {
			tables[i].Help = &c.Helps[n]
		}
		largest := 0.0
		var rows []compare.Change
		for _, ch := range c.Changes {
			if ch.Metric == s.Metric.Name {
				rows, largest = append(rows, ch), max(largest, size(ch))
			}
		}
		slices.SortStableFunc(rows, func(a, b compare.Change) int {
			if a.Significant != b.Significant {
				if a.Significant {
					return -1
				}
				return 1
			}
			if a.Significant {
				return cmp.Compare(size(b), size(a))
			}
			return 0
		})
		name, shared := naming(rows)
		tables[i].Shared = shared
		for _, ch := range rows {
			tables[i].Rows = append(tables[i].Rows, newChangeRow(s.Metric, ch, name(ch.Case), largest))
		}
	}
	return tables
}

func newChangeRow(m compare.MetricInfo, ch compare.Change, name string, largest float64) changeRow {
	from, to := ch.Shown()
	row := changeRow{Change: ch, Name: name, From: m.Format(from), To: m.Format(to), Percent: signed(ch.Relative)}
	if largest > 0 && ch.Relative != nil {
		row.Width = math.Round(size(ch)/largest*halfBar*10) / 10
		if *ch.Relative < 0 {
			row.X = -row.Width
		}
	}
	return row
}

// naming returns a function that gives each test case its own name, and the shared part: names leave out the backend
// and the target if all test cases have the same.
func naming(rows []compare.Change) (name func(events.TestCase) string, shared string) {
	backend, target := true, true
	for _, ch := range rows {
		backend = backend && ch.Case.Backend == rows[0].Case.Backend
		target = target && ch.Case.Target == rows[0].Case.Target
	}
	if len(rows) > 0 && backend {
		shared = string(rows[0].Case.Backend)
	}
	if len(rows) > 0 && target {
		shared = dotted(shared, string(rows[0].Case.Target))
	}
	return func(c events.TestCase) string {
		parts := []string{string(c.Benchmark), string(c.Profile), string(c.Scenario)}
		if !backend {
			parts = append(parts, string(c.Backend))
		}
		if !target {
			parts = append(parts, string(c.Target))
		}
		return dotted(parts...)
	}, shared
}

// dotted joins the parts that are not empty.
func dotted(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}

func size(ch compare.Change) float64 {
	if ch.Relative == nil {
		return 0
	}
	return math.Abs(*ch.Relative)
}
