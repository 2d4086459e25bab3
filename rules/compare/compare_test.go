package compare_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// The metrics of the tests.
func instructions() compare.MetricInfo {
	return compare.MetricInfo{Name: "instructions:u", Class: compare.Count}
}

func pageFaults() compare.MetricInfo {
	return compare.MetricInfo{Name: "page-faults", Class: compare.Count}
}

func wallTime() compare.MetricInfo {
	return compare.MetricInfo{Name: "wall-time", Unit: "s", Class: compare.Time}
}

func exeSize() compare.MetricInfo {
	return compare.MetricInfo{Name: "size:exe", Unit: "bytes", Class: compare.Exact}
}

// testCase names a test case by its benchmark.
func testCase(benchmark string) events.TestCase {
	return events.TestCase{
		Benchmark: events.Benchmark(benchmark), Profile: "check", Scenario: "full", Backend: "llvm",
		Target: "x86_64-unknown-linux-gnu",
	}
}

// on returns samples of the machine all tests measure on.
func on(values ...float64) compare.Samples {
	return compare.Samples{Values: values, Environment: "m1"}
}

// around returns n samples just above a minimum: min, min·(1+ε), min·(1+2ε), …
func around(minimum float64, n int) compare.Samples {
	s := on()
	for i := range n {
		s.Values = append(s.Values, minimum*(1+1e-6*float64(i)))
	}
	return s
}

// series builds the one series of a test from its sides.
func series(m compare.MetricInfo, a, b compare.Samples, more ...func(*compare.Series)) compare.Series {
	s := compare.Series{Case: testCase("derive"), Category: compare.Primary, Metric: m, A: a, B: b}
	for _, f := range more {
		f(&s)
	}
	return s
}

func history(values ...float64) func(*compare.Series) {
	return func(s *compare.Series) { s.History = values }
}

// flat is a history of n equal results.
func flat(n int) func(*compare.Series) {
	return func(s *compare.Series) { s.History = slices.Repeat([]float64{1000}, n) }
}

func spread(x float64) func(*compare.Series) { return func(s *compare.Series) { s.Spread = x } }

func floor(x float64) func(*compare.Series) { return func(s *compare.Series) { s.Metric.Floor = x } }

func interfered(a, b int) func(*compare.Series) {
	return func(s *compare.Series) { s.A.Interfered, s.B.Interfered = a, b }
}

func machines(a, b events.Digest) func(*compare.Series) {
	return func(s *compare.Series) { s.A.Environment, s.B.Environment = a, b }
}

func higherIsBetter(s *compare.Series) { s.Metric.HigherIsBetter = true }

