package ab

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/compare"
)

// Sentence says the verdict in one sentence, with the deciding metrics.
func (r Result) Sentence() string {
	var parts []string
	for _, m := range r.Metrics {
		if m.Deciding {
			parts = append(parts, m.words())
		}
	}
	if len(parts) == 0 {
		return "No verdict: not one whole pair was measured."
	}
	name := map[Verdict]string{
		Regressed: "Regressed", Improved: "Improved", Mixed: "Mixed", Unchanged: "Unchanged", Inconclusive: "Inconclusive",
	}[r.Verdict]
	return fmt.Sprintf("%s: %s.", name, strings.Join(parts, "; "))
}

// words says the judgement on one metric.
func (m Metric) words() string {
	text := string(m.Metric.Name)
	if m.Change != nil {
		text += " " + Signed(*m.Change)
	}
	if m.Interval != nil && m.Interval.Low != m.Interval.High {
		text += " (" + Range(*m.Interval) + ")"
	}
	return text + ", " + string(m.Judgement)
}

// Signed writes a relative change with its sign, as a percentage.
func Signed(x float64) string {
	if x > 0 {
		return "+" + compare.Percent(x)
	}
	return compare.Percent(x)
}

// Range writes an interval of changes.
func Range(i compare.Interval) string { return Signed(i.Low) + " … " + Signed(i.High) }

// End says why measuring ended, and what that means.
func (r Result) End() string {
	pairs, took := phrase.Count(r.Pairs, "pair"), phrase.Duration(time.Duration(r.Seconds*float64(time.Second)))
	switch r.Ended {
	case EndDecided:
		return fmt.Sprintf("Decided after %s in %s.", pairs, took)
	case EndPairs:
		return fmt.Sprintf("All %s were measured in %s.", pairs, took)
	case EndBudget:
		if r.Pairs == 0 && r.Runs > 1 {
			return fmt.Sprintf("The budget was spent before each side had run %d times, which is one pair: give more of it with --budget, or want fewer with --runs.", r.Runs)
		}
		if r.Pairs == 0 {
			return "The budget was spent before the first pair had ended: give more of it with --budget, or let the command do less."
		}
		return fmt.Sprintf("The budget was spent after %s.", pairs)
	case EndInterrupted:
		if r.Pairs == 0 {
			return "Interrupted before the first pair was whole."
		}
		return fmt.Sprintf("Interrupted after %s: this is what was known then.", pairs)
	case EndFailed:
		if r.Pairs == 0 {
			return "A run failed before the first pair was whole."
		}
		return fmt.Sprintf("A run failed after %s: this is what was known then.", pairs)
	}
	return ""
}

// Remarks say how the result came about, one sentence each.
func (r Result) Remarks() (out []string) {
	out = append(out, r.End())
	if r.Runs > 1 && r.Pairs > 0 {
		out = append(out, fmt.Sprintf("In each pair each side ran %d times, in turns, and the means count.", r.Runs))
	}
	if d := r.Disturbed; d.Pairs > 0 {
		out = append(out, fmt.Sprintf("Something else used the machine during %d of %s; at worst a run %s.", d.Pairs, phrase.Count(r.Pairs, "pair"), d.Worst))
	}
	if r.Time != nil {
		out = append(out, fmt.Sprintf("For time %s decides: %s.", r.Time.Metric, r.Time.Why))
	}
	switch {
	case r.Counted == measure.CountValgrind:
		out = append(out, "Instructions were counted with valgrind, in runs of their own: those of user mode, without the kernel and without waiting.")
	case r.Counted == measure.CountCounters:
		out = append(out, "Instructions were counted by the hardware: those of user mode.")
	case r.Uncounted != "" && r.Pairs > 0:
		out = append(out, "Instructions were not counted: "+r.Uncounted+".")
	}
	for _, note := range r.Notes {
		out = append(out, "Note: "+note+".")
	}
	for _, m := range r.Metrics {
		for _, a := range m.Advice {
			out = append(out, fmt.Sprintf("To decide %s: %s: %s.", m.Metric.Name, a.Do, a.Gain))
		}
	}
	return out
}

// Headings are those of the columns of Rows.
func Headings() []string {
	return []string{"METRIC", "A", "B", "CHANGE", "INTERVAL", "PAIRS", "JUDGEMENT"}
}

// Rows returns one row of cells for each metric that a person asks for; all for each one. Metrics that were zero on both sides say
// nothing and are left out.
func (r Result) Rows(all bool) (rows [][]string) {
	for _, m := range r.Metrics {
		if !all && !m.Deciding && (beside(m.Metric.Name) || m.Change == nil || m.A == 0 && m.B == 0) {
			continue
		}
		rows = append(rows, m.cells())
	}
	return rows
}

// cells returns the cells of one metric.
func (m Metric) cells() []string {
	change, interval := "-", "-"
	if m.Change != nil {
		change = Signed(*m.Change)
	}
	if m.Interval != nil {
		interval = Range(*m.Interval)
	}
	return []string{string(m.Metric.Name), value(m.Metric, m.A), value(m.Metric, m.B), change, interval, fmt.Sprint(m.Pairs), string(m.Judgement)}
}

// value writes a value of a metric; those of few pairs may not exist.
func value(m compare.MetricInfo, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return m.Format(v)
}

// beside reports whether a metric explains others, and hardly interests by itself.
func beside(metric events.Metric) bool {
	bare, _ := strings.CutSuffix(string(metric), ":u")
	return slices.Contains([]string{
		string(measure.ContextSwitches), string(measure.CPUMigrations), string(measure.BranchMisses), string(measure.CacheMisses), "cycles", string(measure.CPUTime),
	}, bare)
}

// Markdown writes the result for a comment or a summary of a CI job. It fails only when w does.
func (r Result) Markdown(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\na: %s, b: %s\n\n", escaped(r.Sentence()), code(r.A.label()), code(r.B.label()))
	if rows := r.Rows(all); len(rows) > 0 {
		b.WriteString("| metric | a | b | change | interval | pairs | judgement |\n|---|---:|---:|---:|---:|---:|---|\n")
		for _, cells := range rows {
			fmt.Fprintf(&b, "| %s |\n", escaped(strings.Join(cells, " | ")))
		}
		b.WriteString("\n")
	}
	for _, remark := range r.Remarks() {
		fmt.Fprintf(&b, "- %s\n", escaped(strings.ReplaceAll(remark, "\n", " ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// label names a side for people.
func (s Side) label() string {
	text := s.Name
	if s.Commit != "" {
		text += " (" + phrase.Short(s.Commit) + ")"
	}
	return strings.Join(append(slices.Clone(s.Set), text), " ")
}

// Label names the sides for people: what each was called, with what it alone had.
func (r Result) Label() (a, b string) { return r.A.label(), r.B.label() }

// escaped takes their meaning from characters that Markdown would read, but not from those of a table.
func escaped(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[").Replace(text)
}

// code writes a text as code, on one line.
func code(text string) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(text) + "`"
}

// Samples returns the pairs of all metrics, for compare.SamplesCSV. The benchmark is "ab": there is one.
func (r Result) Samples() (rows []compare.SampleRow) {
	for _, m := range r.Metrics {
		rows = append(rows, compare.SampleRow{Case: events.TestCase{Benchmark: "ab"}, Metric: m.Metric.Name, Pairs: m.Measured})
	}
	return rows
}
