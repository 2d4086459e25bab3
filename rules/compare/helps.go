package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Help is what would help to decide one metric.
type Help struct {
	Metric events.Metric `json:"metric"`
	// Case is the test case that the advice is about, the least certain one. Undecided counts all that are undecided.
	Case      events.TestCase `json:"case"`
	Undecided int             `json:"undecided"`
	Advice    []Advice        `json:"advice"`
}

// helps says, for each metric, what would help to decide its test cases that are undecided. Nothing is said where all are decided.
func helps(c Comparison, series []Series) []Help {
	type key struct {
		of     events.TestCase
		metric events.Metric
	}
	pairs, counted := map[key][]Pair{}, map[events.TestCase]bool{}
	for _, s := range series {
		pairs[key{s.Case, s.Metric.Name}] = s.Pairs
	}
	for _, ch := range c.Changes {
		counted[ch.Case] = counted[ch.Case] || strings.HasPrefix(string(ch.Metric), "instructions")
	}
	var list []Help
	for _, s := range c.Summaries {
		help := Help{Metric: s.Metric.Name}
		var worst Change
		for _, ch := range c.Changes {
			if ch.Metric != s.Metric.Name || ch.Judgement.conclusive() {
				continue
			}
			if help.Undecided++; help.Undecided == 1 || ch.width() > worst.width() {
				worst = ch
			}
		}
		if help.Undecided == 0 {
			continue
		}
		help.Case, help.Advice = worst.Case, worst.advice(s.Metric, pairs[key{worst.Case, worst.Metric}], counted[worst.Case])
		if len(help.Advice) > 0 {
			list = append(list, help)
		}
	}
	return list
}

// width returns how wide the interval of a change is; 0 if it has none.
func (c Change) width() float64 {
	if c.Turns == nil || c.Turns.Interval == nil {
		return 0
	}
	return c.Turns.Interval.High - c.Turns.Interval.Low
}

// advice says what would help to decide the change, if it is undecided. pairs are those of its series.
func (c Change) advice(m MetricInfo, pairs []Pair, counted bool) []Advice {
	if c.Turns == nil {
		return c.Advice(m.Class, counted)
	}
	seconds := 0.0
	if m.Class == Time && (m.Unit == "s" || m.Unit == "seconds") {
		seconds = c.Turns.A + c.Turns.B
	}
	return AdviceOf(Turns{Metric: m, Pairs: pairs}, *c.Turns, counted, seconds)
}

// helpOf returns the advice on a metric as lines of a report.
func (c Comparison) helpOf(m events.Metric) []string {
	i := slices.IndexFunc(c.Helps, func(h Help) bool { return h.Metric == m })
	if i < 0 {
		return nil
	}
	var lines []string
	for _, a := range c.Helps[i].Advice {
		lines = append(lines, fmt.Sprintf("what would help: %s (%s)", a.Do, a.Gain))
	}
	return lines
}
