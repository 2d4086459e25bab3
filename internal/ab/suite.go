package ab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// SuitePlan is which benchmarks of a suite to measure for two artifacts, and for how long.
type SuitePlan struct {
	Definitions suite.Definitions
	Programs    definitions.Programs
	// A and B are the absolute paths of the artifacts.
	A, B string
	// Benchmarks are the names to measure; empty: all of them.
	Benchmarks []events.Benchmark
	MaxPairs   int
	Budget     time.Duration
	Log        func(text string)
}

// SuiteResult is all that is known of two artifacts.
type SuiteResult struct {
	Verdict Verdict    `json:"verdict"`
	Ended   End        `json:"ended"`
	Cases   []CaseDone `json:"cases"`
	// Failed are the failures, in words.
	Failed []string `json:"failed,omitempty"`
}

// CaseDone is the judgement on one metric of one test case. All test cases of a metric are judged together.
type CaseDone struct {
	Case events.TestCase `json:"case"`
	Metric
}

// Plans returns what the jobs of a master request would measure, of these benchmarks. An UnknownError is wrong usage.
func (p SuitePlan) Plans() ([]suite.BenchmarkPlan, error) {
	d := p.Definitions
	for _, b := range p.Benchmarks {
		if _, known := d.Benchmark(b); !known {
			return nil, &UnknownError{fmt.Sprintf("suite %s has no benchmark %q", d.Name, b)}
		}
	}
	jobs, _, err := d.Expand(suite.Request{Artifact: events.Artifact{Suite: d.Name, Tag: "b", Kind: events.Master}, Nameless: true})
	if err != nil {
		return nil, err
	}
	var plans []suite.BenchmarkPlan
	for _, job := range jobs {
		if k, known := d.Kind(job.Kind); !known || k.RunsCommands() {
			continue
		}
		of, err := d.Plan(job)
		if err != nil {
			return nil, err
		}
		for _, plan := range of {
			same := func(o suite.BenchmarkPlan) bool { return slices.Equal(o.Cases, plan.Cases) }
			if (len(p.Benchmarks) == 0 || slices.Contains(p.Benchmarks, plan.Benchmark.Name)) && !slices.ContainsFunc(plans, same) {
				plans = append(plans, plan)
			}
		}
	}
	if len(plans) == 0 {
		return nil, &UnknownError{fmt.Sprintf("a master request of suite %s measures nothing of that", d.Name)}
	}
	return plans, nil
}

// MeasureSuite measures the benchmarks of a suite in turns, with the runner of the farm. Each benchmark has at most MaxPairs, and
// ends at the first look at which the time of all its test cases is decided. A benchmark that is not whole when the budget is
// spent is left out. The error is that of a suite that cannot be measured, or the cause of ctx if that ended.
func MeasureSuite(ctx context.Context, r *runner.Runner, p SuitePlan) (SuiteResult, error) {
	plans, err := p.Plans()
	if err != nil {
		return SuiteResult{}, err
	}
	dir, err := os.MkdirTemp("", "tacho-ab-")
	if err != nil {
		return SuiteResult{}, err
	}
	defer os.RemoveAll(dir)
	job := func(artifact string, tag events.Tag) runner.Job {
		return runner.Job{
			Plans: plans, Toolchain: runner.Toolchain{Dir: artifact, Tag: tag}, Slot: filepath.Join(dir, "slot"), Cache: filepath.Join(dir, "cache"),
			Source: func(_ context.Context, b suite.BenchmarkDef, to string) error {
				return p.Programs.Materialise(b.Source, to)
			},
		}
	}
	sink := &suiteSink{log: p.Log}
	looks := compare.LooksAt(p.MaxPairs)
	budgeted, cancel := context.WithTimeoutCause(ctx, p.Budget, errBudget)
	defer cancel()
	_, _, err = r.RunPair(budgeted, job(p.A, "a"), job(p.B, "b"), runner.Turns{
		Pairs: p.MaxPairs, Enough: func(_ events.TestCase, a, b []events.Iteration) bool { return enough(p.Definitions, looks, a, b) },
	}, sink)
	result := SuiteResult{Ended: EndPairs, Failed: sink.failed}
	switch {
	case ctx.Err() != nil:
		result.Ended, err = EndInterrupted, context.Cause(ctx)
	case errors.Is(err, errBudget):
		result.Ended, err = EndBudget, nil
	}
	result.Cases = sink.judge(p.Definitions, looks)
	result.Verdict = verdictOfAll(result.Cases)
	return result, err
}

// enough reports whether the time of a test case is decided, at a planned look.
func enough(d suite.Definitions, looks []int, a, b []events.Iteration) bool {
	if !slices.Contains(looks, len(a)) {
		return false
	}
	for _, metric := range decidingOf(a, b) {
		t := compare.Turns{Metric: comparison.MetricOf(d, metric), Pairs: compare.SamplesOfPairs(metric, a, b), Looks: looks}
		if !compare.JudgeTurns(t).Decided() {
			return false
		}
	}
	return true
}

