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
		title := phrase.Count(benchmarks(oldCases), "failed benchmark")
		if r.Comparison != nil {
			title = phrase.Count(benchmarks(oldCases), "benchmark") + " failed as for the parent"
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

// benchmarks counts the benchmarks of test cases.
func benchmarks(cases []FailedCase) int {
	names := map[events.Benchmark]bool{}
	for _, f := range cases {
		names[f.Case.Benchmark] = true
	}
	return len(names)
}

// failedGroup is the failed test cases that have the same error.
type failedGroup struct {
	first events.TestCase
	// cases is how many of them are of the benchmark of the first one, others how many are of other benchmarks, which more names.
	cases, others int
	more          []events.Benchmark
	message       string
}

// sharersNamed is how many of the other benchmarks with the same error are named.
const sharersNamed = 3

// name returns the name of the first part of the group. as escapes foreign names for the output.
func (f failedGroup) name(as func(string) string) string {
	if f.cases > 1 {
		return as(string(f.first.Benchmark)) + " (" + phrase.Count(f.cases, "test case") + ")"
	}
	return as(f.first.String())
}

// rest says which other test cases have the same error; empty if there are none.
func (f failedGroup) rest(as func(string) string) string {
	if f.others == 0 {
		return ""
	}
	names := make([]string, 0, sharersNamed)
	for _, b := range f.more[:min(len(f.more), sharersNamed)] {
		names = append(names, as(string(b)))
	}
	of := strings.Join(names, ", ")
	if left := len(f.more) - len(names); left > 0 {
		of += fmt.Sprintf(" and %d more", left)
	}
	return fmt.Sprintf(" … and %s: same error (%s)", phrase.Count(f.others, "other test case"), of)
}

// SameError returns what is equal for errors of one cause: the message without what differs by chance, and without the names of
// its test case; c is nil for an error of a whole job.
func SameError(message string, c *events.TestCase) string {
	if c != nil {
		for _, name := range []string{string(c.Benchmark), string(c.Scenario), string(c.Profile), string(c.Backend), string(c.Target)} {
			message = withoutName(message, name)
		}
	}
	return phrase.WithoutChance(message)
}

// withoutName replaces a name in a text where it is no part of a longer word.
func withoutName(text, name string) string {
	if name == "" || !strings.Contains(text, name) {
		return text
	}
	var out strings.Builder
	for {
		at := strings.Index(text, name)
		if at < 0 {
			break
		}
		end := at + len(name)
		if (at == 0 || !wordByte(text[at-1])) && (end == len(text) || !wordByte(text[end])) {
			out.WriteString(text[:at] + "*")
		} else {
			out.WriteString(text[:end])
		}
		text = text[end:]
	}
	return out.String() + text
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// grouped puts failed test cases with the same error together, sorted by the benchmark of the first one.
func grouped(cases []FailedCase) (groups []failedGroup) {
	sorted := slices.SortedFunc(slices.Values(cases), func(a, b FailedCase) int {
		return cmp.Or(strings.Compare(string(a.Case.Benchmark), string(b.Case.Benchmark)), strings.Compare(cause(a.Message), cause(b.Message)), compareCases(a.Case, b.Case))
	})
	of := map[string]int{}
	for _, f := range sorted {
		message := cause(f.Message)
		key := SameError(message, &f.Case)
		at, known := of[key]
		if !known {
			of[key] = len(groups)
			groups = append(groups, failedGroup{first: f.Case, cases: 1, message: message})
			continue
		}
		g := &groups[at]
		if g.first.Benchmark == f.Case.Benchmark {
			g.cases++
			continue
		}
		g.others++
		if n := len(g.more); n == 0 || g.more[n-1] != f.Case.Benchmark {
			g.more = append(g.more, f.Case.Benchmark)
		}
	}
	return groups
}

// failedRows writes failed test cases as a list.
func failedRows(cases []FailedCase) []string {
	var rows []string
	for _, f := range grouped(cases) {
		rows = append(rows, fmt.Sprintf("- %s: %s%s\n", f.name(code), code(f.message), f.rest(code)))
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
