package compare

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// Options says what a rendering shows. The zero value shows everything.
type Options struct {
	// Metrics, if given, are the only ones shown.
	Metrics []events.Metric
	// Brief leaves out test cases that are unchanged.
	Brief bool
	// Focus shows the test cases of the headline metric, and one sentence for each other metric. Markdown ignores it
	// and folds them away.
	Focus bool
	// Limit is how many bytes Markdown may have, at least 16 KiB; 0 is no limit.
	Limit int
}

// section is one metric, ready to show.
type section struct {
	Summary
	// shared says what all test cases have in common, so that their names can leave it out; empty for nothing.
	shared string
	rows   [][]string
	// notes are the reasons why test cases could not be judged, each once with its count.
	notes []string
}

// columns returns the column heads of a section.
func columns() []string {
	return []string{"test case", "a", "b", "change", "threshold", "n", "p", "judgement"}
}

// sections prepares the metrics of a comparison that o asks for.
func sections(c Comparison, o Options) []section {
	var out []section
	for _, s := range c.Summaries {
		if !o.shows(s.Metric.Name) {
			continue
		}
		sec := section{Summary: s}
		var cases []events.TestCase
		for _, ch := range c.Changes {
			if ch.Metric == s.Metric.Name {
				cases = append(cases, ch.Case)
			}
		}
		var name func(events.TestCase) string
		sec.shared, name = naming(cases)
		seen := map[string]int{}
		var reasons []string
		for _, ch := range c.Changes {
			if ch.Metric != s.Metric.Name {
				continue
			}
			if o.details(s.Metric.Name, c.Headline) && !ch.Judgement.conclusive() {
				reason := words(ch.Judgement) + ": " + ch.Why
				if seen[reason]++; seen[reason] == 1 {
					reasons = append(reasons, reason)
				}
			}
			if o.details(s.Metric.Name, c.Headline) && (!o.Brief || ch.Judgement != Unchanged) {
				sec.rows = append(sec.rows, row(s.Metric, name(ch.Case), ch))
			}
		}
		for _, reason := range reasons {
			sec.notes = append(sec.notes, fmt.Sprintf("%s (%s)", reason, phrase.Count(seen[reason], "test case")))
		}
		if len(reasons) > 0 {
			sec.notes = append(sec.notes, c.helpOf(s.Metric.Name)...)
		}
		out = append(out, sec)
	}
	return out
}

// details reports whether the test cases of a metric are shown.
func (o Options) details(metric, headline events.Metric) bool { return !o.Focus || metric == headline }

func (o Options) shows(metric events.Metric) bool {
	if len(o.Metrics) == 0 {
		return true
	}
	for _, m := range o.Metrics {
		if m == metric {
			return true
		}
	}
	return false
}

// row writes one change in the order of columns.
func row(m MetricInfo, name string, c Change) []string {
	change, threshold, p, judgement := "-", "-", "-", words(c.Judgement)
	if c.Relative != nil {
		change = signed(*c.Relative)
	}
	if c.Rule != RuleExact {
		threshold = Percent(c.Threshold)
	}
	if c.Adjusted != nil {
		p = strconv.FormatFloat(*c.Adjusted, 'f', 3, 64)
	}
	if c.Significant {
		judgement += ", " + c.Magnitude.String()
	}
	a, b := c.Shown()
	n := fmt.Sprintf("%d+%d", c.A.N, c.B.N)
	if t := c.Turns; t != nil {
		n = phrase.Count(t.Pairs, "pair")
		if t.P != nil {
			p = strconv.FormatFloat(*t.P, 'f', 3, 64)
		}
		judgement += ", " + c.Evidence()
	}
	return []string{name, m.Format(a), m.Format(b), change, threshold, n, p, judgement}
}

// words writes a judgement with spaces.
func words(j Judgement) string { return strings.ReplaceAll(string(j), "_", " ") }

// naming returns a function that gives test cases different names without the backend and the target that all share,
// and a phrase with those.
func naming(cases []events.TestCase) (shared string, name func(events.TestCase) string) {
	backend, target := true, true
	for _, c := range cases {
		backend = backend && c.Backend == cases[0].Backend
		target = target && c.Target == cases[0].Target
	}
	var phrases []string
	if len(cases) > 0 && backend && cases[0].Backend != "" {
		phrases = append(phrases, "backend "+printable(string(cases[0].Backend)))
	}
	if len(cases) > 0 && target && cases[0].Target != "" {
		phrases = append(phrases, "target "+printable(string(cases[0].Target)))
	}
	name = func(c events.TestCase) string {
		parts := []string{string(c.Benchmark), string(c.Profile), string(c.Scenario)}
		if !backend {
			parts = append(parts, string(c.Backend))
		}
		if !target {
			parts = append(parts, string(c.Target))
		}
		return printable(strings.Join(parts, "/"))
	}
	return strings.Join(phrases, ", "), name
}

// ranges writes the relevant changes of a summary, one line per group: group, regressed, improved. It is
// empty when there are none.
func (s Summary) ranges() [][]string {
	if s.All.Regressed.Count+s.All.Improved.Count == 0 {
		return nil
	}
	return [][]string{
		{"primary", s.Primary.Regressed.words(), s.Primary.Improved.words()},
		{"secondary", s.Secondary.Regressed.words(), s.Secondary.Improved.words()},
		{"all", s.All.Regressed.words(), s.All.Improved.words()},
	}
}

// words writes a range as "mean [min, max] (count)".
func (r Range) words() string {
	if r.Count == 0 {
		return "-"
	}
	return fmt.Sprintf("%s [%s, %s] (%d)", signed(r.Mean), signed(r.Min), signed(r.Max), r.Count)
}

// printable replaces characters that could move the cursor of a terminal or break a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
