package compare

import "math"

// clearFactor is how many times all known noise a change must be to need no test. Simulated on equal artifacts with
// two samples a side, it is reached by 0.01 % of counts with 1 % of noise and of times with 10 %; half of it is reached
// by 0.7 %.
const clearFactor = 10

// unseenRange is the relative range that one sample of a count stands for, ten times the floor of its class: one sample
// shows none, and counts nearly repeat. Times do not.
const unseenRange = 10 * countFloor

// clear reports whether a change is far above all that is known of noise: the threshold, and the ranges of both
// samples. Then the ranges are also far apart.
func (j *judged) clear() bool {
	return math.Abs(*j.Relative) >= clearFactor*j.largestNoise()
}

// largestNoise returns the largest noise that is known of, relative to a as the change is.
func (j *judged) largestNoise() float64 {
	return max(j.Threshold, j.rangeOf(j.a), j.rangeOf(j.b))
}

// rangeOf returns the range of a sample relative to the minimum of a: infinite where it cannot be told. Samples of
// times under interference do not tell it.
func (j *judged) rangeOf(s sample) float64 {
	switch {
	case j.a.Min <= 0 || j.info.Class != Count && s.Interfered > 0:
		return math.Inf(1)
	case s.N > 1:
		return (s.max() - s.Min) / j.a.Min
	case j.info.Class == Count:
		return unseenRange
	}
	return math.Inf(1)
}

func (j *judged) isClear(evidence string) {
	j.isSignificant("%s, but the change is at least %d times the largest known noise (%s)", evidence, clearFactor, percent(j.largestNoise()))
}
