// Package comparetest holds a report of every kind with its words, for the tests of everything that shows a judgement.
package comparetest

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// Case is a report and the words that every output must use for it.
type Case struct {
	Name   string
	Report compare.Report
	Want   compare.Words
}

// Cases returns a report of every kind. No name in them needs escaping.
func Cases() []Case {
	failed := compared(kinds{same: 3})
	failed.Failure = "1 of 2 required jobs failed"
	failed.FailedCases = []compare.FailedCase{{Case: named("broken"), Message: "bench ended with exit code 2:\npanic: boom", New: true}}
	incomplete := compared(kinds{same: 3})
	incomplete.Incomplete = "The request for a has not ended."
	alone := compare.Report{A: "a", B: "b"}
	measured, orphan, hopeless := alone, alone, alone
	measured.Measured, orphan.Measured, orphan.A = 3, 1, ""
	hopeless.Failure = "2 of 2 required jobs failed"
	words := func(o compare.Outcome, chip, counts, overall, sentence string, l compare.Label) compare.Words {
		return compare.Words{Outcome: o, Chip: chip, Counts: counts, Overall: overall, Sentence: sentence, Label: l}
	}
	return []Case{
		{"improved", compared(kinds{better: 2, same: 1}), words(compare.OutcomeImprovement, "improvement", "2 improved, 1 unchanged",
			"improvements - deserves attention", "Improvement in instructions:u: of 3 test cases 2 improved, 1 unchanged.", compare.LabelRemove)},
		{"improved a little", compared(kinds{little: 1, same: 2}), words(compare.OutcomeImprovement, "improvement", "1 improved, 2 unchanged",
			"improvements - no action needed", "Improvement in instructions:u: of 3 test cases 1 improved, 2 unchanged.", compare.LabelRemove)},
		{"regressed", compared(kinds{worse: 1, same: 2}), words(compare.OutcomeRegression, "regression", "1 regressed, 2 unchanged",
			"regressions - deserves attention", "Regression in instructions:u: of 3 test cases 1 regressed, 2 unchanged.", compare.LabelSet)},
		{"regressed, and most inconclusive", compared(kinds{worse: 1, unclear: 20}), words(compare.OutcomeRegression, "regression", "1 regressed, 20 inconclusive",
			"regressions - deserves attention, 20 of 21 test cases not judged", "Regression in instructions:u: of 21 test cases 1 regressed, 20 inconclusive.", compare.LabelSet)},
		{"improved a little, and one inconclusive", compared(kinds{little: 1, unclear: 1}), words(compare.OutcomeImprovement, "improvement", "1 improved, 1 inconclusive",
			"improvements - 1 of 2 test cases not judged", "Improvement in instructions:u: of 2 test cases 1 improved, 1 inconclusive.", compare.LabelLeave)},
		{"mixed", compared(kinds{better: 1, worse: 1}), words(compare.OutcomeMixed, "mixed", "1 regressed, 1 improved",
			"regressions and improvements - deserves attention", "Mixed changes in instructions:u: of 2 test cases 1 regressed, 1 improved.", compare.LabelSet)},
		{"none", compared(kinds{same: 3}), words(compare.OutcomeNoChange, "no relevant change", "3 unchanged",
			"no relevant changes - no action needed", "No relevant change in instructions:u: of 3 test cases 3 unchanged.", compare.LabelRemove)},
		{"all inconclusive", compared(kinds{unclear: 21}), words(compare.OutcomeNotJudged, "not judged", "21 of 21 inconclusive",
			"not judged: 21 of 21 inconclusive", "No verdict on instructions:u: none of 21 test cases could be judged.", compare.LabelLeave)},
		{"its only test case inconclusive", compared(kinds{unclear: 1}), words(compare.OutcomeNotJudged, "not judged", "1 of 1 inconclusive",
			"not judged: 1 of 1 inconclusive", "No verdict on instructions:u: the only test case is inconclusive.", compare.LabelLeave)},
		{"most inconclusive", compared(kinds{same: 1, unclear: 20}), words(compare.OutcomeNotJudged, "not judged", "20 of 21 inconclusive, 1 unchanged",
			"not judged: 20 of 21 inconclusive, 1 unchanged", "No verdict on instructions:u: of 21 test cases 1 unchanged, 20 inconclusive.", compare.LabelLeave)},
		{"half inconclusive", compared(kinds{same: 10, unclear: 10}), words(compare.OutcomePartlyJudged, "partly judged", "10 of 20 inconclusive, 10 unchanged",
			"partly judged: 10 of 20 inconclusive, 10 unchanged", "Part of instructions:u was judged: of 20 test cases 10 unchanged, 10 inconclusive.", compare.LabelLeave)},
		{"one inconclusive", compared(kinds{same: 20, unclear: 1}), words(compare.OutcomePartlyJudged, "partly judged", "1 of 21 inconclusive, 20 unchanged",
			"partly judged: 1 of 21 inconclusive, 20 unchanged", "Part of instructions:u was judged: of 21 test cases 20 unchanged, 1 inconclusive.", compare.LabelLeave)},
		{"not comparable", compared(kinds{elsewhere: 2}), words(compare.OutcomeNotComparable, "not comparable", "none of 2 on equal machines",
			"not comparable: none of 2 on equal machines", "No verdict on instructions:u: none of 2 test cases was measured on equal machines.", compare.LabelLeave)},
		{"inconclusive or not comparable", compared(kinds{elsewhere: 1, unclear: 2}), words(compare.OutcomeNotJudged, "not judged", "2 of 3 inconclusive, 1 not comparable",
			"not judged: 2 of 3 inconclusive, 1 not comparable", "No verdict on instructions:u: none of 3 test cases could be judged.", compare.LabelLeave)},
		{"another metric inconclusive", compared(kinds{same: 1}, times("wall-time", 1.01, false)), words(compare.OutcomeNoChange, "no relevant change", "1 unchanged",
			"no relevant changes - 1 other metric not fully judged", "No relevant change in instructions:u: of 1 test case 1 unchanged.", compare.LabelRemove)},
		{"another metric regressed", compared(kinds{same: 1}, times("wall-time", 2, false)), words(compare.OutcomeNoChange, "no relevant change", "1 unchanged",
			"no relevant changes - relevant changes in 1 other metric", "No relevant change in instructions:u: of 1 test case 1 unchanged.", compare.LabelRemove)},
		{"undeclared metrics changed", compared(kinds{same: 1}, times("cycles:u", 2, true), times("wall-time", 1.01, true)), words(compare.OutcomeNoChange, "no relevant change", "1 unchanged",
			"no relevant changes - no action needed", "No relevant change in instructions:u: of 1 test case 1 unchanged.", compare.LabelRemove)},
		{"missing in b", compared(kinds{same: 1, gone: 2}), words(compare.OutcomeNoChange, "no relevant change", "1 unchanged",
			"no relevant changes - 2 test cases missing in b", "No relevant change in instructions:u: of 1 test case 1 unchanged.", compare.LabelLeave)},
		{"incomplete", incomplete, words(compare.OutcomeNoChange, "no relevant change", "3 unchanged",
			"no relevant changes - incomplete", "No relevant change in instructions:u: of 3 test cases 3 unchanged.", compare.LabelRemove)},
		{"failed", failed, words(compare.OutcomeNoChange, "no relevant change", "3 unchanged",
			"no relevant changes - 1 newly failed benchmark, not everything could be measured", "No relevant change in instructions:u: of 3 test cases 3 unchanged.", compare.LabelLeave)},
		{"failed altogether", hopeless, words(compare.OutcomeFailed, "failed", "", "nothing could be measured", "b has no results.", compare.LabelLeave)},
		{"nothing measured", alone, words(compare.OutcomeNothingMeasured, "not measured", "", "nothing was measured", "b has no results.", compare.LabelLeave)},
		{"nothing measured on both sides", compared(kinds{gone: 1}), words(compare.OutcomeNothingMeasured, "not measured", "",
			"nothing was measured on both sides", "No test case was measured on both sides.", compare.LabelLeave)},
		{"no declared metric on both sides", compared(kinds{gone: 1}, times("cycles:u", 2, true)), words(compare.OutcomeNothingMeasured, "not measured", "",
			"nothing declared was measured on both sides", "No metric of the definitions was measured on both sides.", compare.LabelLeave)},
		{"the parent not measured", measured, words(compare.OutcomeNoParent, "nothing to compare with", "",
			"no parent results to compare with", "b was measured (3 test cases), and its parent a was not.", compare.LabelLeave)},
		{"no parent", orphan, words(compare.OutcomeNoParent, "nothing to compare with", "",
			"no parent results to compare with", "b was measured (1 test case), and its parent is not known.", compare.LabelLeave)},
	}
}

