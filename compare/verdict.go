package compare

import (
	"fmt"
	"strings"
)

// Verdict is the closed set of answers for one metric over all test cases.
//
// It follows from the relevant changes of all categories, joined. With changes on one side only it is that
// side. With both, it is mixed when both have a change of at least medium magnitude; when one has, and the
// other side holds at least 15 % of the changes; or when none has, and neither side holds more than 90 %.
// Otherwise the heavier side gives it.
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

// verdictOf decides over the relevant changes of one metric.
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

// says says a summary in words, with the name of its metric as it is to be written.
func (s Summary) says(name string) string {
	if s.Cases == 0 {
		return fmt.Sprintf("No test case of %s was measured on both sides.", name)
	}
	var b strings.Builder
	switch s.Verdict {
	case NoChange:
		if s.Inconclusive+s.NotComparable == s.Cases {
			fmt.Fprintf(&b, "No verdict on %s: none of %s could be judged.", name, plural(s.Cases, "test case"))
			return b.String()
		}
		if s.conclusive() < s.Cases-s.conclusive() {
			fmt.Fprintf(&b, "Little can be said on %s", name)
		} else {
			fmt.Fprintf(&b, "No relevant change in %s", name)
		}
	case Improvement, Regression:
		fmt.Fprintf(&b, "%s%s in %s", strings.ToUpper(string(s.Verdict[:1])), s.Verdict[1:], name)
	case Mixed:
		fmt.Fprintf(&b, "Mixed changes in %s", name)
	}
	regressed, improved := s.All.Regressed, s.All.Improved
	fmt.Fprintf(&b, ": of %s", plural(s.Cases, "test case"))
	var parts []string
	for _, part := range []struct {
		count int
		words string
	}{
		{regressed.Count, "regressed"},
		{improved.Count, "improved"},
		{s.Regressed + s.Improved - regressed.Count - improved.Count, "changed very little"},
		{s.Unchanged, "unchanged"},
		{s.Inconclusive, "inconclusive"},
		{s.NotComparable, "not comparable"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.words))
		}
	}
	fmt.Fprintf(&b, " %s.", strings.Join(parts, ", "))
	return b.String()
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
