package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// failedBlocks returns a block with the benchmarks that newly fail, and blocks with the failed jobs and the other
// failed benchmarks.
func (r Report) failedBlocks() (news block, others []block) {
	fresh := block{rank: rankNew, name: "newly failed benchmarks"}
	known := block{rank: rankFailed, name: "failed benchmarks"}
	var newCases, oldCases []FailedCase
	for _, f := range r.FailedCases {
		if f.New {
			newCases = append(newCases, f)
		} else {
			oldCases = append(oldCases, f)
		}
	}
	fresh.rows, known.rows = failedRows(newCases), failedRows(oldCases)
	if len(fresh.rows) > 0 {
		fresh.open = "\n### Newly failed benchmarks\n\n"
	}
	if len(known.rows) > 0 {
		title := phrase.Count(len(known.rows), "failed benchmark")
		if r.Comparison != nil {
			title = phrase.Count(len(known.rows), "benchmark") + " failed as for the parent"
		}
		known.open = "\n<details><summary>" + title + "</summary>\n\n"
		known.shut = "\n</details>\n"
	}
	jobs := block{rank: rankJobs, name: "failed jobs"}
	for _, j := range slices.SortedStableFunc(slices.Values(r.FailedJobs), func(a, b FailedJob) int {
		return cmp.Or(compareBools(a.Optional, b.Optional), cmp.Compare(a.Name, b.Name), cmp.Compare(a.URL, b.URL), cmp.Compare(a.Reason, b.Reason))
	}) {
		optional := ""
		if j.Optional {
			optional = " (optional)"
		}
		jobs.rows = append(jobs.rows, fmt.Sprintf("- %s%s: %s\n", link(code(j.Name), j.URL), optional, prose(cause(j.Reason))))
	}
	if len(jobs.rows) > 0 {
		jobs.open = "\n### Failed jobs\n\n"
	}
	return fresh, []block{jobs, known}
}

// compareBools puts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// newBenchmarks returns the benchmarks with a test case that newly fails, sorted.
func newBenchmarks(cases []FailedCase) []events.Benchmark {
	var names []events.Benchmark
	for _, f := range cases {
		if f.New {
			names = append(names, f.Case.Benchmark)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// failedGroup is the failed test cases of one benchmark that have the same message.
type failedGroup struct {
	first   events.TestCase
	cases   int
	message string
}

// name returns the name of the group. as escapes foreign names for the output.
func (f failedGroup) name(as func(string) string) string {
	if f.cases > 1 {
		return as(string(f.first.Benchmark)) + " (" + phrase.Count(f.cases, "test case") + ")"
	}
	return as(f.first.String())
}

// grouped puts failed test cases of one benchmark with the same message together, sorted by benchmark.
func grouped(cases []FailedCase) (groups []failedGroup) {
	all := make([]failedGroup, len(cases))
	for i, c := range cases {
		all[i] = failedGroup{first: c.Case, cases: 1, message: cause(c.Message)}
	}
	slices.SortFunc(all, func(a, b failedGroup) int {
		return cmp.Or(strings.Compare(string(a.first.Benchmark), string(b.first.Benchmark)), strings.Compare(a.message, b.message), compareCases(a.first, b.first))
	})
	for _, next := range all {
		if n := len(groups); n > 0 && groups[n-1].first.Benchmark == next.first.Benchmark && groups[n-1].message == next.message {
			groups[n-1].cases++
			continue
		}
		groups = append(groups, next)
	}
	return groups
}

// failedRows writes failed test cases as a list.
func failedRows(cases []FailedCase) []string {
	var rows []string
	for _, f := range grouped(cases) {
		rows = append(rows, fmt.Sprintf("- %s: %s\n", f.name(code), code(f.message)))
	}
	return rows
}

// Failed returns the failed test cases of the report, sorted, each with its message cut to the cause.
func (r Report) Failed() []FailedCase {
	failed := make([]FailedCase, len(r.FailedCases))
	for i, f := range r.FailedCases {
		f.Message = cause(f.Message)
		failed[i] = f
	}
	slices.SortFunc(failed, func(a, b FailedCase) int { return compareCases(a.Case, b.Case) })
	return failed
}
