package compare_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tachobench/tacho/rules/compare"
)

// machine simulates a machine that measures with a lognormal noise on top of the true value, and drifts
// from session to session.
type machine struct {
	rng          *rand.Rand
	noise, drift float64
}

// measure returns n samples of a test case in one session.
func (m machine) measure(truth float64, n int) compare.Samples {
	s := on()
	session := truth * math.Exp(m.drift*m.rng.NormFloat64())
	for range n {
		s.Values = append(s.Values, session*math.Exp(m.noise*math.Abs(m.rng.NormFloat64())))
	}
	return s
}

// compareMany simulates test cases whose true value grows by step, and compares them.
func (m machine) compareMany(metric compare.MetricInfo, cases, n, results int, step float64) compare.Comparison {
	var all []compare.Series
	for i := range cases {
		truth := math.Exp(10 * m.rng.Float64())
		s := series(metric, m.measure(truth, n), m.measure(truth*(1+step), n))
		s.Case = testCase(string(rune('a'+i%26)) + string(rune('a'+i/26)))
		for range results {
			s.History = append(s.History, slices.Min(m.measure(truth, n).Values))
		}
		all = append(all, s)
	}
	return compare.Compare(all)
}

// TestFalseAlarms: given equal artifacts, when 20 comparisons of 100 test cases are made, then the share of relevant
// changes stays under the bound. The noise was measured on real compilers. Drift makes the samples of one session
// similar to each other: no test on two sessions can see that, so the history must catch it.
func TestFalseAlarms(t *testing.T) {
	for _, test := range []struct {
		name         string
		metric       compare.MetricInfo
		noise, drift float64
		n, results   int
		bound        float64
	}{
		{"steady counts, no history", instructions(), 0.0003, 0, 6, 0, 0.0005},
		{"steady counts, history", instructions(), 0.0003, 0, 6, 30, 0.0005},
		{"steady counts, one sample, history", instructions(), 0.0003, 0, 1, 30, 0.0005},
		{"noisy counts, three samples, no history", pageFaults(), 0.01, 0, 3, 0, 0.0005},
		{"noisy counts, three samples, history", pageFaults(), 0.01, 0, 3, 30, 0.02},
		{"noisy counts, drift, history", pageFaults(), 0.003, 0.003, 6, 30, 0.02},
		{"noisy counts, two samples, no history", pageFaults(), 0.01, 0, 2, 0, 0.0005},
		{"noisy counts, one sample, no history", pageFaults(), 0.01, 0, 1, 0, 0.0005},
		{"times, two samples, no history", wallTime(), 0.1, 0, 2, 0, 0.0005},
		{"times, two samples, drift", wallTime(), 0.05, 0.05, 2, 0, 0.005},
		{"times, no history", wallTime(), 0.1, 0, 6, 0, 0.005},
		{"times, history", wallTime(), 0.1, 0, 6, 30, 0.005},
		{"times, drift, history", wallTime(), 0.05, 0.03, 6, 30, 0.02},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := machine{rand.New(rand.NewPCG(1, 2)), test.noise, test.drift}
			alarms, total := 0, 0
			for range 20 {
				c := m.compareMany(test.metric, 100, test.n, test.results, 0)
				alarms += c.Summaries[0].All.Improved.Count + c.Summaries[0].All.Regressed.Count
				total += c.Summaries[0].Cases
			}
			rate := float64(alarms) / float64(total)
			t.Logf("%d of %d (%.3f %%)", alarms, total, 100*rate)
			if rate > test.bound {
				t.Errorf("rate %.4f, want at most %.4f", rate, test.bound)
			}
		})
	}
}

// TestPower: given a real change, when 100 test cases are compared, then at least this share of them is found relevant
// and in the right direction.
func TestPower(t *testing.T) {
	for _, test := range []struct {
		name         string
		metric       compare.MetricInfo
		noise, drift float64
		n, results   int
		step, bound  float64
	}{
		{"+5 % of a count, six samples", instructions(), 0.0003, 0, 6, 0, 0.05, 1},
		{"+5 % of a count, one sample, history", instructions(), 0.0003, 0, 1, 30, 0.05, 1},
		{"+10 % of a count, two samples, nothing known", instructions(), 0.0003, 0, 2, 0, 0.1, 1},
		{"+50 % of a time, two samples, nothing known", wallTime(), 0.01, 0, 2, 0, 0.5, 0.95},
		{"+5 % of a noisy count, three samples, history", pageFaults(), 0.01, 0, 3, 30, 0.05, 0.9},
		{"+0.5 % of a count, four samples", instructions(), 0.0003, 0, 4, 0, 0.005, 1},
		{"+0.5 % of a count, six samples, history", instructions(), 0.0003, 0, 6, 30, 0.005, 1},
		{"+30 % of a time, six samples", wallTime(), 0.05, 0, 6, 0, 0.3, 0.95},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := machine{rand.New(rand.NewPCG(3, 4)), test.noise, test.drift}
			c := m.compareMany(test.metric, 100, test.n, test.results, test.step)
			found := float64(c.Summaries[0].All.Regressed.Count) / float64(c.Summaries[0].Cases)
			t.Logf("%.0f %%", 100*found)
			if found < test.bound || c.Summaries[0].Improved > 0 {
				t.Errorf("found %.2f, want at least %.2f; %d called improved", found, test.bound, c.Summaries[0].Improved)
			}
			if c.Verdict != compare.Regression || !c.Attention {
				t.Errorf("verdict %s, attention %v; want a regression that deserves it", c.Verdict, c.Attention)
			}
		})
	}
}
