package compare

import "github.com/tachobench/tacho/events"

// Pair is one value of each side, measured one right after the other on one machine.
type Pair struct {
	A, B float64
	// Disturbed: something else used the machine while one of the two was measured.
	Disturbed bool
}

// Turns is one metric of one test case that was measured in turns: pair after pair, in the order of FirstIsA.
type Turns struct {
	Metric MetricInfo
	Pairs  []Pair
	// Looks are the planned looks, as LooksAt gives them: the numbers of pairs at which somebody judges, and may stop.
	// Empty: nothing was planned.
	Looks []int
	// Look counts the looks at these pairs without a plan: 1 for the first, also for one judgement of all that there is.
	// 0 is 1.
	Look int
}

// Turned is the judgement on two sides that were measured in turns.
type Turned struct {
	// Pairs counts the usable pairs, Disturbed those of them with interference on record, Dropped the unusable ones.
	Pairs     int `json:"pairs"`
	Disturbed int `json:"disturbed,omitempty"`
	Dropped   int `json:"dropped,omitempty"`
	// A and B are the medians of the sides, in the unit of the metric.
	A float64 `json:"a"`
	B float64 `json:"b"`
	// Change is the estimate of b/a − 1; nil if there is none. Interval holds the true change with the probability
	// 1 − Level; nil if the pairs are too few.
	Change   *float64  `json:"change"`
	Interval *Interval `json:"interval,omitempty"`
	// P is the p-value of the test; nil if there was none, because the pairs are too few or equal counts need none. Level is what this look may spend.
	P     *float64 `json:"p"`
	Level float64  `json:"level"`
	// Threshold is the relative change that is worth a word.
	Threshold   float64   `json:"threshold"`
	Judgement   Judgement `json:"judgement"`
	Significant bool      `json:"significant"`
	// Why says in words which rule decided.
	Why string `json:"why"`
}

// Decided reports whether more pairs are not needed: there is a change, or there is none.
func (t Turned) Decided() bool { return t.Judgement.conclusive() }

// FirstIsA reports whether side a is measured first in pair i, which counts from 0: the order is AB BA BA AB, and again. So
// each side is first equally often, and a steady drift cancels in each four.
func FirstIsA(i int) bool { return i%4 == 0 || i%4 == 3 }

// Advice is one way to learn more, with what it would give.
type Advice struct {
	// Do is what to do, Gain what that would give, both in words.
	Do   string `json:"do"`
	Gain string `json:"gain"`
}

// SamplesOfPairs pairs the iterations of two sides that were measured in turns: iteration i of both is pair i. Iterations
// without the metric on both sides are left out.
func SamplesOfPairs(metric events.Metric, a, b []events.Iteration) []Pair {
	var pairs []Pair
	for i := range min(len(a), len(b)) {
		x, inA := a[i].Metrics[metric]
		y, inB := b[i].Metrics[metric]
		if inA && inB {
			pairs = append(pairs, Pair{x, y, a[i].Interference != "" || b[i].Interference != ""})
		}
	}
	return pairs
}