// kinds is how many test cases of the headline metric have each change. The category of little is secondary.
type kinds struct{ better, little, worse, same, unclear, elsewhere, gone int }

func compared(k kinds, more ...compare.Series) compare.Report {
	all := more
	add := func(n int, kind string, category compare.Category, samples int, a, b float64, machine events.Digest) {
		for i := range n {
			s := compare.Series{Case: named(fmt.Sprintf("%s-%d", kind, i)), Category: category, Metric: compare.MetricInfo{Name: "instructions:u", Class: compare.Count}}
			s.A, s.B = repeated(a, samples, "m1"), repeated(b, samples, machine)
			all = append(all, s)
		}
	}
	add(k.better, "better", compare.Primary, 6, 1000, 900, "m1")
	add(k.little, "little", compare.Secondary, 6, 1000, 995, "m1")
	add(k.worse, "worse", compare.Primary, 6, 1000, 1100, "m1")
	add(k.same, "same", compare.Primary, 6, 1000, 1000, "m1")
	add(k.unclear, "unclear", compare.Primary, 1, 1000, 1040, "m1")
	add(k.elsewhere, "elsewhere", compare.Primary, 6, 1000, 1100, "m2")
	for i := range k.gone {
		s := compare.Series{Case: named(fmt.Sprintf("gone-%d", i)), Metric: compare.MetricInfo{Name: "instructions:u", Class: compare.Count}}
		s.A = repeated(1000, 6, "m1")
		all = append(all, s)
	}
	c := compare.Compare(all)
	return compare.Report{A: "a", B: "b", Comparison: &c}
}

// times is a test case of another metric that changes by a factor.
func times(metric events.Metric, factor float64, undeclared bool) compare.Series {
	return compare.Series{
		Case: named("same-0"), Category: compare.Primary, Metric: compare.MetricInfo{Name: metric, Class: compare.Time, Undeclared: undeclared},
		A: repeated(1000, 3, "m1"), B: repeated(1000*factor, 3, "m1"),
	}
}

func named(benchmark string) events.TestCase {
	return events.TestCase{Benchmark: events.Benchmark(benchmark), Profile: "opt", Scenario: "full", Backend: "gc", Target: "linux-amd64"}
}

func repeated(value float64, n int, machine events.Digest) compare.Samples {
	s := compare.Samples{Environment: machine}
	for i := range n {
		s.Values = append(s.Values, value*(1+1e-6*float64(i)))
	}
	return s
}
