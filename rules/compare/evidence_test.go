package compare_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// pairedSeries is a test case with a base series that says that b is half as fast, and pairs in which it takes times as long.
func pairedSeries(name events.Benchmark, metric compare.MetricInfo, times float64) compare.Series {
	s := compare.Series{Case: events.TestCase{Benchmark: name}, Category: compare.Primary, Metric: metric}
	for i := range 20 {
		noise := 1 + 0.001*float64(i*7%10)
		s.A.Values, s.B.Values = append(s.A.Values, noise), append(s.B.Values, 2*noise)
		drift := noise * (1 + 0.0005*float64(i))
		s.Pairs = append(s.Pairs, compare.Pair{A: drift, B: times * drift * (1 + 0.001*float64(i%3)), Disturbed: i == 3})
	}
	s.A.Environment, s.B.Environment = "e1", "e1"
	return s
}

// TestPairsDecide: where there are pairs, the judgement, the change and the words are those of JudgeTurns, and those of the others stay.
func TestPairsDecide(t *testing.T) {
	seconds := compare.MetricInfo{Name: "wall-time", Unit: "s", Class: compare.Time}
	slower, equal, base := pairedSeries("slower", seconds, 1.1), pairedSeries("equal", seconds, 1), pairedSeries("base", seconds, 1)
	base.Pairs = nil
	few := pairedSeries("few", seconds, 1.1)
	few.Pairs = few.Pairs[:4]
	c := compare.Compare([]compare.Series{slower, equal, base, few})
	var got []string
	for _, ch := range c.Changes {
		got = append(got, fmt.Sprintf("%s: %s, %.1f %%, relevant %v, %v", ch.Case.Benchmark, ch.Judgement, *ch.Relative*100, ch.Relevant, ch.Turns != nil))
	}
	if diff := cmp.Diff([]string{
		"base: regressed, 100.0 %, relevant true, false", "equal: unchanged, 0.1 %, relevant false, true",
		"few: inconclusive, 10.1 %, relevant false, true", "slower: regressed, 10.1 %, relevant true, true",
	}, got); diff != "" {
		t.Error(diff)
	}
	all := compare.JudgeAllTurns([]compare.Turns{{Metric: seconds, Pairs: equal.Pairs}, {Metric: seconds, Pairs: few.Pairs}, {Metric: seconds, Pairs: slower.Pairs}})
	for i, ch := range c.Changes[1:] {
		if diff := cmp.Diff(&all[i], ch.Turns); diff != "" || ch.Why != all[i].Why || ch.Threshold != all[i].Threshold || ch.P != nil || ch.Adjusted != nil {
			t.Errorf("%s: %q: %s", ch.Case.Benchmark, ch.Why, diff)
		}
	}
	if len(c.Helps) != 1 || c.Helps[0].Case != few.Case || c.Helps[0].Undecided != 1 || len(c.Helps[0].Advice) == 0 {
		t.Errorf("the help is %+v", c.Helps)
	}
	alone := compare.Compare([]compare.Series{base})
	if diff := cmp.Diff(alone.Changes[0], c.Changes[0]); diff != "" {
		t.Errorf("the base series is judged otherwise beside pairs:\n%s", diff)
	}
	again := compare.Compare([]compare.Series{few, base, slower, equal})
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("in another order:\n%s", diff)
	}
}

// TestPairsAreShown: every rendering says that pairs decided, how many there are, and the interval.
func TestPairsAreShown(t *testing.T) {
	c := compare.Compare([]compare.Series{pairedSeries("slower", compare.MetricInfo{Name: "wall-time", Unit: "s", Class: compare.Time}, 1.1)})
	words := c.Changes[0].Evidence()
	if !strings.HasPrefix(words, "in turns: 20 pairs, 1 with interference, interval [+") {
		t.Error(words)
	}
	r := compare.Report{Comparison: &c}
	var text, markdown, table bytes.Buffer
	for _, err := range []error{compare.Text(&text, r, compare.Options{}), compare.Markdown(&markdown, r, compare.Options{}), compare.CSV(&table, c, compare.Options{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(text.String(), words) || !strings.Contains(markdown.String(), "in turns: 20 pairs") {
		t.Errorf("%s\n%s", text.String(), markdown.String())
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	head, row := strings.Split(lines[0], ","), strings.Split(lines[1], ",")
	if at := slices.Index(head, "pairs"); at < 0 || row[len(row)-4] != "20" || row[len(row)-3] != "1" || !strings.HasPrefix(row[len(row)-2], "0.0") {
		t.Errorf("%q", lines)
	}
}
