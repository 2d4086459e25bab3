package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/tachobench/tacho/internal/phrase"
)

// The rules of measuring in turns. The two sides are measured pair after pair, so that what changes on the machine meets both.
//
// The test is van Elteren's (1960): Mann and Whitney's within strata, summed over them. A stratum is two neighbouring pairs,
// AB BA or BA AB: four values that were measured within a short time. Within it the values may fall to the sides in six ways,
// which are equally likely where nothing differs; so the distribution is exact, whatever the noise is, and also with ties. A
// drift that is steady within four runs gives the middle of it. Strata count the more the closer their values lie (see weigh).
//
// The change is the Hodges-Lehmann estimate: the weighted median of the ratios b/a within the strata. Its interval has all
// ratios that the test does not refuse. Both are what the test says, and nothing else is assumed of the noise.
const (
	// turnsAlpha is the level of all looks at one test case together: how often equal sides are called changed, at most.
	turnsAlpha = 0.005
	// earlyShare is the part of it that all looks before the last have together.
	earlyShare = 0.2
	// firstLook is the first number of pairs with which an early look can see anything.
	firstLook = 10
)

// LooksAt returns the planned looks at up to most pairs: the numbers of pairs after which to judge, ascending, the last of them
// most. It is nil for less than one.
func LooksAt(most int) []int {
	if most < 1 {
		return nil
	}
	var looks []int
	for n := firstLook; 4*n <= 3*most; n *= 2 {
		looks = append(looks, n)
	}
	return append(looks, most)
}

// level returns what this look may spend. Of planned looks the last has most of it, since it has seen most. An end that nobody
// planned, because the time is up or somebody stopped it, is the last look. Without a plan, look k has α/(k(k+1)): the sum over
// all of them is α.
func (t Turns) level(n int) float64 {
	if len(t.Looks) == 0 {
		k := float64(max(t.Look, 1))
		return turnsAlpha / (k * (k + 1))
	}
	early := t.Looks[:len(t.Looks)-1]
	switch {
	case len(early) == 0:
		return turnsAlpha
	case slices.Contains(early, n):
		return turnsAlpha * earlyShare / float64(len(early))
	}
	return turnsAlpha * (1 - earlyShare)
}

// threshold returns the relative change that is worth a word: the floor of the metric, or of its class. What the machine does
// is not in it: the interval tells that.
func (m MetricInfo) threshold() float64 {
	switch {
	case positive(m.Floor) > 0:
		return m.Floor
	case m.Class == Exact:
		return 0
	case m.Class == Count:
		return countFloor
	}
	return timeFloor
}

// JudgeTurns judges a metric that was measured in turns, alone. The input is not changed.
func JudgeTurns(t Turns) Turned { return JudgeAllTurns([]Turns{t})[0] }

// JudgeAllTurns judges metrics that were measured in turns and are looked at together, such as one metric of all test cases of a
// suite. A change passes if its p-value does after the correction of Benjamini and Hochberg; the order stays.
func JudgeAllTurns(all []Turns) []Turned {
	out := make([]Turned, len(all))
	var tested []int
	var ps []float64
	for i, t := range all {
		out[i] = t.measured()
		if p := out[i].P; p != nil {
			tested, ps = append(tested, i), append(ps, *p)
		}
	}
	corrected := adjust(ps)
	for k, i := range tested {
		out[i].judge(all[i].Metric, corrected[k], len(tested))
	}
	return out
}

