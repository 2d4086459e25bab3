package runner

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/suite"
)

// narrowing is compare.Narrow.
type narrowing func(samples []float64, until float64) (narrow bool, half float64)

// enough reports whether n of at most most iterations (or pairs: noun is the word for one) of case i are enough on all sides.
// If there is a rule for that, it says in words why.
func (f narrowing) enough(until *suite.Until, i, n, most int, noun string, sides ...*chain) (enough bool, why string) {
	if until == nil {
		return n >= most, ""
	}
	spent := until.Budget > 0 && slices.ContainsFunc(sides, func(c *chain) bool { return c.spent[i] >= until.Budget })
	if n < min(until.Min, most) && !spent {
		return false, ""
	}
	narrow, half := true, 0.0
	for _, c := range sides {
		for _, samples := range deciding(c.runs[i], until.Times) {
			yes, width := f(samples, until.Width)
			narrow, half = narrow && yes, max(half, width)
		}
	}
	taken := phrase.Count(n, noun)
	switch {
	case narrow:
		return true, fmt.Sprintf("narrow enough: %s after %s", plusMinus(half), taken)
	case spent:
		return true, fmt.Sprintf("the budget of %v is spent after %s: %s", until.Budget, taken, plusMinus(half))
	case n >= most:
		return true, fmt.Sprintf("%s: %s, until %.3g %% is not reached", taken, plusMinus(half), 100*until.Width)
	}
	return false, ""
}

// deciding returns the values of the metrics whose intervals are to be narrow: those of the wall time, or else of each declared
// time, or else of the first metric. Counts repeat, so they do not decide.
func deciding(all []events.Iteration, times []events.Metric) (values [][]float64) {
	seen := map[events.Metric][]float64{}
	for _, it := range all {
		for m, v := range it.Metrics {
			seen[m] = append(seen[m], v)
		}
	}
	if wall, ok := seen[measure.WallTime]; ok {
		return [][]float64{wall}
	}
	for _, m := range times {
		if v, ok := seen[m]; ok {
			values = append(values, v)
		}
	}
	if names := slices.Sorted(maps.Keys(seen)); len(values) == 0 && len(names) > 0 {
		values = append(values, seen[names[0]])
	}
	return values
}

// plusMinus returns the half width of an interval, a share, in words.
func plusMinus(half float64) string {
	switch percent := 100 * half; {
	case math.IsInf(half, 0) || math.IsNaN(half):
		return "how exact that is, is not known"
	case percent >= 10:
		return fmt.Sprintf("±%.0f %%", percent)
	default:
		return fmt.Sprintf("±%.2g %%", percent)
	}
}

// atMost returns a number of iterations or pairs for the log; open says that they may be fewer.
func atMost(open bool, most int) string {
	if open {
		return fmt.Sprintf("at most %d", most)
	}
	return fmt.Sprint(most)
}
