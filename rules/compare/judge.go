package compare

import (
	"cmp"
	"fmt"
	"math"
)

// judged is a change on its way to a judgement.
type judged struct {
	Change
	info MetricInfo
	a, b sample
	// pairs are the values of both sides that were measured in turns.
	pairs []Pair
	// known: something is known of the noise of this test case (see noise).
	known bool
}

// measure fills in everything about a series but its judgement. Both sides must have a usable value.
func measure(s Series, a, b sample) *judged {
	j := &judged{info: s.Metric, a: a, b: b, pairs: s.Pairs}
	j.Change = Change{Case: s.Case, Category: s.Category, Metric: s.Metric.Name, A: a.Side, B: b.Side}
	j.Relative = relative(a.Min, b.Min)
	j.Threshold, j.Rule, j.known = noise(s)
	if j.Relative != nil {
		j.Magnitude = magnitude(*j.Relative, j.Threshold, s.Metric.Class)
	}
	if j.sameMachine() && s.Metric.Class != Exact {
		j.P = differ(a, b)
	}
	return j
}

// sameMachine reports whether both sides are known to come from equal machines.
func (j *judged) sameMachine() bool {
	return j.a.Environment != "" && j.a.Environment == j.b.Environment
}

// is settles the judgement and its reason.
func (j *judged) is(judgement Judgement, why string, args ...any) {
	j.Judgement, j.Why = judgement, fmt.Sprintf(why, args...)
}

// judge walks the rules of the package comment in their order; the first that fires decides. tests is how
// many p-values of this metric were corrected together.
func (j *judged) judge(tests int) {
	switch {
	case j.a.Environment == "" || j.b.Environment == "":
		j.is(NotComparable, "the machine that measured is not on record")
	case !j.sameMachine() && j.a.Machine != "" && j.b.Machine != "" && j.a.Machine != j.b.Machine:
		j.is(NotComparable, "measured on different machines, %s and %s", j.a.Machine, j.b.Machine)
	case !j.sameMachine():
		j.is(NotComparable, "measured in different environments")
	case j.Relative == nil:
		j.is(Inconclusive, "no relative change exists from %.4g to %.4g", j.a.Min, j.b.Min)
	case j.info.Class == Exact:
		j.judgeExact()
	case j.info.Class == Count:
		j.judgeCount(tests)
	default:
		j.judgeTime(tests)
	}
}

// judgeExact needs no statistics as long as each side repeats.
func (j *judged) judgeExact() {
	repeats := j.a.Min == j.a.max() && j.b.Min == j.b.max()
	apart := j.a.max() < j.b.Min || j.b.max() < j.a.Min
	same := j.a.Min == j.b.Min && j.a.max() == j.b.max()
	switch {
	case !repeats && !apart && !same:
		j.is(Inconclusive, "the metric is declared exact, but its values vary between iterations and overlap")
	case *j.Relative == 0:
		j.is(Unchanged, "the minima are equal")
	case j.small():
		j.isSmall()
	default:
		j.isSignificant("any change of an exact metric is real")
	}
}

// judgeCount lets the threshold decide where the test cannot.
func (j *judged) judgeCount(tests int) {
	switch {
	case j.small():
		j.isSmall()
	case j.P == nil && j.known:
		j.isSignificant("too few measurements for a test; the threshold alone decides")
	case j.P == nil && j.clear():
		j.isClear("too few measurements for a test")
	case j.P == nil:
		j.is(Inconclusive, "too few measurements for a test, no history, spread or floor to say what noise does, and the change is below %d times all known noise", clearFactor)
	case *j.Adjusted <= alpha:
		j.isSignificant("the measurements differ")
	case *j.P <= alpha && j.outnumbered(tests):
		j.isSignificant("the measurements differ as far as so few can show among %d test cases", tests)
	default:
		j.isOverlap()
	}
}

// judgeTime never judges what the test has not confirmed, and never calls unchanged what it could not see.
func (j *judged) judgeTime(tests int) {
	switch {
	case j.P == nil && j.clear():
		j.isClear("too few measurements for a test")
	case j.P == nil:
		n := samplesNeeded(alpha)
		j.is(Inconclusive, "too few measurements for a time: %d and %d, where %d and %d could tell", j.a.N, j.b.N, n, n)
	case smallestP(j.a.clean(), j.b.clean()) > alpha:
		j.is(Inconclusive, "interference on record: only %d of %d and %d of %d measurements are clean",
			j.a.clean(), j.a.N, j.b.clean(), j.b.N)
	case j.small():
		j.isSmall()
	case *j.Adjusted <= alpha:
		j.isSignificant("the measurements differ")
	case *j.P <= alpha && j.outnumbered(tests) && j.clear():
		j.isClear(fmt.Sprintf("the measurements differ as far as so few can show among %d test cases", tests))
	case *j.P <= alpha && j.outnumbered(tests):
		n := samplesNeeded(alpha / float64(tests))
		j.is(Inconclusive, "the measurements differ, but among %d test cases only %d and %d measurements could confirm it", tests, n, n)
	default:
		j.isOverlap()
	}
}

// small reports whether the change is none, or below the noise threshold.
func (j *judged) small() bool {
	return *j.Relative == 0 || math.Abs(*j.Relative) < j.Threshold
}

func (j *judged) isSmall() {
	j.is(Unchanged, "below the noise threshold of %s (%s)", Percent(j.Threshold), j.Rule.words())
}

func (j *judged) isOverlap() {
	j.is(Unchanged, "the measurements do not differ (p = %.3f, corrected %.3f)", *j.P, *j.Adjusted)
}

// outnumbered reports whether this change could not survive the correction alone, however clear it was.
func (j *judged) outnumbered(tests int) bool {
	return smallestP(j.a.N, j.b.N) > alpha/float64(tests)
}

// isSignificant judges a real change by its direction, unless minimum and median contradict each other.
func (j *judged) isSignificant(evidence string, args ...any) {
	up := *j.Relative > 0
	if cmp.Compare(j.a.Min, j.b.Min)*cmp.Compare(j.a.Median, j.b.Median) < 0 {
		j.is(Inconclusive, "minimum and median moved in opposite directions")
		return
	}
	judgement := Regressed
	if up == j.info.HigherIsBetter {
		judgement = Improved
	}
	j.Significant = true
	j.Relevant = j.Magnitude >= Small
	reason := fmt.Sprintf(evidence, args...)
	if j.Rule != RuleExact {
		reason += fmt.Sprintf(", and the change reaches the noise threshold of %s (%s)", Percent(j.Threshold), j.Rule.words())
	}
	j.is(judgement, "%s", reason)
}
