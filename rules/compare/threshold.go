package compare

import (
	"math"
	"slices"
)

// Rule says what set the noise threshold of a change.
type Rule string

// The rules that set a threshold.
const (
	// RuleExact: an exact metric; any change is real.
	RuleExact Rule = "exact"
	// RuleFloor: the floor that the definitions give the metric.
	RuleFloor Rule = "metric_floor"
	// RuleClassFloor: the floor of the class, because the history is flatter than that.
	RuleClassFloor Rule = "class_floor"
	// RuleFewResults: a fixed value, because there are too few master results for a fence.
	RuleFewResults Rule = "few_results"
	// RuleFence: the upper fence of the step changes over master.
	RuleFence Rule = "history_fence"
	// RuleSpread: the spread seen between equal artifacts on that machine.
	RuleSpread Rule = "equal_artifacts"
)

// words returns the rule in words, to follow "the noise threshold of x %".
func (r Rule) words() string {
	switch r {
	case RuleExact:
		return "an exact metric"
	case RuleFloor:
		return "the metric's floor in the definitions"
	case RuleClassFloor:
		return "the floor of its class"
	case RuleFewResults:
		return "fixed, with fewer than 10 master results before a"
	case RuleFence:
		return "the upper fence of the steps over master"
	case RuleSpread:
		return "the spread between equal artifacts"
	}
	return string(r)
}

const (
	// historyLimit is how many master results count, historyNeeded how many a fence needs.
	historyLimit  = 30
	historyNeeded = 10

	countFloor, timeFloor     = 0.0005, 0.01
	countStandIn, timeStandIn = 0.002, 0.02
)

// noise returns the noise threshold of a series and the rule that set it. known is false when the threshold comes only
// from fixed values: there is no history or spread of this test case.
func noise(s Series) (threshold float64, rule Rule, known bool) {
	floor := positive(s.Metric.Floor)
	if s.Metric.Class == Exact {
		if floor > 0 {
			return floor, RuleFloor, true
		}
		return 0, RuleExact, true
	}
	classFloor, standIn := timeFloor, timeStandIn
	if s.Metric.Class == Count {
		classFloor, standIn = countFloor, countStandIn
	}
	threshold, rule, known = classFloor, RuleClassFloor, false
	if floor > 0 {
		threshold, rule, known = floor, RuleFloor, true
	}
	raise := func(to float64, by Rule) {
		if to > threshold {
			threshold, rule = to, by
		}
	}
	if results := masterResults(s.History); len(results) >= historyNeeded {
		raise(fence(stepChanges(results)), RuleFence)
		known = true
	} else {
		raise(standIn, RuleFewResults)
	}
	if spread := positive(s.Spread); spread > 0 {
		raise(spread, RuleSpread)
		known = true
	}
	return threshold, rule, known
}

// masterResults returns the usable results of the last ones, newest first.
func masterResults(history []float64) []float64 {
	usable := slices.DeleteFunc(slices.Clone(history), func(v float64) bool { return positive(v) == 0 })
	return usable[:min(len(usable), historyLimit)]
}

// stepChanges returns |newer − older|/older for each pair of neighbours, newest first. It leaves out infinite ones.
func stepChanges(results []float64) []float64 {
	var steps []float64
	for i := range len(results) - 1 {
		newer, older := results[i], results[i+1]
		if step := math.Abs(newer-older) / older; finite(step) {
			steps = append(steps, step)
		}
	}
	return steps
}

// fence returns Q3 + 3·IQR of the steps. The quartiles are the medians of the two halves. It returns 0 for fewer than
// two steps.
func fence(steps []float64) float64 {
	n := len(steps)
	if n < 2 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(steps))
	q1, q3 := median(sorted[:n/2]), median(sorted[(n+1)/2:])
	return min(q3+3*(q3-q1), math.MaxFloat64)
}
