package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestPeersSayWhatTheirUsersRead(t *testing.T) {
	same, slower := []float64{10, 11, 12, 13, 14, 15}, []float64{20, 21, 22, 23, 24, 25}
	for _, tt := range []struct {
		a, b []float64
		want int
	}{{same, slower, 1}, {slower, same, -1}, {same, same, 0}} {
		if got := benchstatSays(tt.a, tt.b); got != tt.want {
			t.Errorf("benchstat says %d of %v and %v, want %d", got, tt.a, tt.b, tt.want)
		}
	}
	quiet := hyperfineResult{Mean: 1, Stddev: 0.01}
	for b, want := range map[hyperfineKey]int{{1.1, 0.01}: 1, {0.9, 0.01}: -1, {1.1, 0.2}: 0} {
		if got := hyperfineSays(quiet, hyperfineResult{Mean: b.mean, Stddev: b.stddev}); got != want {
			t.Errorf("hyperfine says %d of %v, want %d", got, b, want)
		}
	}
}

type hyperfineKey struct{ mean, stddev float64 }

func TestGoalsAreHeldAgainstWhatWasSaid(t *testing.T) {
	all := rows(options{equal: 200, changed: 20, counted: 20})
	for name, want := range map[string]struct{ good, bad int }{
		"equal, time": {1, 2}, "+10 % time": {19, 18}, "+2 % time": {16, 15}, "+0.5 % instructions": {20, 19}, "equal, instructions": {0, 1},
	} {
		for _, r := range all {
			if r.Name == name && (!r.reached(want.good, 0, r.Runs) || r.reached(want.bad, 0, r.Runs)) {
				t.Errorf("%s: %d of %d should reach the goal, and %d not", name, want.good, r.Runs, want.bad)
			}
		}
	}
}

func TestTheTableHasWhatIsThere(t *testing.T) {
	r := Row{Name: "+5 % time", MaxPairs: []int{20, 60}, Runs: 20, Changed: 19, Goal: "found in 95 %", Reached: true, Pairs: 20, Each: 4, Estimate: 5.01}
	r.Peers = []Peer{{Name: benchstatName, Runs: 20, Changed: 7, Improved: 2}}
	var out bytes.Buffer
	printTable(&out, []Row{r})
	if want := "| +5 % time | 20 and 60 | 19 of 20 | 0 | 20 × 4 | +5.01 % | found in 95 % | yes | - | 9 of 20 |"; !strings.Contains(out.String(), want) {
		t.Errorf("the table lacks %q:\n%s", want, out.String())
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	var out, errs bytes.Buffer
	for _, args := range [][]string{{"-equal", "-1"}, {"more"}, {"-no-such"}} {
		if code := run(t.Context(), args, &out, &errs); code != 2 {
			t.Errorf("%v: code %d", args, code)
		}
	}
}