// decidingOf returns the metrics of a test case that decide: hardware counts, and one time. A command that prints its own metrics
// has neither, and then all of them do.
func decidingOf(a, b []events.Iteration) (metrics []events.Metric) {
	if len(compare.SamplesOfPairs(measure.InstructionsU, a, b)) == len(a) {
		metrics = append(metrics, measure.InstructionsU)
	}
	if len(compare.SamplesOfPairs(measure.WallTime, a, b)) > 0 {
		return append(metrics, timeOf(runsOf(a), runsOf(b)).Metric)
	}
	return slices.Sorted(maps.Keys(a[0].Metrics))
}

// runsOf returns iterations as runs.
func runsOf(iterations []events.Iteration) []run {
	runs := make([]run, len(iterations))
	for i, it := range iterations {
		runs[i] = run{metrics: it.Metrics, interference: it.Interference}
	}
	return runs
}

// suiteSink collects what a run of pairs reports. Only whole blocks count.
type suiteSink struct {
	log    func(string)
	side   string
	a, b   []events.MeasuredCase
	failed []string
}

// Block implements runner.PairSink.
func (s *suiteSink) Block(_ context.Context, a, b []events.MeasuredCase) error {
	s.a, s.b = append(s.a, a...), append(s.b, b...)
	return nil
}

// Side implements runner.PairSink.
func (s *suiteSink) Side(_ context.Context, b bool) error {
	s.side = "a"
	if b {
		s.side = "b"
	}
	return nil
}

// Failed implements runner.Sink.
func (s *suiteSink) Failed(_ context.Context, f runner.Failure) error {
	s.failed = append(s.failed, fmt.Sprintf("%s failed in %s: %s", f.Context, s.side, f.Message))
	return nil
}

// Log implements runner.Sink.
func (s *suiteSink) Log(text string) {
	if s.log != nil {
		s.log(text)
	}
}

// Measured implements runner.Sink. What only one side has is not compared.
func (*suiteSink) Measured(context.Context, events.MeasuredCase) error { return nil }

// Started implements runner.Sink.
func (*suiteSink) Started(events.Benchmark, int, int) {}

// Used implements runner.Sink.
func (*suiteSink) Used(measure.Use) {}

// Diagnosed implements runner.Sink.
func (*suiteSink) Diagnosed(context.Context, events.DiagnosticsSeen) error { return nil }

// Took implements runner.Sink.
func (*suiteSink) Took(func(*events.Phases) *int64, time.Duration) {}

// Counted implements runner.Sink.
func (*suiteSink) Counted(events.JobserverCount) {}

// Output implements runner.Sink.
func (*suiteSink) Output([]byte) {}

// judge judges each metric over all test cases together. The deciding ones of each test case come first.
func (s *suiteSink) judge(d suite.Definitions, looks []int) []CaseDone {
	turns, cases := map[events.Metric][]compare.Turns{}, map[events.Metric][]CaseDone{}
	for i, a := range s.a {
		b := s.b[i].Iterations
		deciding := decidingOf(a.Iterations, b)
		for metric := range a.Iterations[0].Metrics {
			info := comparison.MetricOf(d, metric)
			if pairs := compare.SamplesOfPairs(metric, a.Iterations, b); len(pairs) > 0 {
				turns[metric] = append(turns[metric], compare.Turns{Metric: info, Pairs: pairs, Looks: looks})
				cases[metric] = append(cases[metric], CaseDone{a.TestCase, Metric{Metric: info, Deciding: slices.Contains(deciding, metric), Measured: pairs}})
			}
		}
	}
	all := []CaseDone{}
	for metric, of := range turns {
		for i, judged := range compare.JudgeAllTurns(of) {
			one := cases[metric][i]
			one.Turned = judged
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(x, y CaseDone) int {
		decides := func(c CaseDone) int {
			if c.Deciding {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.Case.String(), y.Case.String()), cmp.Compare(decides(x), decides(y)), cmp.Compare(x.Metric.Metric.Name, y.Metric.Metric.Name))
	})
	return all
}

// verdictOfAll returns the verdict over all deciding metrics: unchanged only if all of them are.
func verdictOfAll(cases []CaseDone) Verdict {
	var better, worse, open, any bool
	for _, c := range cases {
		if !c.Deciding {
			continue
		}
		any = true
		better, worse = better || c.Judgement == compare.Improved, worse || c.Judgement == compare.Regressed
		open = open || c.Judgement != compare.Improved && c.Judgement != compare.Regressed && c.Judgement != compare.Unchanged
	}
	switch {
	case better && worse:
		return Mixed
	case worse:
		return Regressed
	case better:
		return Improved
	case open || !any:
		return Inconclusive
	}
	return Unchanged
}

// Rows returns one row of cells for each test case and deciding metric; all for each metric. The first cell is the test case.
func (r SuiteResult) Rows(all bool) (rows [][]string) {
	for _, c := range r.Cases {
		if all || c.Deciding {
			rows = append(rows, append([]string{c.Case.String()}, c.cells()...))
		}
	}
	return rows
}

// Sentence says the verdict in one sentence.
func (r SuiteResult) Sentence() string {
	counts := map[compare.Judgement]int{}
	of := 0
	for _, c := range r.Cases {
		if c.Deciding {
			counts[c.Judgement]++
			of++
		}
	}
	return fmt.Sprintf("%s: of %s %d regressed, %d improved, %d unchanged.", r.Verdict, phrase.Count(of, "deciding result"),
		counts[compare.Regressed], counts[compare.Improved], counts[compare.Unchanged])
}
