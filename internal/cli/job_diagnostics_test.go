package cli

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

func TestDiagnosticsAreTold(t *testing.T) {
	said := func(text string, count int, by events.JobID) readmodel.Diagnostic {
		return readmodel.Diagnostic{Level: "warning", Code: "W1", Text: text, Count: count, SaidBy: by}
	}
	failed := func(benchmark string) readmodel.JobError {
		c := events.TestCase{Benchmark: events.Benchmark(benchmark), Scenario: "full"}
		return readmodel.JobError{Kind: events.ErrorBenchmark, Context: benchmark, Case: &c, Message: benchmark + " ended with exit code 2\nmain.go:3: no"}
	}
	answers := map[string]any{
		"jobs/j2": readmodel.JobHistory{
			Job:       readmodel.Job{ID: "j2", State: events.JobFailure},
			ErrorList: []readmodel.JobError{failed("gob"), failed("json"), failed("xml"), {Kind: events.ErrorMemory, Context: "zip", Message: "killed"}},
			Diagnostics: &readmodel.JobDiagnostics{
				JobID: "j2", Lines: map[string]int{"warning": 9803}, More: 9800, Items: []readmodel.Diagnostic{said("warning: shared", 1, "j1"), said("warning: \x1b[31mown\nsecond line", 2, "")},
			},
		},
		"jobs/j3": readmodel.JobHistory{Job: readmodel.Job{ID: "j3", State: events.JobQueued}},
		"jobs/j4": readmodel.JobHistory{
			Job:         readmodel.Job{ID: "j4", State: events.JobSuccess},
			Diagnostics: &readmodel.JobDiagnostics{JobID: "j4", Of: "j2", Lines: map[string]int{"warning": 1}, Items: []readmodel.Diagnostic{said("warning: shared", 1, "")}},
		},
		"requests/r1/graphs": map[string]any{"request_id": "r1", "graphs": []readmodel.Graph{{
			RequestID: "r1", Kind: events.GraphInitial, Diagnostics: &readmodel.GraphDiagnostics{Lines: map[string]int{"warning": 3}, Different: 2, Duplicates: 1},
		}}},
	}
	for line, parts := range map[string][]string{
		"job diagnostics j2":        {"job j2: 9803 × warning\n", "LINES  LEVEL    CODE  TEXT", "2      warning  W1    warning: ", "(1 duplicate: see `tacho job diagnostics j1`, or --all)\n", "and 9800 more\n"},
		"job diagnostics j2 --all":  {"warning: shared       j1"},
		"job diagnostics j2 --json": {`"said_by": "j1"`, `"more": 9800`},
		"job diagnostics j3":        {"The commands of job j3 had nothing to say"},
		"job diagnostics j3 --json": {"null"},
		"job diagnostics j4":        {"(said by job j2, whose outcome it took over)"},
		"job show j2":               {"(1 duplicate: see", "benchmark: gob: gob ended with exit code 2 … and 2 others: same error\n", "memory: zip: killed\n"},
		"graph show r1":             {"  diagnostics: 3 × warning, 2 different (1 duplicate); see `tacho job diagnostics JOB`\n"},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone || strings.Contains(out, "\x1b") {
			t.Errorf("tacho %s: exit code %d: %s%q", line, code, errs, out)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	out, _, _ := answering(t, answers, "job diagnostics j2")
	if strings.Contains(out, "shared") {
		t.Errorf("it shows what another job shows:\n%s", out)
	}
}
