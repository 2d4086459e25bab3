package compare_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tachobench/tacho/rules/compare"
)

// said joins advice as people read it.
func said(all []compare.Advice) string {
	var out []string
	for _, a := range all {
		out = append(out, a.Do+": "+a.Gain)
	}
	return strings.Join(out, "\n")
}

// TestAdvice: what is undecided has advice with numbers from what was measured, and nothing else has.
func TestAdvice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	quiet, loud := noises[0], noises[2]
	disturbed := timesInTurns(rng, quiet, 20, 1.01)
	for i, p := range timesInTurns(rng, loud, 10, 1.01).Pairs {
		p.Disturbed = true
		disturbed.Pairs[2*i] = p
	}
	for _, test := range []struct {
		name    string
		turns   compare.Turns
		counted bool
		want    []string
		without []string
	}{
		{"too few", timesInTurns(rng, quiet, 5, 1.1), false, []string{"count instructions", "at least 8, and 5 pairs are measured, in about 16"}, []string{"quieter"}},
		{"noisy", timesInTurns(rng, loud, 20, 1.04), true, []string{"measure more pairs: about ", "would decide it, if the change is"}, []string{"count instructions"}},
		{"disturbed", disturbed, true, []string{"10 of 20 pairs have interference on record; the others scatter by"}, []string{"count instructions"}},
		{"decided", timesInTurns(rng, quiet, 20, 1.1), false, nil, []string{"count", "more"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			judged := compare.JudgeTurns(test.turns)
			got := said(compare.AdviceOf(test.turns, judged, test.counted, 2))
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s does not say %q: %s", judged.Why, want, got)
				}
			}
			for _, without := range test.without {
				if strings.Contains(got, without) {
					t.Errorf("%q says %q", got, without)
				}
			}
		})
	}
}

// TestAdviceIsTrue: as many pairs as the advice names decide, in most cases.
func TestAdviceIsTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	decided, all := 0, 0
	for range 60 {
		turns := timesInTurns(rng, noises[1], 20, 1.03)
		judged := compare.JudgeTurns(turns)
		if judged.Decided() {
			continue
		}
		all++
		if turns = timesInTurns(rng, noises[1], 80, 1.03); compare.JudgeTurns(turns).Decided() {
			decided++
		}
	}
	if all == 0 || decided < all*8/10 {
		t.Errorf("%d of %d are decided", decided, all)
	}
}

// TestAdviceForASeries: a change that was not measured in turns has advice, too.
func TestAdviceForASeries(t *testing.T) {
	a, b := on(1, 1.02, 1.05, 1.01, 1.03, 1.04), on(1.01, 1.03, 1.06, 1.02, 1.04, 1.09)
	a.Interfered, b.Interfered = 5, 6
	got := compare.Compare([]compare.Series{series(wallTime(), a, b)}).Changes[0]
	if got.Judgement != compare.Inconclusive {
		t.Fatalf("%s: %s", got.Judgement, got.Why)
	}
	text := said(got.Advice(compare.Time, false))
	for _, want := range []string{"count instructions", "measure in turns: what changes on the machine then meets both sides; at most about", "11 of 12 measurements have interference"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	b.Environment = "another"
	got = compare.Compare([]compare.Series{series(wallTime(), a, b)}).Changes[0]
	if text := said(got.Advice(compare.Time, false)); !strings.Contains(text, "one machine") {
		t.Error(text)
	}
}

// TestNarrow: what is enough.
func TestNarrow(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples []float64
		until   float64
		want    bool
	}{
		{"one", []float64{1}, 1, false},
		{"equal", []float64{2, 2}, 0.001, true},
		{"seven within", []float64{1, 1.001, 1.002, 1.003, 1.002, 1.001, 1}, 0.005, true},
		{"seven too wide", []float64{1, 1.1, 1, 1.1, 1, 1.1, 1}, 0.005, false},
		{"eight is no look", []float64{1, 1.001, 1.002, 1.003, 1.002, 1.001, 1, 1}, 0.005, false},
		{"zeros", make([]float64, 9), 0.1, true},
		{"around zero", []float64{-1, 0, 1, -1, 0, 1, 0}, 0.1, false},
	} {
		if got, _ := compare.Narrow(test.samples, test.until); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