// TestJudgement: given the data of one test case, when it is judged alone, then this rule fires.
func TestJudgement(t *testing.T) {
	ten := []float64{1000, 1010, 1000, 1010, 1000, 1010, 1000, 1010, 1000, 1010} // steps of 1 %
	for _, test := range []struct {
		name  string
		given compare.Series
		want  compare.Judgement
		why   string
	}{
		{"count up", series(instructions(), around(1000, 6), around(1010, 6)), compare.Regressed, "the measurements differ"},
		{"count down", series(instructions(), around(1000, 6), around(990, 6)), compare.Improved, "the measurements differ"},
		{"higher is better", series(instructions(), around(1000, 6), around(1010, 6), higherIsBetter), compare.Improved, "the measurements differ"},
		{"count reaches 0.2 %", series(instructions(), around(1000, 6), around(1002, 6)), compare.Regressed, "fewer than 10"},
		{"count below 0.2 %", series(instructions(), around(1000, 6), around(1001.9, 6)), compare.Unchanged, "below the noise threshold of 0.20%"},
		{"time reaches 2 %", series(wallTime(), around(1000, 6), around(1020, 6)), compare.Regressed, "fewer than 10"},
		{"time below 2 %", series(wallTime(), around(1000, 6), around(1019, 6)), compare.Unchanged, "below the noise threshold of 2.00%"},
		{"nine results make no fence", series(instructions(), around(1000, 6), around(1005, 6), history(ten[:9]...)), compare.Regressed, "fewer than 10"},
		{"ten results make a fence", series(instructions(), around(1000, 6), around(1005, 6), history(ten...)), compare.Unchanged, "upper fence"},
		{"over the fence", series(instructions(), around(1000, 6), around(1050, 6), history(ten...)), compare.Regressed, "upper fence"},
		{"a flat history of counts", series(instructions(), around(1000, 6), around(1000.2, 6), flat(30)), compare.Unchanged, "floor of its class"},
		{"a flat history of one sample each", series(instructions(), on(1000), on(1000.2), flat(30)), compare.Unchanged, "floor of its class"},
		{"a flat history of times", series(wallTime(), around(1000, 6), around(1009, 6), flat(30)), compare.Unchanged, "floor of its class"},
		{"below the spread", series(instructions(), around(1000, 6), around(1010, 6), spread(0.03)), compare.Unchanged, "spread between equal artifacts"},
		{"below the floor", series(instructions(), around(1000, 6), around(1010, 6), floor(0.03)), compare.Unchanged, "metric's floor"},
		{"the samples overlap", series(instructions(), on(1000, 1020, 1040, 1060, 1080, 1100), on(1010, 1015, 1035, 1055, 1075, 1110)), compare.Unchanged, "do not differ"},
		{"equal counts", series(instructions(), on(1000, 1000, 1000), on(1000, 1000, 1000)), compare.Unchanged, "below the noise threshold"},
		{"minimum against median", series(instructions(), on(1000, 1001, 1002, 1003, 1004, 1005), on(990, 1100, 1100, 1100, 1100, 1100), spread(0.005)), compare.Unchanged, "do not differ"},
		{"minimum against median, many", series(instructions(), around(1000, 20), on(append([]float64{990}, around(1100, 19).Values...)...)), compare.Inconclusive, "opposite directions"},
		{"two equal counts each, +10 %", series(instructions(), on(1000, 1000), on(1100, 1100)), compare.Regressed, "at least 10 times the largest known noise (0.20%)"},
		{"two equal counts each, -10 %", series(instructions(), on(1000, 1000), on(900, 900)), compare.Improved, "at least 10 times the largest known noise (0.20%)"},
		{"two equal counts each, ten times the threshold", series(instructions(), on(1000, 1000), on(1020, 1020)), compare.Regressed, "at least 10 times"},
		{"two equal counts each, just below", series(instructions(), on(1000, 1000), on(1019.9, 1019.9)), compare.Inconclusive, "the change is below 10 times all known noise"},
		{"two counts each that vary as much", series(instructions(), on(1000, 1020), on(1100, 1100)), compare.Inconclusive, "below 10 times"},
		{"two counts each that vary as much in b", series(instructions(), on(1000, 1000), on(1100, 1120)), compare.Inconclusive, "below 10 times"},
		{"one count each, +5 %", series(instructions(), on(1000), on(1050)), compare.Regressed, "at least 10 times the largest known noise (0.50%)"},
		{"one count each, below 5 %", series(instructions(), on(1000), on(1049)), compare.Inconclusive, "too few measurements for a test, no history"},
		{"three counts each, nothing known", series(instructions(), around(1000, 3), around(1010, 3)), compare.Inconclusive, "too few measurements for a test, no history"},
		{"three counts each, a history", series(instructions(), around(1000, 3), around(1100, 3), flat(10)), compare.Regressed, "the threshold alone"},
		{"three counts each, a spread", series(instructions(), around(1000, 3), around(1100, 3), spread(0.001)), compare.Regressed, "the threshold alone"},
		{"three counts each, a floor", series(instructions(), around(1000, 3), around(1100, 3), floor(0.002)), compare.Regressed, "the threshold alone"},
		{"three counts each, unchanged", series(instructions(), around(1000, 3), around(1001, 3)), compare.Unchanged, "below the noise threshold"},
		{"three times each", series(wallTime(), around(1000, 3), around(1099, 3), flat(30)), compare.Inconclusive, "too few measurements for a time: 3 and 3, where 4 and 4"},
		{"three times each, far apart", series(wallTime(), around(1000, 3), around(1110, 3), flat(30)), compare.Regressed, "at least 10 times the largest known noise (1.00%)"},
		{"two times each, far apart, nothing known", series(wallTime(), around(1000, 2), around(1210, 2)), compare.Regressed, "at least 10 times the largest known noise (2.00%)"},
		{"two times each, not far enough", series(wallTime(), around(1000, 2), around(1190, 2)), compare.Inconclusive, "too few measurements for a time: 2 and 2"},
		{"two times each that vary", series(wallTime(), on(1000, 1050), on(1400, 1410)), compare.Inconclusive, "too few measurements for a time: 2 and 2"},
		{"two times each, far apart, disturbed", series(wallTime(), around(1000, 2), around(9000, 2), interfered(0, 1)), compare.Inconclusive, "too few measurements for a time"},
		{"one time each, far apart", series(wallTime(), on(1000), on(9000), flat(30)), compare.Inconclusive, "too few measurements for a time: 1 and 1"},
		{"three equal times each", series(wallTime(), around(1000, 3), around(1000, 3)), compare.Inconclusive, "too few measurements"},
		{"four times each", series(wallTime(), around(1000, 4), around(2000, 4)), compare.Regressed, "the measurements differ"},
		{"times under interference", series(wallTime(), around(1000, 6), around(2000, 6), interfered(0, 6)), compare.Inconclusive, "interference on record: only 6 of 6 and 0 of 6"},
		{"times with enough clean samples", series(wallTime(), around(1000, 6), around(2000, 6), interfered(1, 2)), compare.Regressed, "the measurements differ"},
		{"counts do not mind interference", series(instructions(), around(1000, 6), around(1010, 6), interfered(6, 6)), compare.Regressed, "the measurements differ"},
		{"other machines", series(instructions(), around(1000, 6), around(2000, 6), machines("m1", "m2")), compare.NotComparable, "different environments"},
		{"unknown machines", series(exeSize(), on(1000), on(2000), machines("", "")), compare.NotComparable, "not on record"},
		{"an unknown class is a time", series(compare.MetricInfo{Name: "x"}, around(1000, 3), around(1050, 3), flat(30)), compare.Inconclusive, "too few measurements for a time"},
		{"exact, by one byte", series(exeSize(), on(1_000_000), on(1_000_001)), compare.Regressed, "any change of an exact metric"},
		{"exact, despite history and spread", series(exeSize(), on(1000), on(1001), history(ten...), spread(0.5)), compare.Regressed, "any change of an exact metric"},
		{"exact, equal", series(exeSize(), on(1000, 1000), on(1000)), compare.Unchanged, "equal"},
		{"exact, below its floor", series(exeSize(), on(1000), on(1001), floor(0.01)), compare.Unchanged, "metric's floor"},
		{"exact, varying and overlapping", series(exeSize(), on(1000, 1003), on(1002, 1005)), compare.Inconclusive, "declared exact"},
		{"exact, varying and apart", series(exeSize(), on(1000, 1003), on(1004, 1005)), compare.Regressed, "any change of an exact metric"},
		{"exact, varying alike", series(exeSize(), on(1000, 1003), on(1003, 1000)), compare.Unchanged, "equal"},
		{"from zero", series(instructions(), on(0, 0, 0, 0), on(5, 5, 5, 5)), compare.Inconclusive, "no relative change exists from 0 to 5"},
		{"to zero", series(instructions(), on(5, 5, 5, 5), on(0, 0, 0, 0)), compare.Improved, "the measurements differ"},
		{"zero both", series(instructions(), on(0), on(0)), compare.Unchanged, "below the noise threshold"},
		{"negative", series(instructions(), on(-5, -5, -5, -5), on(5, 5, 5, 5)), compare.Inconclusive, "no relative change"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := compare.Compare([]compare.Series{test.given})
			if len(got.Changes) != 1 {
				t.Fatalf("got %d changes, want 1", len(got.Changes))
			}
			if c := got.Changes[0]; c.Judgement != test.want || !strings.Contains(c.Why, test.why) {
				t.Errorf("got %s because %q, want %s because …%q…", c.Judgement, c.Why, test.want, test.why)
			}
		})
	}
}

