package runner_test

import (
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// counting returns a runner that counts with valgrind. here says whether valgrind is installed: it is never required.
func counting() (r *runner.Runner, here bool) {
	r = newRunner()
	r.Settings = runner.Settings{DisableASLR: true, Counting: measure.CountValgrind}
	_, err := exec.LookPath("valgrind")
	return r, err == nil
}

// countsOf returns the count in the first sample of each measured case; -1 if there is none.
func countsOf(cases []events.MeasuredCase) (counts []float64) {
	for _, c := range cases {
		n, counted := c.Iterations[0].Metrics[measure.Instructions]
		if !counted {
			n = -1
		}
		counts = append(counts, n)
	}
	return counts
}

// A command that starts others, and prints its metrics, is counted all the same: the count is what it did. A metric of that name that
// it prints itself stays.
func TestCommandsWithChildrenAreCounted(t *testing.T) {
	parsed := planOf(shell("parsed", `/bin/true; sh -c ':'; echo '{"metric":"latency","value":12.5}'`), suite.DriverCommand, 2)
	own := planOf(shell("own", `echo '{"metric":"instructions","value":7}'`), suite.DriverCommand, 1)
	for _, p := range []*suite.BenchmarkPlan{&parsed, &own} {
		p.Benchmark.Parse, p.Chain, p.Cases = "jsonlines", p.Chain[:1], p.Cases[:1]
	}
	r, here := counting()
	var first float64
	for i := range 2 {
		var sink recorder
		if _, err := r.Run(t.Context(), jobOf(t, nil, parsed, own), &sink); err != nil || len(sink.measured) != 2 {
			t.Fatalf("%v: %+v", err, sink)
		}
		counts := countsOf(sink.measured)
		said := strings.Count(strings.Join(sink.log, "\n"), "instructions are not counted")
		if !here {
			if counts[0] != -1 || said != 2 {
				t.Errorf("without valgrind: %v, log %q", counts, sink.log)
			}
			continue
		}
		if counts[0] < 100_000 || counts[1] != 7 || said != 0 {
			t.Errorf("counted %v, log %q", counts, sink.log)
		}
		if len(sink.measured[0].Iterations) != 2 || !has(sink.measured[0], "latency") {
			t.Errorf("samples %v", sink.measured[0].Iterations)
		}
		// What a shell does to wait for a child depends on when the child ends, so a few instructions may differ.
		if i > 0 && math.Abs(counts[0]-first) > first/1000 {
			t.Errorf("counted %v, then %v", first, counts[0])
		}
		first = counts[0]
	}
}

// A command that fails under valgrind alone is measured without a count, and the log says so once. The segment after it too.
func TestWhatFailsUnderValgrindAloneIsMeasured(t *testing.T) {
	r, here := counting()
	if !here {
		return
	}
	// Under valgrind a process is not the program that it started.
	p := planOf(shell("picky", `case $(readlink /proc/self/exe) in *valgrind*|*cachegrind*) exit 3; esac; test -z "$LD_PRELOAD"`), suite.DriverCommand, 1)
	p.Chain, p.Cases = p.Chain[1:3], p.Cases[1:3]
	var sink recorder
	got, err := r.Run(t.Context(), jobOf(t, nil, p), &sink)
	log := strings.Join(sink.log, "\n")
	if err != nil || got != (runner.Summary{Measured: 2}) {
		t.Fatalf("Run = %+v, %v; log %s", got, err, log)
	}
	if counts := countsOf(sink.measured); counts[0] != -1 || counts[1] != -1 {
		t.Errorf("counted %v", counts)
	}
	if strings.Count(log, "instructions are not counted: ") != 1 || !strings.Contains(log, "under valgrind it ended with exit code") {
		t.Errorf("log %s", log)
	}
}

// Where nothing but valgrind is asked for, nothing else counts, and where counters are asked for, valgrind does not.
func TestCountersNeedNoPass(t *testing.T) {
	for _, c := range []measure.Counting{"", measure.CountCounters, measure.CountOff} {
		r := newRunner()
		r.Settings.Counting = c
		p := planOf(shell("one", "true"), suite.DriverCommand, 1)
		p.Chain, p.Cases = p.Chain[:1], p.Cases[:1]
		var sink recorder
		if _, err := r.Run(t.Context(), jobOf(t, nil, p), &sink); err != nil {
			t.Fatal(err)
		}
		if counts := countsOf(sink.measured); counts[0] != -1 || strings.Contains(strings.Join(sink.log, "\n"), "not counted") {
			t.Errorf("%q: counted %v, log %q", c, counts, sink.log)
		}
		if c == measure.CountOff && has(sink.measured[0], measure.InstructionsU) {
			t.Error("switched off, but counted")
		}
	}
}
