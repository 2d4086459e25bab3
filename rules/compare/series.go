package compare

import (
	"math"

	"github.com/tachobench/tacho/events"
)

// Class says how a metric behaves when the same thing is measured twice.
type Class string

// The classes of metric. Any other class is treated as Time, the most careful one.
const (
	// Exact metrics repeat to the last digit: sizes, query counts. Any change is real.
	Exact Class = "exact"
	// Count metrics repeat almost exactly: instructions, page faults, memory.
	Count Class = "count"
	// Time metrics are noisy and drift with the machine.
	Time Class = "time"
)

// MetricInfo describes a metric as the definitions do.
type MetricInfo struct {
	Name events.Metric `json:"name"`
	// Unit is "s" or "seconds" for times, "bytes" or "B" for sizes, "" for counts; others are shown as
	// they are.
	Unit           string `json:"unit,omitempty"`
	Class          Class  `json:"class"`
	HigherIsBetter bool   `json:"higher_is_better,omitempty"`
	// Floor is the relative change below which the definitions want no alarm (0.002 is 0.2 %); 0 means the floor of the
	// class.
	Floor float64 `json:"floor,omitempty"`
	// Undeclared: the definitions do not name the metric, and [Usual] describes it. It is never the headline when the
	// comparison has metrics that they do name.
	Undeclared bool `json:"undeclared,omitempty"`
}

// Category is the weight of a benchmark, as in definitions.
type Category string

// The categories of benchmark. For attention and in the groups of a summary every category but primary counts as
// secondary.
const (
	Primary   Category = "primary"
	Secondary Category = "secondary"
	Stable    Category = "stable"
)

// Samples are the values of one metric over the iterations of one test.
type Samples struct {
	// Values are in the unit of the metric, in any order; those that are not finite numbers are dropped.
	Values []float64 `json:"values"`
	// Environment is the fingerprint of the machine that measured.
	Environment events.Digest `json:"environment"`
	// Machine names the machine, if the test case may be measured on any that fits; empty if it has its own.
	Machine string `json:"machine,omitempty"`
	// Interfered is how many of the values were taken while something else disturbed the machine.
	Interfered int `json:"interfered,omitempty"`
}

// SamplesOf collects the values of one metric from the iterations of a measured test case. Iterations
// without the metric are left out.
func SamplesOf(metric events.Metric, iterations []events.Iteration, environment events.Digest) Samples {
	s := Samples{Environment: environment}
	for _, it := range iterations {
		v, ok := it.Metrics[metric]
		if !ok {
			continue
		}
		s.Values = append(s.Values, v)
		if it.Interference != "" {
			s.Interfered++
		}
	}
	return s
}

// Series is everything known about one metric of one test case. [Compare] judges it.
type Series struct {
	Case     events.TestCase `json:"case"`
	Category Category        `json:"category"`
	Metric   MetricInfo      `json:"metric"`
	// A is the side to compare with, B the side that is judged. If one side has no values, the test case is listed as
	// new or missing.
	A Samples `json:"a"`
	B Samples `json:"b"`
	// History holds the minimum of each of the last master results before A that were measured in A's environment,
	// newest first. The first 30 are used.
	History []float64 `json:"history,omitempty"`
	// Spread is the largest relative distance of two minima that were measured of one artifact on that machine; 0 when
	// unknown.
	Spread float64 `json:"spread,omitempty"`
	// Pairs, if given, are the values of both sides, measured in turns, in the order of FirstIsA. They decide then, and not A
	// and B.
	Pairs []Pair `json:"pairs,omitempty"`
}

// finite reports whether x is a number that JSON can hold.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// positive returns x where it is a finite number above zero, else 0.
func positive(x float64) float64 {
	if finite(x) && x > 0 {
		return x
	}
	return 0
}
