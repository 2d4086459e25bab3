package compare_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"testing"

	"github.com/tachobench/tacho/rules/compare"
)

// TestScript: the script of the documentation, which shares nothing with this package, comes to the same verdicts from the exported
// samples.
func TestScript(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var all []compare.Turns
	var rows []compare.SampleRow
	add := func(turns compare.Turns) {
		all = append(all, turns)
		rows = append(rows, compare.SampleRow{Case: testCase(fmt.Sprint("case", len(rows))), Metric: turns.Metric.Name, Pairs: turns.Pairs})
	}
	for i, of := range noises {
		add(timesInTurns(rng, of, 20+i, 1))
		add(timesInTurns(rng, of, 30, 1.05))
		add(timesInTurns(rng, of, 59, 0.98))
	}
	add(timesInTurns(rng, noises[0], 3, 1.5))
	rounded := timesInTurns(rng, noises[1], 41, 1.02)
	for i := range rounded.Pairs {
		p := &rounded.Pairs[i]
		p.A, p.B = math.Round(100*p.A)/100, math.Round(100*p.B)/100
	}
	add(rounded)
	zero := timesInTurns(rng, noises[1], 9, 1)
	zero.Pairs[4].A = 0
	add(zero)
	tiny := timesInTurns(rng, noises[1], 12, 1)
	for i, v := range []float64{math.SmallestNonzeroFloat64, 2 * math.SmallestNonzeroFloat64, math.MaxFloat64} {
		tiny.Pairs[3*i], tiny.Pairs[3*i+1] = compare.Pair{A: v, B: v}, compare.Pair{A: v, B: v}
	}
	add(tiny)
	add(compare.Turns{Metric: instructions(), Pairs: []compare.Pair{{A: 6e8, B: 6.03e8}, {A: 6e8 + 1, B: 6.03e8}}})
	add(compare.Turns{Metric: instructions(), Pairs: []compare.Pair{{A: 6e8, B: 6e8}, {A: 6e8, B: 6e8}}})

	var in, out, said bytes.Buffer
	if err := compare.SamplesCSV(&in, rows); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("python3", "../../docs/verdicts/verdict.py")
	script.Stdin, script.Stdout, script.Stderr = &in, &out, &said
	if err := script.Run(); err != nil {
		t.Fatalf("run the script: %v\n%s", err, &said)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != len(all)+1 {
		t.Fatalf("%d lines for %d cases: %v", len(lines), len(all), err)
	}
	got := map[string][]string{}
	for _, line := range lines[1:] {
		got[line[1]] = line
	}
	metrics := map[bool][]int{}
	for i, turns := range all {
		metrics[turns.Metric.Class == compare.Time] = append(metrics[turns.Metric.Class == compare.Time], i)
	}
	for _, cases := range metrics {
		var together []compare.Turns
		for _, i := range cases {
			together = append(together, all[i])
		}
		for k, want := range compare.JudgeAllTurns(together) {
			line := got[string(rows[cases[k]].Case.Benchmark)]
			verdict := map[compare.Judgement]string{compare.Regressed: "higher", compare.Improved: "lower"}[want.Judgement]
			if verdict == "" {
				verdict = string(want.Judgement)
			}
			if line[12] != verdict {
				t.Errorf("%s: the script says %s, and we %s (%s)", line[1], line[12], verdict, want.Why)
			}
			near(t, line[1]+" change", line[7], want.Change)
			near(t, line[1]+" p", line[10], want.P)
			if want.Interval != nil {
				near(t, line[1]+" low", line[8], &want.Interval.Low)
				near(t, line[1]+" high", line[9], &want.Interval.High)
			}
		}
	}
}

// near holds a number of the script against ours.
func near(t *testing.T, what, got string, want *float64) {
	t.Helper()
	if want == nil {
		if got != "" {
			t.Errorf("%s: the script has %s, and we nothing", what, got)
		}
		return
	}
	x, err := strconv.ParseFloat(got, 64)
	if err != nil || math.Abs(x-*want) > 1e-9*math.Max(1, math.Abs(*want)) {
		t.Errorf("%s: the script has %q, and we %v", what, got, *want)
	}
}
