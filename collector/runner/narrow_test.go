package runner_test

import (
	"testing"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// A command that prints the same time each time is narrow at once; one whose times are spread evenly over ±6 % needs some more, and
// one that is spread without end is measured to the most.
func TestCasesEndOnceTheyAreNarrow(t *testing.T) {
	for _, test := range []struct {
		name, value string
		least, most int
	}{
		{"the same", "5", 2, 2},
		{"spread a little", "$((1000 + n * 7 % 13 * 10))", 7, 29},
		{"spread without end", "$((n * n * n))", 30, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			script := `echo >> ../n; n=$(wc -l < ../n); echo "{\"metric\":\"latency\",\"value\":` + test.value + `}"`
			plan := fullOnly(planOf(shell("one", script), suite.DriverCommand, 30))
			plan.Benchmark.Parse, plan.Benchmark.SourceDigest = "jsonlines", "shipped"
			plan.Until = &suite.Until{Min: 2, Width: 0.05, Times: []events.Metric{"latency"}}
			a, b := sides(t, plan)
			var sink recorder
			if got, err := newRunner().Run(t.Context(), a, &sink); err != nil || got != (runner.Summary{Measured: 1}) {
				t.Fatalf("Run = %+v, %v", got, err)
			}
			n := len(sink.measured[0].Iterations)
			if n < test.least || n > test.most {
				t.Errorf("%d iterations, want %d to %d: %q", n, test.least, test.most, sink.log)
			}
			pairs, _, _ := runPair(t, a, b, runner.Turns{})
			for _, side := range pairs.blocks[0] {
				if len(side[0].Iterations) != n {
					t.Errorf("%d pairs, and %d iterations alone", len(side[0].Iterations), n)
				}
			}
			if test.most < 30 {
				logged(t, sink.log, "one opt full: narrow enough: ±")
				logged(t, pairs.log, "one opt full: narrow enough: ±")
			}
		})
	}
}
