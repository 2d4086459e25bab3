package runner_test

import (
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
)

// Valgrind is never required: without it the cases are measured, and the log says what is missing.
func TestInstructionsAreCountedWhereValgrindIs(t *testing.T) {
	job := rustJob(t, crate(), fullOnly(rustPlan("demo", 2, "rustc", "--profile", "check")))
	r := newRunner()
	r.Settings = runner.Settings{DisableASLR: true, Counting: measure.CountValgrind}
	var counts []float64
	for range 2 {
		var sink recorder
		if _, err := r.Run(t.Context(), job, &sink); err != nil || len(sink.measured) != 1 {
			t.Fatalf("%v: %+v", err, sink)
		}
		iterations := sink.measured[0].Iterations
		n, counted := iterations[0].Metrics[measure.Instructions]
		if _, err := exec.LookPath("valgrind"); err != nil {
			if counted || !strings.Contains(strings.Join(sink.log, "\n"), "instructions are not counted") {
				t.Errorf("without valgrind: %v, log %v", iterations, sink.log)
			}
			return
		}
		if !counted || len(iterations) != 2 {
			t.Fatalf("no count in %v", iterations)
		}
		counts = append(counts, n)
	}
	if counts[0] < 1e6 || math.Abs(counts[0]-counts[1]) > counts[0]/1000 {
		t.Errorf("counted %v instructions", counts)
	}
}
