package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// failedBlocks lists the benchmarks that newly fail; the failed jobs and the other benchmarks that failed.
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
		title := plural(len(known.rows), "failed benchmark")
		if r.Comparison != nil {
			title = plural(len(known.rows), "benchmark") + " failed as for the parent"
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
		jobs.rows = append(jobs.rows, fmt.Sprintf("- %s%s: %s\n", link(code(j.Name), j.URL), optional, prose(j.Reason)))
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

// failedRows writes failed test cases, those of one benchmark with one message on one line, sorted by benchmark.
func failedRows(cases []FailedCase) []string {
	cases = slices.SortedFunc(slices.Values(cases), func(a, b FailedCase) int {
		return cmp.Or(strings.Compare(string(a.Case.Benchmark), string(b.Case.Benchmark)), strings.Compare(clip(a.Message), clip(b.Message)), compareCases(a.Case, b.Case))
	})
	var rows []string
	for len(cases) > 0 {
		first := cases[0]
		n := 1
		for n < len(cases) && cases[n].Case.Benchmark == first.Case.Benchmark && clip(cases[n].Message) == clip(first.Message) {
			n++
		}
		name := code(first.Case.String())
		if n > 1 {
			name = code(string(first.Case.Benchmark)) + " (" + plural(n, "test case") + ")"
		}
		rows = append(rows, fmt.Sprintf("- %s: %s\n", name, code(first.Message)))
		cases = cases[n:]
	}
	return rows
}
