package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/tachobench/tacho/events"
)

// CSV writes a comparison as a table with a head: one line per test case and metric, values in the metric's own unit,
// relative changes as fractions, and empty fields for missing values. A line that only one side has gets the judgement
// "new" or "missing". Names are written as they are. It fails only when w does.
func CSV(w io.Writer, c Comparison, o Options) error {
	out := csv.NewWriter(w)
	lines := [][]string{{
		"metric", "benchmark", "profile", "scenario", "backend", "target", "category", "judgement", "magnitude",
		"significant", "relevant", "a_min", "b_min", "a_median", "b_median", "a_n", "b_n",
		"relative", "threshold", "threshold_rule", "p", "p_adjusted", "why", "pairs", "pairs_disturbed", "interval_low", "interval_high",
	}}
	for _, ch := range c.Changes {
		if !o.shows(ch.Metric) || o.Brief && ch.Judgement == Unchanged {
			continue
		}
		magnitude, err := ch.Magnitude.MarshalText()
		if err != nil {
			return fmt.Errorf("write %s of %s as CSV: %w", ch.Metric, ch.Case, err)
		}
		lines = append(lines, append(
			csvCase(ch.Metric, ch.Case, ch.Category), string(ch.Judgement), string(magnitude),
			strconv.FormatBool(ch.Significant), strconv.FormatBool(ch.Relevant),
			csvNumber(&ch.A.Min), csvNumber(&ch.B.Min), csvNumber(&ch.A.Median), csvNumber(&ch.B.Median),
			strconv.Itoa(ch.A.N), strconv.Itoa(ch.B.N), csvNumber(ch.Relative),
			csvNumber(&ch.Threshold), string(ch.Rule), csvNumber(ch.P), csvNumber(ch.Adjusted), ch.Why,
		))
		last := &lines[len(lines)-1]
		*last = append(*last, csvTurns(ch.Turns)...)
	}
	absent := func(judgement string, of []Absent) {
		for _, a := range of {
			if o.shows(a.Metric) {
				line := append(csvCase(a.Metric, a.Case, a.Category), judgement)
				lines = append(lines, append(line, make([]string, len(lines[0])-len(line))...))
			}
		}
	}
	absent("new", c.New)
	absent("missing", c.Missing)
	return out.WriteAll(lines)
}

// csvCase returns the fields that name a test case and a metric.
func csvCase(m events.Metric, c events.TestCase, category Category) []string {
	return []string{
		string(m), string(c.Benchmark), string(c.Profile), string(c.Scenario), string(c.Backend),
		string(c.Target), string(category),
	}
}

// csvTurns returns the fields of what was measured in turns.
func csvTurns(t *Turned) []string {
	if t == nil {
		return make([]string, 4)
	}
	var low, high *float64
	if t.Interval != nil {
		low, high = &t.Interval.Low, &t.Interval.High
	}
	return []string{strconv.Itoa(t.Pairs), strconv.Itoa(t.Disturbed), csvNumber(low), csvNumber(high)}
}

// csvNumber writes a number so that reading it gives the same number; nothing for nil.
func csvNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}
