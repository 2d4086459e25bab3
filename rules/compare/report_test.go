package compare_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
	"pgregory.net/rapid"
)

const (
	shaA = "3f1c2d0a9b8e7f6a5d4c3b2a1908f7e6d5c4b3a2"
	shaB = "0123456789abcdef0123456789abcdef01234567"
)

func written(t testing.TB, r compare.Report, o compare.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := compare.Markdown(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// finished is the report on a commit whose benchmarks ended with these changes of the primary and secondary benchmarks.
func finished(series ...compare.Series) compare.Report {
	c := compare.Compare(series)
	return compare.Report{
		A: shaA, B: shaB, Commit: true, Ended: true, Comparison: &c,
		ComparisonURL: "https://perf.example/compare?a=" + shaA + "&b=" + shaB, RequestURL: "https://perf.example/requests/r0123456789abcdef",
	}
}

func change(benchmark string, category compare.Category, factor float64) compare.Series {
	s := series(instructions(), around(1e9, 6), around(1e9*factor, 6))
	s.Case, s.Category = testCase(benchmark), category
	return s
}

func failure(benchmark, scenario, message string, fresh bool) compare.FailedCase {
	c := testCase(benchmark)
	c.Scenario = events.Scenario(scenario)
	return compare.FailedCase{Case: c, Message: message, New: fresh}
}

func TestErrorsOfOneCauseAreTheSame(t *testing.T) {
	of := func(benchmark, scenario string) *events.TestCase {
		c := failure(benchmark, scenario, "", true).Case
		return &c
	}
	for _, test := range []struct {
		a, b string
		c, d *events.TestCase
		same bool
	}{
		{"compile serde: no", "compile syn: no", of("serde", "full"), of("syn", "full"), true},
		{"serde_derive: no", "syn_derive: no", of("serde", "full"), of("syn", "full"), false},
		{"at line 3 of serde/full", "at line 4 of syn/half", of("serde", "full"), of("syn", "half"), true},
		{"exit code 1", "exit code 2", of("serde", "full"), of("syn", "full"), false},
		{"compile serde: no", "compile syn: no", nil, nil, false},
		{"took 3 s", "took 5 s", nil, nil, true},
	} {
		if same := compare.SameError(test.a, test.c) == compare.SameError(test.b, test.d); same != test.same {
			t.Errorf("%q and %q: %t", test.a, test.b, same)
		}
	}
}

// TestReports: each kind of report, as it is on GitHub.
func TestReports(t *testing.T) {
	regression := finished(
		change("serde", compare.Primary, 1.031), change("regex", compare.Primary, 1.012), change("syn", compare.Primary, 1.0001),
		change("match-stress", compare.Secondary, 1.02))
	failed := regression
	failed.Failure = "2 of 12 required jobs failed"
	failed.FailedCases = []compare.FailedCase{
		failure("ripgrep", "full", "error[E0308]: mismatched types\n  --> src/main.rs", true),
		failure("cargo", "full", "killed after 10m0s", true), failure("cargo", "incr-full", "killed after 10m0s", true),
		failure("broken", "full", "it never compiled", false),
	}
	sameError := finished(change("serde", compare.Primary, 1))
	sameError.Failure, sameError.Diagnostics = "1 of 12 required jobs failed", []string{"2 × error, 14 × warning, 3 different (1 duplicate)", "graph 2: 1 × <b>"}
	for i, benchmark := range []string{"cargo", "ripgrep", "serde", "syn", "tokio", "zip"} {
		for _, scenario := range []string{"full", "incr-full", "incr-patched"} {
			message := fmt.Sprintf("%s/%s ended with exit code 101 after %d ms:\n  src/%s.rs:%d: panicked at 0x%x", benchmark, scenario, i+3, benchmark, i, i+77)
			if benchmark == "zip" && scenario == "full" {
				message = "killed after 10m0s"
			}
			sameError.FailedCases = append(sameError.FailedCases, failure(benchmark, scenario, message, true))
		}
	}
	sameError.FailedCases = append(sameError.FailedCases, failure("old", "full", "it never compiled", false), failure("older", "full", "it never compiled", false))
	failed.FailedJobs = []compare.FailedJob{
		{Name: "compile x86_64/1 llvm check", Reason: "3 of 21 test cases failed", URL: "https://perf.example/jobs/j1"},
		{Name: "compile riscv/0 llvm check", Reason: "the artifact is not on the server", URL: "https://perf.example/jobs/j2", Optional: true},
	}
	incomplete := regression
	incomplete.Incomplete = "The request for " + shaA + " failed: 1 of 12 jobs."
	several := finished(demo()...)
	for name, r := range map[string]compare.Report{
		"regression":  regression,
		"improvement": finished(change("serde", compare.Primary, 0.995), change("regex", compare.Primary, 1)),
		"mixed":       finished(change("serde", compare.Primary, 1.03), change("regex", compare.Primary, 0.96), change("tt-muncher", compare.Secondary, 0.97)),
		"nothing":     finished(change("serde", compare.Primary, 1.0001), change("regex", compare.Primary, 1)),
		"several":     several,
		"failed":      failed,
		"same-error":  sameError,
		"incomplete":  incomplete,
		"empty-handed": {
			A: shaA, B: shaB, Commit: true, Ended: true, Failure: "12 of 12 required jobs failed", RequestURL: "https://perf.example/requests/r0",
			FailedJobs: []compare.FailedJob{{Name: "compile x86_64/0 llvm check", Reason: "the artifact is not on the server", URL: "https://perf.example/jobs/j1"}},
		},
		"no-parent":   {B: shaB, Commit: true, Ended: true, Measured: 21, RequestURL: "https://perf.example/requests/r0"},
		"parent-bare": {A: shaA, B: shaB, Commit: true, Ended: true, Measured: 21},
		"quarantined": {
			A: shaA, B: shaB, Commit: true, Ended: true, RequestURL: "https://perf.example/requests/r0",
			Failure: `quarantined: 3 times it could not be turned into jobs: unknown target "x86_65": use one of x86_64, aarch64`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := written(t, r, compare.CommentOptions())
			golden(t, "report-"+name+".md", []byte(text))
			checkReport(t, text)
		})
	}
}

// nasty draws words that try to break out of their place.
func nasty() *rapid.Generator[string] {
	pieces := []string{
		"@everyone", "@rust-lang/infra", "`", "``", "|", `\|`, `\`, "<b>", "</details>", "<details>", "<!--", "-->", "\n", "\r\n\r\n", "# ", "- ", "[x](http://e.vil)",
		"![](http://e.vil)", "http://e.vil", "www.e.vil", "#123", "GH-12", "a/b#3", "*", "_", "~~", "$x$", "&lt;", "&#64;x", "\x1b[2J", "\u202e", "é", "name", "-", " ", "\t", ":tada:",
	}
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6), func(s []string) string { return strings.Join(s, "") }),
		rapid.String(), rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("x|", n) }),
	)
}

// TestReportsHold: with any content, a report keeps its limit, its form and its order, and mentions no person.
func TestReportsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := func(label string) string { return nasty().Draw(t, label) }
		flip := rapid.Bool()
		r := compare.Report{
			A: words("a"), B: words("b"), Commit: flip.Draw(t, "commit"), Ended: flip.Draw(t, "ended"), Measured: rapid.IntRange(0, 3).Draw(t, "measured"),
			Diagnostics: []string{words("said"), words("said too")},
			Failure:     words("failure"), Incomplete: words("incomplete"), ComparisonURL: words("url"), RequestURL: "https://perf.example/" + words("path"),
		}
		metrics := rapid.IntRange(1, 4).Draw(t, "metrics")
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		base := rapid.SliceOfN(nasty(), 1, 5).Draw(t, "names")
		name := func(i int) string { return fmt.Sprintf("%s%d", base[i%len(base)], i) }
		if flip.Draw(t, "compared") {
			var all []compare.Series
			classes := []compare.Class{compare.Exact, compare.Count, compare.Time}
			for i := range rapid.IntRange(0, 150).Draw(t, "cases") {
				m := compare.MetricInfo{Name: events.Metric(name(i % metrics)), Unit: base[0], Class: classes[i%metrics%3]}
				s := series(m, around(100, 6), around(100+random.Float64()*float64(i%7)-2, 6))
				s.Case = events.TestCase{Benchmark: events.Benchmark(name(i)), Profile: events.Profile(base[0]), Backend: events.Backend(base[len(base)-1])}
				s.Category = []compare.Category{compare.Primary, compare.Secondary}[i%2]
				if i%11 == 0 {
					s.A.Values = nil
				}
				all = append(all, s)
			}
			c := compare.Compare(all)
			r.Comparison = &c
		}
		for i := range rapid.IntRange(0, 200).Draw(t, "failed") {
			r.FailedCases = append(r.FailedCases, compare.FailedCase{Case: testCase(name(i)), Message: name(i + 1), New: i%3 > 0})
		}
		for i := range rapid.IntRange(0, 60).Draw(t, "jobs") {
			r.FailedJobs = append(r.FailedJobs, compare.FailedJob{Name: name(i), Reason: name(i + 2), URL: "https://perf.example/jobs/" + base[0], Optional: i%5 == 0})
		}
		o := compare.CommentOptions()
		o.Brief = flip.Draw(t, "brief")
		if flip.Draw(t, "short") {
			o.Limit = 16 << 10
		}
		var b bytes.Buffer
		if err := compare.Markdown(&b, r, o); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if len(text) > o.Limit {
			t.Fatalf("%d bytes, where %d are allowed", len(text), o.Limit)
		}
		checkReport(t, text)
		random.Shuffle(len(r.FailedCases), func(i, j int) {
			r.FailedCases[i], r.FailedCases[j] = r.FailedCases[j], r.FailedCases[i]
		})
		random.Shuffle(len(r.FailedJobs), func(i, j int) { r.FailedJobs[i], r.FailedJobs[j] = r.FailedJobs[j], r.FailedJobs[i] })
		b.Reset()
		if err := compare.Markdown(&b, r, o); err != nil || b.String() != text {
			t.Fatalf("in another order the report differs (%v)", err)
		}
	})
}

// FuzzReportNames feeds any text as the names and messages of a report.
func FuzzReportNames(f *testing.F) {
	f.Add("serde", "it failed", "instructions:u", "https://perf.example/")
	f.Add("a|b`@rust\x1b[2J\n<img>,\"", "@x </details>\n\n# y", "<b>|`@", "javascript:alert(1)")
	f.Add(`x\`, `\|`, `\\|`, "https://e.vil/)|@x")
	f.Fuzz(func(t *testing.T, name, message, metric, url string) {
		m := instructions()
		m.Name, m.Unit = events.Metric(metric), name
		s := series(m, around(1000, 6), around(1100, 6))
		s.Case = events.TestCase{Benchmark: events.Benchmark(name), Target: events.Target(message), Backend: events.Backend(metric)}
		other := series(wallTime(), around(1000, 6), around(1100, 6))
		other.Case = s.Case
		c := compare.Compare([]compare.Series{s, other})
		checkReport(t, written(t, compare.Report{
			A: name, B: message, Comparison: &c, Failure: message, Incomplete: name, ComparisonURL: url, RequestURL: url,
			FailedCases: []compare.FailedCase{{Case: s.Case, Message: message, New: true}, {Case: other.Case, Message: name}},
			FailedJobs:  []compare.FailedJob{{Name: name, Reason: message, URL: url}},
		}, compare.CommentOptions()))
	})
}

var (
	// destination matches the target of our own links, linked what GitHub would link by itself.
	destination = regexp.MustCompile(`\]\(https?://[^()\s]*\)`)
	linked      = regexp.MustCompile(`://|www\.|#[0-9]|GH-[0-9]|\]\(`)
)

// checkReport reports what a report must never contain. It reads the text as GitHub does: text inside code mentions no
// person.
func checkReport(t rapid.TB, text string) {
	t.Helper()
	depth, columns := 0, 0
	for n, line := range strings.Split(text, "\n") {
		bare := destination.ReplaceAllString(withoutCode(t, line), "]")
		if strings.ContainsAny(bare, "@\r\x1b`") {
			t.Fatalf("line %d mentions or hides something: %q", n+1, line)
		}
		if linked.MatchString(bare) {
			t.Fatalf("line %d links something: %q", n+1, line)
		}
		for _, tag := range []string{"<details><summary>", "</summary>", "</details>", "<code>", "</code>"} {
			bare = strings.ReplaceAll(bare, tag, "")
		}
		if strings.Contains(bare, "<") {
			t.Fatalf("line %d opens HTML: %q", n+1, line)
		}
		depth += strings.Count(line, "<details><summary>") - strings.Count(withoutCode(t, line), "</details>")
		if depth < 0 || depth > 1 {
			t.Fatalf("line %d leaves %d details open: %q", n+1, depth, line)
		}
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
		if columns == 0 {
			columns = got
		}
		if got != columns {
			t.Fatalf("line %d has %d columns in a table of %d: %q", n+1, got, columns, line)
		}
	}
	if depth != 0 {
		t.Fatalf("%d details stay open", depth)
	}
}

// withoutCode removes code spans and code elements: everything in them is plain text.
func withoutCode(t rapid.TB, line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "`")
		b.WriteString(before)
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, "`")
		if !closed || inside == "" {
			t.Fatalf("code stays open: %q", line)
		}
		line = after
	}
	line = b.String()
	before, rest, found := strings.Cut(line, "<code>")
	if !found {
		return line
	}
	inside, after, closed := strings.Cut(rest, "</code>")
	if !closed || strings.ContainsAny(inside, "<>") {
		t.Fatalf("code stays open: %q", line)
	}
	return before + after
}

