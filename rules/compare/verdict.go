package compare

import "fmt"

// Verdict is the closed set of answers for one metric over all test cases.
//
// It follows from the relevant changes of all categories together. If all go in one direction, the verdict is that
// direction. If they go in both, it is mixed in three cases: both directions have a change of at least medium
// magnitude; only one has, and the other has at least 15 % of the changes; none has, and neither has more than 90 %.
// Otherwise the direction with the medium changes, or with more than 90 %, is the verdict.
type Verdict string

// The verdicts.
const (
	Improvement Verdict = "improvement"
	Regression  Verdict = "regression"
	Mixed       Verdict = "mixed"
	// NoChange: there is no relevant change.
	NoChange Verdict = "none"
)

const (
	mixedShare     = 0.15
	dominantShare  = 0.90
	attentionScore = 9
)

// verdictOf returns the verdict on the relevant changes of one metric.
func verdictOf(relevant []Change) Verdict {
	var improved, regressed int
	var mediumImproved, mediumRegressed bool
	for _, c := range relevant {
		if c.Judgement == Improved {
			improved++
			mediumImproved = mediumImproved || c.Magnitude >= Medium
		} else {
			regressed++
			mediumRegressed = mediumRegressed || c.Magnitude >= Medium
		}
	}
	total := float64(improved + regressed)
	shareImproved, shareRegressed := float64(improved)/total, float64(regressed)/total
	switch {
	case improved+regressed == 0:
		return NoChange
	case regressed == 0:
		return Improvement
	case improved == 0:
		return Regression
	case mediumImproved && mediumRegressed,
		mediumImproved && shareRegressed >= mixedShare,
		mediumRegressed && shareImproved >= mixedShare:
		return Mixed
	case mediumImproved:
		return Improvement
	case mediumRegressed:
		return Regression
	case shareImproved > dominantShare:
		return Improvement
	case shareRegressed > dominantShare:
		return Regression
	}
	return Mixed
}

// attentionOf reports whether the relevant changes of one metric deserve a person's attention, and why.
func attentionOf(relevant []Change) (attention bool, reason string) {
	var primary, secondary int
	var largest, largestOther Magnitude
	for _, c := range relevant {
		if c.Category == Primary {
			primary++
			largest = max(largest, c.Magnitude)
		} else {
			secondary++
			largestOther = max(largestOther, c.Magnitude)
		}
	}
	switch score := 3*primary + secondary; {
	case largest >= Medium:
		return true, fmt.Sprintf("the largest change of a primary benchmark is %s", largest)
	case largestOther >= Large:
		return true, fmt.Sprintf("the largest change of a secondary benchmark is %s", largestOther)
	case score >= attentionScore:
		return true, fmt.Sprintf("3 × %d primary + %d secondary relevant changes reach %d", primary, secondary, attentionScore)
	}
	return false, ""
}
