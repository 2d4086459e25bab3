package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
)

const (
	// manyPairs is the number of pairs beyond which measuring longer is no advice.
	manyPairs = 2000
	// quieter is how much of their scatter pairs must lose without interference for a quieter machine to be worth a word.
	quieter = 0.8
)

// AdviceOf says what would help to decide turns that are undecided, best first; nothing for others. counted says that the
// instructions of both sides are counted, and seconds is how long one pair takes, 0 if that is not known.
func AdviceOf(t Turns, judged Turned, counted bool, seconds float64) []Advice {
	if judged.Judgement != Inconclusive || judged.Pairs == 0 {
		return nil
	}
	var all []Advice
	if t.Metric.Class == Time && !counted {
		all = append(all, adviceToCount())
	}
	more, needed := moreOf(judged, seconds)
	all = append(all, more)
	if calm, ok := calmer(t, judged, needed); ok {
		all = append(all, calm)
	}
	return all
}

func adviceToCount() Advice {
	return Advice{
		Do:   "count instructions",
		Gain: fmt.Sprintf("a count hardly depends on the machine and tells changes from %s on, but sees no waiting and no slower memory", Percent(countFloor)),
	}
}

// moreOf says how many pairs would decide, and how sure that is. needed is 0 if it is not known.
func moreOf(judged Turned, seconds float64) (a Advice, needed float64) {
	n := float64(judged.Pairs)
	a.Do = "measure more pairs"
	if judged.Interval == nil || judged.Change == nil {
		least := pairsNeeded(judged.Level)
		a.Gain = fmt.Sprintf("the test needs at least %d, and %s measured%s", least, phrase.Are(judged.Pairs, "pair"), lasting(float64(least), seconds))
		return a, 0
	}
	// The interval shrinks with the root of the number of pairs. It must leave zero out, or lie within the threshold.
	half, size := (judged.Interval.High-judged.Interval.Low)/2, math.Abs(*judged.Change)
	gap := size
	if size < judged.Threshold {
		gap = judged.Threshold - size
	}
	needed = math.Ceil(n * math.Pow(half/gap, 2))
	switch {
	case !(needed < manyPairs):
		a.Gain = fmt.Sprintf("that would give little: the interval reaches %s to each side after %s, and a change of %s lies too near to what it must be told from",
			Percent(half), phrase.Count(judged.Pairs, "pair"), Percent(*judged.Change))
		return a, needed
	case needed <= n:
		needed = 2 * n
	}
	a.Gain = fmt.Sprintf("about %.0f would decide it, if the change is %s: the interval reaches %s to each side after %d%s",
		needed, Percent(*judged.Change), Percent(half), judged.Pairs, lasting(needed, seconds))
	return a, needed
}

// lasting says how long pairs take.
func lasting(pairs, seconds float64) string {
	if !(seconds > 0) || !(pairs*seconds < 1e9) {
		return ""
	}
	return ", in about " + phrase.Duration(time.Duration(pairs*seconds*float64(time.Second)))
}

// calmer says what a machine without interference would give, if pairs without it scatter less.
func calmer(t Turns, judged Turned, needed float64) (Advice, bool) {
	a := Advice{Do: "use a quieter machine, or stop what else runs on it"}
	if judged.Disturbed == 0 || t.Metric.Class != Time || judged.Change == nil {
		return a, false
	}
	var every, clean []float64
	for _, p := range t.Pairs {
		if off := math.Abs(p.B/p.A - 1 - *judged.Change); finite(off) {
			every = append(every, off)
			if !p.Disturbed {
				clean = append(clean, off)
			}
		}
	}
	a.Gain = fmt.Sprintf("%d of %d pairs have interference on record", judged.Disturbed, judged.Pairs)
	switch {
	case len(clean) == 0:
		a.Gain = "all pairs have interference on record, so that nothing is known of the machine without it"
		return a, true
	case len(clean) < 4:
		a.Gain += ", and the others are too few to say what the machine does without it"
		return a, true
	}
	slices.Sort(every)
	slices.Sort(clean)
	all, calm := median(every), median(clean)
	if !(calm < quieter*all) {
		return a, false
	}
	a.Gain += fmt.Sprintf("; the others scatter by %s instead of %s", Percent(calm), Percent(all))
	if needed > 0 && needed < manyPairs {
		a.Gain += fmt.Sprintf(", so that about %.0f of them would decide", max(math.Ceil(needed*math.Pow(calm/all, 2)), firstLook))
	}
	return a, true
}

// Advice says what would help to decide a change that is undecided and was not measured in turns; nothing for others. counted
// says that the instructions of both sides are counted.
func (c Change) Advice(class Class, counted bool) []Advice {
	switch {
	case c.Judgement == NotComparable:
		return []Advice{{
			Do:   "measure both sides on one machine",
			Gain: "only then are they comparable; a matched pair measures them in turns there",
		}}
	case c.Judgement != Inconclusive || c.Relative == nil:
		return nil
	}
	var all []Advice
	if class == Time && !counted {
		all = append(all, adviceToCount())
	}
	all = append(all, Advice{Do: "measure in turns", Gain: "what changes on the machine then meets both sides" + c.inTurns()})
	if n := min(c.A.N, c.B.N); n < samplesNeeded(alpha) {
		all = append(all, Advice{Do: "take more iterations", Gain: fmt.Sprintf("%d of each side can be tested, and there are %d and %d", samplesNeeded(alpha), c.A.N, c.B.N)})
	}
	if n := c.A.Interfered + c.B.Interfered; n > 0 && class == Time {
		all = append(all, Advice{
			Do:   "use a quieter machine, or stop what else runs on it",
			Gain: fmt.Sprintf("%d of %d measurements have interference on record", n, c.A.N+c.B.N),
		})
	}
	return all
}

// inTurns says how many pairs would tell a change of the threshold, from how much the samples scatter. That is a guess from above:
// part of what they scatter is common to both sides of a pair.
func (c Change) inTurns() string {
	scatter := max(c.A.scatter(), c.B.scatter())
	if scatter == 0 || c.Threshold <= 0 {
		return ""
	}
	// The interval of the Hodges-Lehmann estimate reaches about z·σ·√(2/n)·√(π/3) to each side; z is that of one look.
	const z = 3.02
	pairs := math.Ceil(2 * math.Pi / 3 * math.Pow(z*scatter/c.Threshold, 2))
	if !(pairs < manyPairs) {
		return ""
	}
	return fmt.Sprintf("; at most about %.0f pairs would tell a change of %s", max(pairs, firstLook), Percent(c.Threshold))
}

// scatter returns the standard deviation of the samples of a side relative to their median, as their interval tells it; 0 if
// they are too few for one. That of a median of n normal values reaches about 1.96·1.25·σ/√n to each side.
func (s Side) scatter() float64 {
	if s.MedianInterval == nil || s.Median <= 0 {
		return 0
	}
	width := (s.MedianInterval.High - s.MedianInterval.Low) / 2 / s.Median
	return positive(width * math.Sqrt(float64(s.N)) / (1.96 * 1.25))
}