// many returns n series of the same samples with benchmarks of different names.
func many(n int, s compare.Series) []compare.Series {
	var out []compare.Series
	for i := range n {
		s.Case = testCase("other-" + strings.Repeat("x", i))
		out = append(out, s)
	}
	return out
}

// TestCorrection: given one clear change among many unchanged test cases, when it cannot survive the correction, then a
// count is judged on its own p-value and a time is inconclusive.
func TestCorrection(t *testing.T) {
	for _, test := range []struct {
		name   string
		metric compare.MetricInfo
		n      int
		others int
		want   compare.Judgement
		why    string
	}{
		{"count alone", instructions(), 6, 0, compare.Regressed, "the measurements differ, and"},
		{"count among a few", instructions(), 6, 20, compare.Regressed, "the measurements differ, and"},
		{"count among many", instructions(), 6, 99, compare.Regressed, "so few can show among 100"},
		{"time alone", wallTime(), 6, 0, compare.Regressed, "the measurements differ, and"},
		{"time among many", wallTime(), 6, 99, compare.Inconclusive, "among 100 test cases only 8 and 8"},
		{"time among many, enough samples", wallTime(), 8, 99, compare.Regressed, "the measurements differ, and"},
		{"time among many, few samples", wallTime(), 4, 99, compare.Inconclusive, "among 100 test cases only 8 and 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			same := series(test.metric, on(1, 2, 3, 4, 5, 6, 7, 8), on(1, 2, 3, 4, 5, 6, 7, 8))
			all := append(many(test.others, same), series(test.metric, around(1000, test.n), around(1100, test.n)))
			checkDerive(t, compare.Compare(all), test.want, test.why)
		})
	}
	t.Run("time among many, far above all noise", func(t *testing.T) {
		same := series(wallTime(), on(1, 2, 3, 4, 5, 6), on(1, 2, 3, 4, 5, 6))
		all := append(many(99, same), series(wallTime(), around(1000, 4), around(1210, 4)))
		checkDerive(t, compare.Compare(all), compare.Regressed, "among 100 test cases, but the change is at least 10 times")
	})
	t.Run("overlapping count among many", func(t *testing.T) {
		same := series(instructions(), on(1, 2, 3, 4, 5, 6), on(1, 2, 3, 4, 5, 6))
		overlap := series(instructions(), on(1000, 1020, 1040, 1060, 1080, 1100), on(1010, 1015, 1035, 1055, 1075, 1110))
		checkDerive(t, compare.Compare(append(many(99, same), overlap)), compare.Unchanged, "do not differ")
	})
}

