package comparison

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// TestUsualMetricsAreThoseOfTheShippedSuites: what is usual for a metric is what the shipped definitions say about it.
func TestUsualMetricsAreThoseOfTheShippedSuites(t *testing.T) {
	for _, name := range definitions.Names() {
		d, err := definitions.Shipped(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range d.Metrics {
			want := MetricOf(d, m.Name)
			want.Floor, want.Undeclared = 0, true
			if diff := cmp.Diff(want, MetricOf(suite.Definitions{}, m.Name)); diff != "" {
				t.Errorf("%s of suite %s (-declared +usual):\n%s", m.Name, name, diff)
			}
		}
	}
}

// TestUndeclaredMetricsComeLast: metrics that the definitions do not name are judged by what is usual. They take neither
// headline nor verdict from metrics that the definitions name.
func TestUndeclaredMetricsComeLast(t *testing.T) {
	d := suite.Definitions{Metrics: []suite.MetricInfo{
		{Name: "latency", Unit: "s", Class: "time", Better: "lower"}, {Name: "allocations", Unit: "count", Class: "count", Better: "lower"},
	}}
	result := func(values map[events.Metric]float64) []readmodel.Result {
		var r readmodel.Result
		r.Benchmark, r.Environment = "http", "m1"
		for n := range 6 {
			metrics := map[events.Metric]float64{}
			for name, v := range values {
				metrics[name] = v * (1 + 1e-6*float64(n))
			}
			r.Iterations = append(r.Iterations, events.Iteration{Metrics: metrics})
		}
		return []readmodel.Result{r}
	}
	a := map[events.Metric]float64{"latency": 1, "page-faults": 1000, "instructions:u": 1e9, "wall-time": 1, "max-rss": 1e6, "size:binary": 5000, "custom": 3}
	worse := map[events.Metric]float64{}
	for name, v := range a {
		worse[name] = v * 1.5
	}
	worse["latency"] = 1
	order := func(c compare.Comparison) (names []events.Metric) {
		for _, s := range c.Summaries {
			names = append(names, s.Metric.Name)
		}
		return names
	}
	c := compare.Compare(pair(d, "", result(a), result(worse), nil, nil))
	if c.Headline != "latency" || c.Verdict != compare.NoChange || c.Outcome != compare.OutcomeNoChange || c.Attention {
		t.Errorf("headline %s, verdict %s, %s, attention %v", c.Headline, c.Verdict, c.Outcome, c.Attention)
	}
	if diff := cmp.Diff([]events.Metric{"latency", "custom", "instructions:u", "max-rss", "page-faults", "size:binary", "wall-time"}, order(c)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	classes := map[events.Metric]compare.Class{}
	for _, s := range c.Summaries {
		if classes[s.Metric.Name] = s.Metric.Class; s.Metric.Undeclared != (s.Metric.Name != "latency") {
			t.Errorf("%s: undeclared %v", s.Metric.Name, s.Metric.Undeclared)
		}
	}
	if diff := cmp.Diff(map[events.Metric]compare.Class{
		"latency": compare.Time, "custom": compare.Time, "instructions:u": compare.Count, "max-rss": compare.Count, "page-faults": compare.Count,
		"size:binary": compare.Exact, "wall-time": compare.Time,
	}, classes); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	delete(worse, "latency")
	if c = compare.Compare(pair(d, "", result(a), result(worse), nil, nil)); c.Headline != "" || c.Verdict != compare.NoChange {
		t.Errorf("without the declared metric in b: headline %s, verdict %s", c.Headline, c.Verdict)
	}
	delete(a, "latency")
	if c = compare.Compare(pair(d, "", result(a), result(worse), nil, nil)); c.Headline != "instructions:u" || c.Verdict != compare.Regression {
		t.Errorf("where none is declared: headline %s, verdict %s", c.Headline, c.Verdict)
	}
	if c = compare.Compare(pair(d, "max-rss", result(a), result(worse), nil, nil)); c.Headline != "max-rss" {
		t.Errorf("one metric: headline %s", c.Headline)
	}
}
