// Package ab measures two commands in turns on this machine, until their difference is decided, and needs no server.
//
// A pair is one run of each side, one right after the other, in the order of compare.FirstIsA. Commands that take little time run
// several times in each pair, in turns, and the mean of a side is its value. After the pairs that
// compare.LooksAt plans, compare.JudgeTurns judges what is known. Measuring ends at the first look that decides all deciding
// metrics, or when the pairs or the budget are spent.
//
// Two metrics decide. Instructions lead where they are counted: noise hardly moves them. Time decides beside them: task-clock
// where both sides keep one CPU busy, because a neighbour moves it far less, else wall-time. Which of the two is settled once, at
// the first look, from how busy the runs were, and not from how the sides differ.
//
// A run that fails ends the measuring, because a failed run does other work. Whatever ends it, what is known so far is returned.
// A pair of which one run is missing does not count.
package ab

import (
	"errors"
	"fmt"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// Side is one of the two that are compared.
type Side struct {
	// Name is what the person wrote.
	Name string `json:"name"`
	// Argv is the command with its arguments. Its first element is the path of a file, with a slash in it.
	Argv []string `json:"argv"`
	// Dir is where it runs; empty is the directory of this process.
	Dir string `json:"dir,omitempty"`
	// Commit is the commit that was built, for revisions.
	Commit string `json:"commit,omitempty"`
	// Set are the variables that this side alone gets, as NAME=value.
	Set []string `json:"set,omitempty"`
	// Env is the whole environment, with Set.
	Env []string `json:"-"`
}

// Plan is what to measure, and for how long.
type Plan struct {
	A, B Side
	// MaxPairs is the most pairs, Budget the longest time for all of it. Both are above zero.
	MaxPairs int
	Budget   time.Duration
	// Timeout bounds one run; 0: the budget alone does.
	Timeout time.Duration
	// Runs is how often each side runs in a pair, 0: as often as takes 0.2 s, at most 10 times, by the warm-up; without one, once.
	Runs int
	// Warmup is how often each side runs before the first pair, unmeasured.
	Warmup int
	// Counting says how instructions are counted.
	Counting measure.Counting
	// Input is what both read; empty is /dev/null.
	Input []byte
	// Parse reads further metrics from what a run printed; nil reads none.
	Parse runner.Parser
	// Progress, if set, is called after each pair.
	Progress func(Progress)
}

// Progress is what is known while measuring goes on.
type Progress struct {
	Pairs, MaxPairs int
	// Metric is the metric that Judged is about: the first deciding one.
	Metric compare.MetricInfo
	Judged compare.Turned
	// Doing says what else happens; empty while pairs are measured.
	Doing string
}

// Verdict is the answer for both deciding metrics together.
type Verdict string

// The verdicts. Instructions lead: an undecided time does not unsay what they say. Mixed says that instructions and time changed
// in opposite directions.
const (
	Regressed    Verdict = "regressed"
	Improved     Verdict = "improved"
	Mixed        Verdict = "mixed"
	Unchanged    Verdict = "unchanged"
	Inconclusive Verdict = "inconclusive"
)

// End says why measuring ended.
type End string

// The ends.
const (
	EndDecided     End = "decided"
	EndPairs       End = "pairs"
	EndBudget      End = "budget"
	EndInterrupted End = "interrupted"
	EndFailed      End = "failed"
)

// Result is all that is known of two sides.
type Result struct {
	Verdict Verdict `json:"verdict"`
	A       Side    `json:"a"`
	B       Side    `json:"b"`
	// Pairs counts the whole pairs, Runs how often each side ran in one, Seconds how long all of it took.
	Pairs   int     `json:"pairs"`
	Runs    int     `json:"runs"`
	Seconds float64 `json:"seconds"`
	Ended   End     `json:"ended"`
	// Time says which metric decides for time; nil before the first pair.
	Time *Choice `json:"time,omitempty"`
	// Counted says how instructions were counted; empty if they were not, and Uncounted then says why.
	Counted   measure.Counting `json:"counted,omitempty"`
	Uncounted string           `json:"uncounted,omitempty"`
	// Metrics are the deciding ones first.
	Metrics   []Metric  `json:"metrics"`
	Disturbed Disturbed `json:"disturbed"`
	// Notes are further things that a reader should know.
	Notes []string `json:"notes,omitempty"`
	// Failure is the failed run that ended the measuring, if one did.
	Failure *Failure `json:"failure,omitempty"`
}

// Choice is a metric, and why it was chosen.
type Choice struct {
	Metric events.Metric `json:"metric"`
	Why    string        `json:"why"`
}

// Metric is the judgement on one metric.
type Metric struct {
	Metric compare.MetricInfo `json:"metric"`
	// Deciding: the verdict follows from it.
	Deciding bool `json:"deciding,omitempty"`
	compare.Turned
	// Advice says what would help to decide it.
	Advice []compare.Advice `json:"advice,omitempty"`
	// Measured are the pairs themselves.
	Measured []compare.Pair `json:"-"`
}

// Disturbed is what else used the machine.
type Disturbed struct {
	// Pairs is how many pairs had interference on record.
	Pairs int `json:"pairs"`
	// Worst is the worst of it in words.
	Worst string `json:"worst,omitempty"`
}

// Failure is one or more runs that failed.
type Failure struct {
	// Sides are "a", "b", or both if both failed before the first pair.
	Sides []string `json:"sides"`
	// Pair is the pair of the run, from 1 on; 0 before the first.
	Pair int `json:"pair"`
	// Text says what happened, with the end of what the command printed.
	Text string `json:"text"`
}

// ErrFailed says that a side failed, for errors.Is.
var ErrFailed = errors.New("a measured command failed")

// Check refuses a plan with which nothing can be measured.
func (p Plan) Check() error {
	switch {
	case p.MaxPairs < 1:
		return fmt.Errorf("--max-pairs %d measures nothing: write 1 or more; from 10 on there can be a verdict on time", p.MaxPairs)
	case p.Budget <= 0:
		return fmt.Errorf("--budget %v leaves no time: write how long measuring may take at most, such as --budget 5m", p.Budget)
	case p.Timeout < 0:
		return fmt.Errorf("--timeout %v is negative: write how long one run may take, or leave it out", p.Timeout)
	case p.Runs < 0:
		return fmt.Errorf("--runs %d is negative: write how often each side runs in a pair, or leave it out", p.Runs)
	case p.Warmup < 0:
		return fmt.Errorf("--warmup %d is negative: write how often each side runs before the first pair", p.Warmup)
	}
	return nil
}

// Regressed reports whether something got worse.
func (r Result) Regressed() bool { return r.Verdict == Regressed || r.Verdict == Mixed }

// Changed reports whether something got better or worse.
func (r Result) Changed() bool { return r.Regressed() || r.Verdict == Improved }