// checkDerive checks the judgement on the test case "derive".
func checkDerive(t *testing.T, got compare.Comparison, want compare.Judgement, why string) {
	t.Helper()
	for _, c := range got.Changes {
		if c.Case != testCase("derive") {
			continue
		}
		if c.Judgement != want || !strings.Contains(c.Why, why) {
			t.Errorf("got %s because %q, want %s because …%q…", c.Judgement, c.Why, want, why)
		}
	}
}

// TestChange: given a series, when it is compared, then the change holds everything that the decision is based on.
func TestChange(t *testing.T) {
	a, b := on(12, 10, 14, 11, 13, 15), on(22, 20, 24, 21, 23, 25)
	got := compare.Compare([]compare.Series{series(instructions(), a, b)}).Changes[0]
	relative, p := 1.0, 2.0/924
	want := compare.Change{
		Case: testCase("derive"), Category: compare.Primary, Metric: "instructions:u",
		A:        compare.Side{N: 6, Min: 10, Median: 12.5, MedianInterval: &compare.Interval{Low: 10, High: 15}, Environment: "m1"},
		B:        compare.Side{N: 6, Min: 20, Median: 22.5, MedianInterval: &compare.Interval{Low: 20, High: 25}, Environment: "m1"},
		Relative: &relative, P: &p, Adjusted: &p, Threshold: 0.002, Rule: compare.RuleFewResults,
		Significant: true, Relevant: true, Magnitude: compare.VeryLarge, Judgement: compare.Regressed,
		Why: "the measurements differ, and the change reaches the noise threshold of 0.20% (fixed, with fewer than 10 master results before a)",
	}
	near := cmp.Comparer(func(x, y float64) bool { return max(x-y, y-x) < 1e-12 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{12, 10, 14, 11, 13, 15}, a.Values); diff != "" {
		t.Errorf("the caller's samples were changed:\n%s", diff)
	}
}

// TestAbsent: given test cases that one side lacks, when compared, then they are listed apart.
func TestAbsent(t *testing.T) {
	nan := on(nanValue())
	got := compare.Compare([]compare.Series{
		series(instructions(), on(), on(5)),
		series(wallTime(), on(5), nan),
		series(exeSize(), nan, on()),
	})
	if diff := cmp.Diff([]compare.Absent{{Case: testCase("derive"), Category: compare.Primary, Metric: "instructions:u"}}, got.New); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]compare.Absent{{Case: testCase("derive"), Category: compare.Primary, Metric: "wall-time"}}, got.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if len(got.Changes) != 0 || got.Verdict != compare.NoChange || got.Headline != "" {
		t.Errorf("got %d changes, verdict %q, headline %q; want none of them", len(got.Changes), got.Verdict, got.Headline)
	}
}

