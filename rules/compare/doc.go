// Package compare decides whether one artifact performs differently from another, and says why.
//
// It is a pure function from samples to judgements: [Compare] takes what is known of each test case and
// metric and returns a [Comparison], sorted and the same whatever the order of its input. Nothing in it is
// infinite or not a number, so that it always marshals.
//
// # From samples to a judgement
//
// The change of a test case is (b − a)/a, where a and b are the minima over the iterations of the two
// sides. Medians are kept beside them, with their 95 % order-statistic interval where six samples give one.
// Each test case passes, in this order:
//
//	machine    the two environment fingerprints differ or are unknown          → not comparable
//	size       a is not above zero, so that no relative change exists          → inconclusive
//	samples    a time with too few samples, or too few without interference,
//	           and no change that is clear without a test                      → inconclusive
//	threshold  |change| is below the noise threshold                           → unchanged
//	test       the samples do not differ                                       → unchanged
//	           (nothing is known of the noise, or the samples are too few,
//	           and the change is not clear without a test)                     → inconclusive
//	agreement  minimum and median moved in opposite directions                 → inconclusive
//	           otherwise the change is significant                             → improved or regressed
//
// Interference is held against times alone: what else runs on a machine hardly moves a count, and its
// threshold and spread cover what it does move.
//
// Exact metrics need no statistics: any change is real, as long as each side repeats.
//
// # The strongest evidence
//
// A series of which both sides were measured in turns has pairs. Then they decide, by the test and the interval of [JudgeTurns],
// in the place of all of the above: the change is their estimate, the threshold the floor of the metric or of its class. All
// test cases of a metric that have pairs are corrected together.
//
// # The noise threshold
//
// It is the largest of three: the floor of the metric (as the definitions give it, else 0.05 % for counts
// and 1 % for times, so that a flat history never makes an alarm of 0.02 %); the upper fence Q3 + 3·IQR
// (Tukey's "far out") of the absolute relative step changes |newer − older|/older over the last 30 master
// results before a; and the spread seen between equal artifacts. Q1 and Q3 are the medians of the lower and
// the upper half, the middle value of an odd count belonging to neither. While there are fewer than 10
// results, 0.2 % for counts and 2 % for times stand in for the fence. The fence over master steps and its
// stand-in are rustc-perf's.
//
// # The test
//
// Two-sided Mann-Whitney U (golang.org/x/perf/benchmath, AssumeNothing): exact and distribution-free. Its
// smallest possible p-value is 2/C(n₁+n₂, n₁): 0.1 for 3+3 samples, 0.029 for 4+4, 0.002 for 6+6. The
// p-values of all test cases of a metric are corrected with Benjamini and Hochberg (1995): sorted
// ascending, p₍ᵢ₎ becomes min over j ≥ i of p₍ⱼ₎·m/j; a change passes at 0.05.
//
// Where 2/C(n₁+n₂, n₁) is above 0.05 the test cannot speak. Counts are then judged by the threshold alone,
// provided that something is known of their noise: a history, a spread, or a floor in the definitions.
//
// A change of any class is clear without a test when it is at least 10 times all known noise: the threshold, and the
// ranges of both samples, which are then far apart. One sample of a count stands for a range of 0.5 %; one sample of a
// time, and samples of times under interference, show nothing.
//
// Where 2/C(n₁+n₂, n₁) is above 0.05/m, a lone change could not survive the correction however clear it was, and more
// iterations would see less than few: counts then pass on the uncorrected p-value, as the threshold
// carries the decision; times that would have passed uncorrected are inconclusive unless they are clear.
//
// # Magnitude, verdict, attention
//
// Magnitude is the average, rounded down, of two scales: |change| over its threshold (below 1.5, 3, 6, 12
// times, or more) and |change| itself (below 0.2, 1, 2, 5 %, or more; doubled for times). Below 0.01 % it
// is very small whatever else. A significant change that is at least small is relevant. Buckets, verdict
// and attention are rustc-perf's, which their users know; see [Verdict] and [Summary].
//
// Every metric gets a verdict of its own; that of the headline metric (see [Comparison]) is the verdict of the
// comparison, since metrics of one run are not independent witnesses. Metrics that the definitions do not declare
// never are the headline where declared ones were measured.
//
// # Words
//
// [Report.Words] says a judgement to people, and everything that shows one takes its words from there: text, page,
// JSON, Markdown, chip and label. Words never say more than the judgement: "no relevant change" needs every test case
// to be judged, "no action needed" every test case of every declared metric.
package compare
