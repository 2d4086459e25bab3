package compare

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// Outcome is the closed set of results of a comparison. A [Verdict] knows only relevant changes. An outcome also knows
// which test cases were not judged; those are never called unchanged.
type Outcome string

// The outcomes. With relevant changes the outcome is that of the verdict.
const (
	OutcomeImprovement Outcome = "improvement"
	OutcomeRegression  Outcome = "regression"
	OutcomeMixed       Outcome = "mixed"
	// OutcomeNoChange: every test case was judged, and no change is relevant.
	OutcomeNoChange Outcome = "no_change"
	// OutcomePartlyJudged: at least half of the test cases were judged, but not all. No change among them is relevant.
	OutcomePartlyJudged Outcome = "partly_judged"
	// OutcomeNotJudged: fewer than half of the test cases were judged, or none. No change among them is relevant.
	OutcomeNotJudged Outcome = "not_judged"
	// OutcomeNotComparable: nothing was measured on equal machines.
	OutcomeNotComparable Outcome = "not_comparable"
	// OutcomeNoParent: b was measured, but its parent was not.
	OutcomeNoParent Outcome = "no_parent"
	// OutcomeFailed: nothing of b could be measured.
	OutcomeFailed Outcome = "failed"
	// OutcomeNothingMeasured: nothing was measured, or no test case on both sides.
	OutcomeNothingMeasured Outcome = "nothing_measured"
)

// Label says what to do with the label that marks a regression.
type Label string

// What to do with the label.
const (
	LabelSet    Label = "set"
	LabelRemove Label = "remove"
	// LabelLeave: not everything was judged, and the rest gives no reason to set it.
	LabelLeave Label = "leave"
)

// Words are a judgement in words. Text, page, JSON, Markdown, chip and label all take them from here.
type Words struct {
	Outcome Outcome `json:"outcome"`
	// Chip is the outcome in a few words, such as "not judged". Counts are the numbers of judgements, such as "20 of 21
	// inconclusive, 1 unchanged".
	Chip   string `json:"chip"`
	Counts string `json:"counts,omitempty"`
	// Overall is a heading: the outcome and what to do.
	Overall string `json:"overall"`
	// Sentence is the judgement in numbers, or why there is none.
	Sentence string `json:"sentence"`
	Label    Label  `json:"regression_label"`
}

// say returns the changes of one metric in words. name is the metric's name, already escaped for the output.
func (s Summary) say(name string) Words {
	w := Words{Counts: join(s.changed(), s.unjudged()), Label: LabelLeave}
	whole := func(o Outcome, chip, overall, begin string) {
		w.Outcome, w.Chip, w.Overall = o, chip, overall
		w.Sentence = fmt.Sprintf("%s: of %s %s.", begin, phrase.Count(s.Cases, "test case"), w.Counts)
	}
	switch {
	case s.Cases == 0:
		w.Outcome, w.Chip, w.Overall = OutcomeNothingMeasured, "not measured", "nothing was measured on both sides"
		w.Sentence = fmt.Sprintf("No test case of %s was measured on both sides.", name)
		return w
	case s.Verdict == Improvement:
		whole(OutcomeImprovement, "improvement", "improvements", "Improvement in "+name)
	case s.Verdict == Regression:
		whole(OutcomeRegression, "regression", "regressions", "Regression in "+name)
	case s.Verdict == Mixed:
		whole(OutcomeMixed, "mixed", "regressions and improvements", "Mixed changes in "+name)
	case s.conclusive() == s.Cases:
		whole(OutcomeNoChange, "no relevant change", "no relevant changes", "No relevant change in "+name)
	default:
		s.sayUnjudged(&w, name)
	}
	if s.Metric.Undeclared {
		w.Sentence += " The definitions do not declare it."
	}
	switch {
	case s.Attention && (s.Verdict == Regression || s.Verdict == Mixed):
		w.Label = LabelSet
	case s.conclusive() == s.Cases:
		w.Label = LabelRemove
	}
	return w
}

// sayUnjudged fills in the words for a metric with unjudged test cases and without relevant changes.
func (s Summary) sayUnjudged(w *Words, name string) {
	cases := phrase.Count(s.Cases, "test case")
	first, rest, _ := strings.Cut(join(s.unjudged(), s.changed()), " ")
	w.Outcome, w.Chip, w.Counts = OutcomeNotJudged, "not judged", fmt.Sprintf("%s of %d %s", first, s.Cases, rest)
	w.Sentence = fmt.Sprintf("No verdict on %s: of %s %s.", name, cases, join(s.changed(), s.unjudged()))
	switch {
	case s.NotComparable == s.Cases:
		w.Outcome, w.Chip, w.Counts = OutcomeNotComparable, "not comparable", fmt.Sprintf("none of %d on equal machines", s.Cases)
		w.Sentence = fmt.Sprintf("No verdict on %s: none of %s was measured on equal machines.", name, cases)
	case s.conclusive() == 0:
		w.Sentence = fmt.Sprintf("No verdict on %s: none of %s could be judged.", name, cases)
	case 2*s.conclusive() >= s.Cases:
		w.Outcome, w.Chip = OutcomePartlyJudged, "partly judged"
		w.Sentence = fmt.Sprintf("Part of %s was judged: of %s %s.", name, cases, join(s.changed(), s.unjudged()))
	}
	w.Overall = w.Chip + ": " + w.Counts
	if s.Cases == 1 {
		w.Sentence = fmt.Sprintf("No verdict on %s: the only test case is %s.", name, strings.TrimPrefix(join(s.unjudged(), nil), "1 "))
	}
}

