package compare

import "math"

// clearFactor is how many times larger than all known noise a change must be to need no test. In a simulation of equal
// artifacts with two samples a side, 0.01 % of counts with 1 % noise, and of times with 10 % noise, reach it; 0.7 %
// reach half of it.
const clearFactor = 10

// unseenRange is the assumed relative range of a single sample of a count, ten times the floor of its class. One sample
// shows no range, but counts repeat almost exactly. Times do not.
const unseenRange = 10 * countFloor

// clear reports whether a change is far above all known noise: the threshold and the ranges of both samples. Then the
// ranges are also far apart.
func (j *judged) clear() bool {
	return math.Abs(*j.Relative) >= clearFactor*j.largestNoise()
}

// largestNoise returns the largest known noise, relative to a like the change.
func (j *judged) largestNoise() float64 {
	return max(j.Threshold, j.rangeOf(j.a), j.rangeOf(j.b))
}

// rangeOf returns the range of a sample relative to the minimum of a; infinite when it is unknown. Samples of times
// under interference have an unknown range.
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
	j.isSignificant("%s, but the change is at least %d times the largest known noise (%s)", evidence, clearFactor, Percent(j.largestNoise()))
}
