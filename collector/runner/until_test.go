package runner

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// chainOf is a chain of one case with these metrics in each iteration, which took a second each.
func chainOf(t *testing.T, n int, metrics ...events.Metric) *chain {
	t.Helper()
	c := newChain(suite.BenchmarkPlan{Cases: make([]events.TestCase, 1), Chain: make([]suite.Scenario, 1)}, nil)
	for k := range n {
		it := events.Iteration{Metrics: map[events.Metric]float64{}}
		for j, m := range metrics {
			it.Metrics[m] = float64(10*j + k)
		}
		if err := c.add(0, []events.Iteration{it}, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestACaseEndsOnceItIsNarrowOrSpentOrAtTheMost(t *testing.T) {
	half := func(h float64) narrowing {
		return func(_ []float64, until float64) (bool, float64) { return h <= until, h }
	}
	// The second side is wider.
	worse := func(values []float64, until float64) (bool, float64) {
		h := 0.001 * float64(len(values))
		return h <= until, h
	}
	until := &suite.Until{Min: 3, Width: 0.005}
	budget := &suite.Until{Min: 5, Width: 0.005, Budget: 4 * time.Second}
	for _, test := range []struct {
		name   string
		narrow narrowing
		until  *suite.Until
		n      int
		most   int
		other  int
		want   bool
		why    string
	}{
		{"plain, not yet", half(0), nil, 4, 5, 0, false, ""},
		{"plain", half(1), nil, 5, 5, 0, true, ""},
		{"narrow below min", half(0.004), until, 2, 30, 0, false, ""},
		{"narrow", half(0.004), until, 3, 30, 0, true, "narrow enough: ±0.4 % after 3 iterations"},
		{"wide", half(0.006), until, 29, 30, 0, false, ""},
		{"at the most", half(0.009), until, 30, 30, 0, true, "30 iterations: ±0.9 %, until 0.5 % is not reached"},
		{"at the most, and unknown", half(math.Inf(1)), until, 30, 30, 0, true, "30 iterations: how exact that is, is not known, until 0.5 % is not reached"},
		{"fewer than min wanted", half(0.2), until, 2, 2, 0, true, "2 iterations: ±20 %, until 0.5 % is not reached"},
		{"within the budget", half(0.012), budget, 3, 30, 0, false, ""},
		{"spent before min", half(0.012), budget, 4, 30, 0, true, "the budget of 4s is spent after 4 iterations: ±1.2 %"},
		{"one side is wide", worse, until, 4, 30, 6, false, ""},
		{"both sides are narrow", worse, until, 4, 30, 5, true, "narrow enough: ±0.5 % after 4 iterations"},
		{"one side is spent", worse, budget, 3, 30, 6, true, "the budget of 4s is spent after 3 iterations: ±0.6 %"},
	} {
		sides := []*chain{chainOf(t, test.n, "wall-time")}
		if test.other > 0 {
			sides = append(sides, chainOf(t, test.other, "wall-time"))
		}
		if got, why := test.narrow.enough(test.until, 0, test.n, test.most, "iteration", sides...); got != test.want || why != test.why {
			t.Errorf("%s: %v, %q; want %v, %q", test.name, got, why, test.want, test.why)
		}
	}
}

func TestTimesDecideBeforeOtherMetrics(t *testing.T) {
	for _, test := range []struct {
		name    string
		metrics []events.Metric
		times   []events.Metric
		want    [][]float64
	}{
		{"wall time", []events.Metric{"latency", "wall-time"}, []events.Metric{"latency"}, [][]float64{{10, 11}}},
		{"declared times", []events.Metric{"rate", "p50", "p99"}, []events.Metric{"p99", "p50", "p10"}, [][]float64{{20, 21}, {10, 11}}},
		{"none declared", []events.Metric{"rate", "size"}, []events.Metric{"p10"}, [][]float64{{0, 1}}},
		{"no metrics", nil, nil, nil},
	} {
		if diff := cmp.Diff(test.want, deciding(chainOf(t, 2, test.metrics...).runs[0], test.times)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Samples of one run count once.
func TestTheRunsDecideAndNotTheirSamples(t *testing.T) {
	c := chainOf(t, 0)
	for k := range 3 {
		var samples []events.Iteration
		for _, v := range []float64{1, 5, 9, 100} {
			samples = append(samples, events.Iteration{Metrics: map[events.Metric]float64{"latency": v + float64(k)}})
		}
		if err := c.add(0, samples, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([][]float64{{7, 8, 9}}, deciding(c.runs[0], nil)); diff != "" {
		t.Error(diff)
	}
}