// changed counts the test cases that were judged.
func (s Summary) changed() []string {
	regressed, improved := s.All.Regressed.Count, s.All.Improved.Count
	return counts(
		number{regressed, "regressed"}, number{improved, "improved"},
		number{s.Regressed + s.Improved - regressed - improved, "changed very little"}, number{s.Unchanged, "unchanged"},
	)
}

// unjudged counts the test cases that were not judged.
func (s Summary) unjudged() []string {
	return counts(number{s.Inconclusive, "inconclusive"}, number{s.NotComparable, "not comparable"})
}

// number is a number of test cases and what they are.
type number struct {
	count int
	words string
}

// counts returns in words those numbers that are not zero.
func counts(all ...number) []string {
	var parts []string
	for _, n := range all {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.words))
		}
	}
	return parts
}

func join(first, second []string) string {
	return strings.Join(append(first, second...), ", ")
}

// Words returns the whole report in words: its headline metric, what failed and what may be missing.
func (r Report) Words() Words { return r.say(printable) }

// say is Words with a function that escapes foreign names for the output.
func (r Report) say(name func(string) string) Words {
	if r.Comparison == nil {
		return r.sayAlone(name)
	}
	c := *r.Comparison
	top, ok := c.top()
	w := top.say(name(string(top.Metric.Name)))
	if !ok {
		w.Sentence = "No test case was measured on both sides."
		if len(c.Summaries) > 0 {
			w.Overall, w.Sentence = "nothing declared was measured on both sides", "No metric of the definitions was measured on both sides."
		}
	}
	fresh := len(newBenchmarks(r.FailedCases))
	missing := c.missing(c.Headline)
	next := r.next(w.Outcome, top, fresh)
	if len(next) == 0 {
		next = r.doubts(w.Outcome, missing)
	}
	if len(next) > 0 {
		w.Overall += " - " + strings.Join(next, ", ")
	}
	if w.Label == LabelRemove && fresh+missing > 0 {
		w.Label = LabelLeave
	}
	return w
}

// sayAlone returns the words for a report without a comparison.
func (r Report) sayAlone(name func(string) string) Words {
	w := Words{Label: LabelLeave}
	switch measured := phrase.Count(r.Measured, "test case"); {
	case r.Measured > 0 && r.A == "":
		w.Sentence = fmt.Sprintf("%s was measured (%s), and its parent is not known.", name(r.B), measured)
	case r.Measured > 0:
		w.Sentence = fmt.Sprintf("%s was measured (%s), and its parent %s was not.", name(r.B), measured, name(r.A))
	default:
		w.Sentence = fmt.Sprintf("%s has no results.", name(r.B))
	}
	switch {
	case r.Measured > 0:
		w.Outcome, w.Chip, w.Overall = OutcomeNoParent, "nothing to compare with", "no parent results to compare with"
	case r.Failure != "" || len(r.FailedCases)+len(r.FailedJobs) > 0:
		w.Outcome, w.Chip, w.Overall = OutcomeFailed, "failed", "nothing could be measured"
	default:
		w.Outcome, w.Chip, w.Overall = OutcomeNothingMeasured, "not measured", "nothing was measured"
	}
	return w
}

// next returns what a person should know besides the outcome.
func (r Report) next(o Outcome, top Summary, fresh int) (next []string) {
	if top.Attention {
		next = append(next, "deserves attention")
	}
	if fresh > 0 {
		next = append(next, phrase.Count(fresh, "newly failed benchmark"))
	}
	if r.Failure != "" {
		next = append(next, "not everything could be measured")
	}
	if n := top.Inconclusive + top.NotComparable; n > 0 && o.relevant() {
		next = append(next, fmt.Sprintf("%d of %s not judged", n, phrase.Count(top.Cases, "test case")))
	}
	return next
}

// doubts says why a person may have to act although the headline metric shows nothing. The words say "no action needed"
// only if there is no such reason.
func (r Report) doubts(o Outcome, missing int) (doubts []string) {
	if !o.said() {
		return nil
	}
	if r.Incomplete != "" {
		doubts = append(doubts, "incomplete")
	}
	if missing > 0 {
		doubts = append(doubts, phrase.Count(missing, "test case")+" missing in b")
	}
	changed, unjudged := 0, 0
	summaries := r.Comparison.Summaries
	for _, s := range summaries[1:] {
		if s.Metric.Undeclared && !summaries[0].Metric.Undeclared {
			continue
		}
		if s.Verdict != NoChange {
			changed++
		}
		if s.conclusive() < s.Cases {
			unjudged++
		}
	}
	if changed > 0 {
		doubts = append(doubts, "relevant changes in "+phrase.Count(changed, "other metric"))
	}
	if unjudged > 0 {
		doubts = append(doubts, phrase.Count(unjudged, "other metric")+" not fully judged")
	}
	if len(doubts) == 0 {
		return []string{"no action needed"}
	}
	return doubts
}

// missing counts the test cases for which a has the metric and b does not.
func (c Comparison) missing(metric events.Metric) (n int) {
	for _, m := range c.Missing {
		if m.Metric == metric {
			n++
		}
	}
	return n
}

// relevant reports whether there are relevant changes.
func (o Outcome) relevant() bool {
	return o == OutcomeImprovement || o == OutcomeRegression || o == OutcomeMixed
}

// said reports whether the outcome says something about changes, even if only that there are none.
func (o Outcome) said() bool { return o == OutcomeNoChange || o.relevant() }

// mark returns the symbol of the outcome.
func (o Outcome) mark() string {
	//exhaustive:ignore
	switch o {
	case OutcomeRegression, OutcomeFailed:
		return "❌ "
	case OutcomeImprovement:
		return "✅ "
	case OutcomeMixed:
		return "❌✅ "
	}
	return ""
}