// TestHeadline: given several metrics, when compared, then the best one with enough test cases is the headline.
func TestHeadline(t *testing.T) {
	judged := func(m compare.MetricInfo, cases ...string) []compare.Series {
		var out []compare.Series
		for _, c := range cases {
			s := series(m, around(1000, 6), around(1000, 6))
			s.Case = testCase(c)
			out = append(out, s)
		}
		return out
	}
	unjudged := series(instructions(), on(1000), on(1010))
	custom := func(name string, class compare.Class) compare.MetricInfo {
		return compare.MetricInfo{Name: events.Metric(name), Class: class}
	}
	for _, test := range []struct {
		name  string
		given []compare.Series
		want  events.Metric
	}{
		{"nothing", nil, ""},
		{"instructions first", slices.Concat(judged(wallTime(), "x"), judged(pageFaults(), "x"), judged(instructions(), "x")), "instructions:u"},
		{"then the proxies", slices.Concat(judged(wallTime(), "x"), judged(pageFaults(), "x")), "page-faults"},
		{"then time", judged(wallTime(), "x"), "wall-time"},
		{"instructions of one case in three", slices.Concat(judged(pageFaults(), "x", "y", "z"), judged(instructions(), "x")), "page-faults"},
		{"instructions that were not judged", append(judged(pageFaults(), "x"), unjudged), "page-faults"},
		{"nothing judged", []compare.Series{unjudged}, "instructions:u"},
		{"own metrics", slices.Concat(judged(custom("a", compare.Time), "x"), judged(custom("b", compare.Exact), "x"), judged(custom("c", compare.Count), "x")), "c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := compare.Compare(test.given)
			if got.Headline != test.want {
				t.Errorf("headline %q, want %q", got.Headline, test.want)
			}
			if len(got.Summaries) > 0 && got.Summaries[0].Metric.Name != test.want {
				t.Errorf("first summary is %q, want the headline", got.Summaries[0].Metric.Name)
			}
		})
	}
}

// TestRoundTrip: given a comparison, when it is stored as JSON and read, then it is the same.
func TestRoundTrip(t *testing.T) {
	want := compare.Compare(demo())
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got compare.Comparison
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparison (-stored +read):\n%s", diff)
	}
}

// TestSamplesOf: given iterations, when one metric is collected, then the samples hold only its values and its
// interference.
func TestSamplesOf(t *testing.T) {
	got := compare.SamplesOf("wall-time", []events.Iteration{
		{Metrics: map[events.Metric]float64{"wall-time": 2, "max-rss": 9}},
		{Metrics: map[events.Metric]float64{"max-rss": 9}, Interference: "steal"},
		{Metrics: map[events.Metric]float64{"wall-time": 1}, Interference: "pressure 12 %"},
	}, "m1")
	want := compare.Samples{Values: []float64{2, 1}, Environment: "m1", Interfered: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}
