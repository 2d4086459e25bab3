package comparison

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// seriesKey names one metric of one test case.
type seriesKey struct {
	events.TestCase
	metric events.Metric
}

// historyKey names one metric of one test case on one machine.
type historyKey struct {
	seriesKey
	environment events.Digest
}

// pair joins the results of two artifacts by test case and metric. It adds what the definitions say about both, and
// the history of a on the machine that measured it, with the noise of that machine. If only is not empty, it takes that
// metric alone.
func pair(d suite.Definitions, only events.Metric, a, b []readmodel.Result, history []readmodel.Series, spreads []readmodel.Spread) []compare.Series {
	noise := make(map[historyKey]float64, len(spreads))
	for _, s := range spreads {
		noise[historyKey{seriesKey{s.TestCase, s.Metric}, s.Environment}] = s.Spread
	}
	past := make(map[historyKey][]float64, len(history))
	for _, h := range history {
		past[historyKey{seriesKey{h.TestCase, h.Metric}, h.Environment}] = h.Minima
	}
	at := map[seriesKey]int{}
	var list []compare.Series
	add := func(r readmodel.Result, put func(*compare.Series, compare.Samples)) {
		for metric := range metricsOf(r) {
			if only != "" && metric != only {
				continue
			}
			key := seriesKey{r.TestCase, metric}
			i, ok := at[key]
			if !ok {
				i, at[key] = len(list), len(list)
				category, _ := d.Category(r.Benchmark)
				list = append(list, compare.Series{Case: r.TestCase, Category: compare.Category(category), Metric: MetricOf(d, metric)})
			}
			values := compare.SamplesOf(metric, r.Iterations, r.Environment)
			values.Machine = r.Machine
			put(&list[i], values)
		}
	}
	for _, r := range a {
		add(r, func(s *compare.Series, values compare.Samples) {
			s.A = values
			key := historyKey{seriesKey{r.TestCase, s.Metric.Name}, r.Environment}
			s.History, s.Spread = past[key], noise[key]
		})
	}
	for _, r := range b {
		add(r, func(s *compare.Series, values compare.Samples) { s.B = values })
	}
	return list
}

// metricsOf returns the metrics that any iteration of a test case has.
func metricsOf(r readmodel.Result) map[events.Metric]bool {
	names := map[events.Metric]bool{}
	for _, it := range r.Iterations {
		for metric := range it.Metrics {
			names[metric] = true
		}
	}
	return names
}

// MetricOf returns what the definitions say about a metric; if they do not name it, what is usual for it.
func MetricOf(d suite.Definitions, name events.Metric) compare.MetricInfo {
	m, ok := d.Metric(name)
	if !ok {
		return compare.Usual(name)
	}
	info := compare.MetricInfo{
		Name: name, Unit: m.Unit, Class: compare.Class(m.Class), HigherIsBetter: m.Better == "higher", Floor: m.Floor,
	}
	if info.Unit == "count" {
		info.Unit = "" // counts are shown without a unit
	}
	return info
}
