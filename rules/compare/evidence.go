package compare

import (
	"fmt"

	"github.com/tachobench/tacho/internal/phrase"
)

// leastPairs is the least that can be judged as pairs: of one, nobody knows whether a count repeats. Fewer are judged as the values
// of both sides are.
const leastPairs = 2

// judgeInTurns judges, of the test cases of one metric, those that were measured in turns: one look at each, that nobody
// planned. They are corrected together, and apart from the others, whose test is another one.
func judgeInTurns(cases []*judged) {
	var of []*judged
	var turns []Turns
	for _, j := range cases {
		if len(j.pairs) >= leastPairs {
			of, turns = append(of, j), append(turns, Turns{Metric: j.info, Pairs: j.pairs})
		}
	}
	for i, turned := range JudgeAllTurns(turns) {
		of[i].take(turned)
	}
}

// take makes the judgement on pairs that of the change.
func (j *judged) take(t Turned) {
	j.Turns, j.Relative, j.P, j.Adjusted = &t, t.Change, nil, nil
	j.Threshold, j.Rule = t.Threshold, RuleClassFloor
	switch {
	case positive(j.info.Floor) > 0:
		j.Rule = RuleFloor
	case j.info.Class == Exact:
		j.Rule = RuleExact
	}
	j.Judgement, j.Why, j.Significant = t.Judgement, t.Why, t.Significant
	if j.Magnitude = VerySmall; t.Change != nil {
		j.Magnitude = magnitude(*t.Change, t.Threshold, j.info.Class)
	}
	j.Relevant = t.Significant && j.Magnitude >= Small
}

// Shown returns the values of both sides that stand for the change: the minima, or the medians of what was measured in turns.
func (c Change) Shown() (a, b float64) {
	if c.Turns != nil {
		return c.Turns.A, c.Turns.B
	}
	return c.A.Min, c.B.Min
}

// Evidence says how much there is of what a judgement is based on, and where the true change lies.
func (c Change) Evidence() string {
	t := c.Turns
	if t == nil {
		return fmt.Sprintf("%d + %s", c.A.N, phrase.Count(c.B.N, "iteration"))
	}
	words := "in turns: " + phrase.Count(t.Pairs, "pair")
	if t.Disturbed > 0 {
		words += fmt.Sprintf(", %d with interference", t.Disturbed)
	}
	if t.Interval != nil {
		words += fmt.Sprintf(", interval [%s, %s]", signed(t.Interval.Low), signed(t.Interval.High))
	}
	return words
}