// measured fills in what the pairs say. It settles what needs no test, and leaves P nil then.
func (t Turns) measured() Turned {
	out := Turned{Threshold: t.Metric.threshold(), Judgement: Inconclusive}
	pairs := slices.DeleteFunc(slices.Clone(t.Pairs), func(p Pair) bool {
		return !finite(p.A) || !finite(p.B) || p.A < 0 || p.B < 0
	})
	out.Dropped = len(t.Pairs) - len(pairs)
	n := len(pairs)
	out.Pairs, out.Level = n, t.level(len(t.Pairs))
	if n == 0 {
		out.Why = "no pair has a usable value on both sides"
		return out
	}
	a, b := make([]float64, n), make([]float64, n)
	positive := true
	for i, p := range pairs {
		a[i], b[i] = p.A, p.B
		positive = positive && p.A > 0 && p.B > 0
		if p.Disturbed {
			out.Disturbed++
		}
	}
	slices.Sort(a)
	slices.Sort(b)
	out.A, out.B = median(a), median(b)
	repeats := n >= 2 && t.Metric.Class != Time && repeated(a, out.Threshold) && repeated(b, out.Threshold)
	switch {
	case n >= 2 && a[0] == b[n-1] && a[n-1] == b[0]: // nothing but one value
		zero := 0.0
		out.Change, out.Interval = &zero, &Interval{}
		out.is(Unchanged, "all values are equal")
	case !positive:
		out.is(Inconclusive, "no relative change exists where values are zero")
	case repeats:
		out.judgeRepeated(t.Metric, a[0], b[0])
	default:
		out.test(pairs)
	}
	return out
}

// repeated reports whether ascending values are the same but for less than the threshold.
func repeated(sorted []float64, threshold float64) bool {
	return sorted[0] > 0 && (sorted[len(sorted)-1]-sorted[0])/sorted[0] <= threshold
}

// judgeRepeated judges counts that are the same each time. They need no test.
func (t *Turned) judgeRepeated(m MetricInfo, a, b float64) {
	change := b/a - 1
	t.Change, t.Interval = &change, &Interval{Low: change, High: change}
	if change == 0 || math.Abs(change) < t.Threshold {
		t.is(Unchanged, "each side has the same count each time, and they differ by less than %s", Percent(t.Threshold))
		return
	}
	t.changed(m, "each side has the same count each time, and they differ")
}

// test fills in what the test says.
func (t *Turned) test(pairs []Pair) {
	strata := stratify(pairs)
	without := nullOf(strata, untied)
	ratio, interval := estimate(strata, without, t.Level)
	if change := ratio - 1; finite(change) {
		t.Change = &change
	}
	if interval == nil || t.Change == nil || !finite(interval.Low) || !finite(interval.High) {
		t.is(Inconclusive, "%s can show nothing at this level: %d can", phrase.Count(len(pairs), "pair"), pairsNeeded(t.Level))
		return
	}
	p := differInTurns(strata, without)
	t.P, t.Interval = &p, &Interval{Low: interval.Low - 1, High: interval.High - 1}
}

// pairsNeeded returns the smallest number of pairs with which the test can reach a level.
func pairsNeeded(level float64) int {
	for n, p := 2, 2.0/6; ; n, p = n+2, p/6 {
		if p <= level {
			return n
		}
	}
}

// judge judges what was tested. corrected is its p-value after the correction among so many test cases.
func (t *Turned) judge(m MetricInfo, corrected float64, cases int) {
	size, within := math.Abs(*t.Change), t.Interval.Low > -t.Threshold && t.Interval.High < t.Threshold
	switch {
	case within:
		t.is(Unchanged, "the interval lies within the %s that are worth a word", Percent(t.Threshold))
	case corrected <= t.Level && size >= t.Threshold:
		t.changed(m, "the sides differ")
	case corrected <= t.Level:
		t.is(Inconclusive, "the sides differ, and it is open whether by more than %s", Percent(t.Threshold))
	case *t.P <= t.Level:
		t.is(Inconclusive, "the sides differ, but not so clearly that it stands among %s", phrase.Count(cases, "test case"))
	default:
		t.is(Inconclusive, "it is open whether the sides differ by more than %s", Percent(t.Threshold))
	}
}

// is settles the judgement and its reason.
func (t *Turned) is(judgement Judgement, why string, args ...any) {
	t.Judgement, t.Why = judgement, fmt.Sprintf(why, args...)
}

// changed settles that there is a change.
func (t *Turned) changed(m MetricInfo, why string) {
	judgement := Regressed
	if (*t.Change > 0) == m.HigherIsBetter {
		judgement = Improved
	}
	t.Significant = true
	t.is(judgement, "%s", why)
}