// TestCutReportsSayWhere: a cut report names what is missing, links to everything, and keeps what matters most.
func TestCutReportsSayWhere(t *testing.T) {
	var all []compare.Series
	for i := range 3000 {
		s := change(fmt.Sprintf("benchmark-%04d", i), compare.Primary, 1.001+float64(i)/10_000)
		all = append(all, s)
		s.Metric = wallTime()
		all = append(all, s)
	}
	r := finished(all...)
	for i := range 3000 {
		r.FailedCases = append(r.FailedCases, failure(fmt.Sprintf("failed-%04d", i), "full", strings.Repeat("x", 150), true))
	}
	text := written(t, r, compare.CommentOptions())
	checkReport(t, text)
	for _, want := range []string{
		"| All ❌✅ (primary) |", "`benchmark-2999/check/full` |", "more: see the [comparison](https://perf.example/", "`failed-0000/", "<code>wall-time</code>", "3000 newly failed benchmarks",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(text, "`benchmark-0100/") || len(text) < 60_000 {
		t.Errorf("%d bytes were used badly", len(text))
	}
	if full := written(t, r, compare.Options{}); !strings.Contains(full, "`benchmark-0000/") || len(full) < 500_000 {
		t.Errorf("without a limit %d bytes", len(full))
	}
}
