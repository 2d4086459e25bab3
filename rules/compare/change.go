package compare

import (
	"slices"

	"github.com/tachobench/tacho/events"
	"golang.org/x/perf/benchmath"
)

// Judgement is the closed set of answers for one metric of one test case.
type Judgement string

// The judgements. The last two never count as Unchanged: they mean that the answer is unknown.
const (
	Improved      Judgement = "improved"
	Regressed     Judgement = "regressed"
	Unchanged     Judgement = "unchanged"
	Inconclusive  Judgement = "inconclusive"
	NotComparable Judgement = "not_comparable"
)

// conclusive reports whether the judgement is an answer about the artifacts.
func (j Judgement) conclusive() bool { return j != Inconclusive && j != NotComparable }

// Side summarizes the samples of one side.
type Side struct {
	// N is the number of usable samples, Dropped the number of values that are not finite numbers.
	N       int `json:"n"`
	Dropped int `json:"dropped,omitempty"`
	// Interfered is how many of the samples were taken under interference.
	Interfered int     `json:"interfered,omitempty"`
	Min        float64 `json:"min"`
	Median     float64 `json:"median"`
	// MedianInterval is the 95 % interval of the median; nil with fewer than six samples.
	MedianInterval *Interval     `json:"median_interval,omitempty"`
	Environment    events.Digest `json:"environment"`
	// Machine is the name of the machine, if the test case may be measured on any that fits.
	Machine string `json:"machine,omitempty"`
}

// Interval is a closed range of values.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Change is the judged difference of one metric of one test case.
type Change struct {
	Case     events.TestCase `json:"case"`
	Category Category        `json:"category"`
	Metric   events.Metric   `json:"metric"`
	A        Side            `json:"a"`
	B        Side            `json:"b"`
	// Relative is (b − a)/a of the minima; nil when a is not above zero.
	Relative *float64 `json:"relative"`
	// P is the p-value of the Mann-Whitney test, Adjusted the same after Benjamini-Hochberg. They are nil when the test
	// needs more samples or is not used.
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
	// Threshold is the relative change that noise can explain, Rule what set it.
	Threshold float64 `json:"threshold"`
	Rule      Rule    `json:"threshold_rule"`
	// Significant: the change is real. Relevant: it is also at least small.
	Significant bool      `json:"significant"`
	Relevant    bool      `json:"relevant"`
	Magnitude   Magnitude `json:"magnitude"`
	Judgement   Judgement `json:"judgement"`
	// Why says in words which rule decided.
	Why string `json:"why"`
	// Turns is the judgement on the pairs, if both sides were measured in turns: that of the change is the same, and Relative and
	// Threshold are its own. Nil if not.
	Turns *Turned `json:"turns,omitempty"`
}

// sample is one side prepared for statistics: finite values only, ascending. It is a copy, because benchmath sorts its
// input.
type sample struct {
	Side
	sorted *benchmath.Sample
}

func newSample(s Samples) sample {
	values := slices.DeleteFunc(slices.Clone(s.Values), func(v float64) bool { return !finite(v) })
	side := Side{
		N: len(values), Dropped: len(s.Values) - len(values),
		Interfered: max(0, min(s.Interfered, len(values))), Environment: s.Environment, Machine: s.Machine,
	}
	if side.N == 0 {
		return sample{Side: side}
	}
	thresholds := benchmath.Thresholds{CompareAlpha: alpha}
	sorted := benchmath.NewSample(values, &thresholds)
	side.Min, side.Median = values[0], median(values)
	// With too few samples benchmath returns an infinite interval.
	if in := benchmath.AssumeNothing.Summary(sorted, 0.95); finite(in.Lo) && finite(in.Hi) {
		side.MedianInterval = &Interval{Low: in.Lo, High: in.Hi}
	}
	return sample{Side: side, sorted: sorted}
}

// max returns the largest value of the sample, which must not be empty.
func (s sample) max() float64 { return s.sorted.Values[s.N-1] }

// clean returns the number of samples taken without interference.
func (s sample) clean() int { return s.N - s.Interfered }

// median returns the middle of ascending values; there must be at least one.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	// Halve before adding, so that the sum of two huge values stays finite.
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

// relative returns (b − a)/a, or nil when that is not a finite number or makes no sense: a is not above zero, or b is
// below it.
func relative(a, b float64) *float64 {
	change := 0.0
	if a != b {
		if a <= 0 || b < 0 {
			return nil
		}
		change = (b - a) / a
	}
	if !finite(change) {
		return nil
	}
	return &change
}
