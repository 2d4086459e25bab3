package compare_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tachobench/tacho/rules/compare"
)

// noise makes the factor on the n-th of a row of measurements, which holds for both sides.
type noise struct {
	name string
	make func(rng *rand.Rand) func() float64
}

// noises are what machines do to times.
var noises = []noise{
	{"1 %", lognormal(0.01)},
	{"3 %", lognormal(0.03)},
	{"8 %", lognormal(0.08)},
	{"3 %, drift of 0.2 % a run", func(rng *rand.Rand) func() float64 {
		base, n := lognormal(0.03)(rng), 0.0
		slope := 0.002 * (2*rng.Float64() - 1)
		return func() float64 { n++; return base() * math.Exp(slope*n) }
	}},
	{"1 %, steps of 20 %", func(rng *rand.Rand) func() float64 {
		base, level := lognormal(0.01)(rng), 1.0
		return func() float64 {
			if rng.Float64() < 0.05 {
				level = 1 + 0.2*rng.Float64()
			}
			return base() * level
		}
	}},
	{"1 %, outliers of 3 times", func(rng *rand.Rand) func() float64 {
		base := lognormal(0.01)(rng)
		return func() float64 {
			if rng.Float64() < 0.1 {
				return base() * (1 + 2*rng.Float64())
			}
			return base()
		}
	}},
	{"1 %, two modes 15 % apart", func(rng *rand.Rand) func() float64 {
		base := lognormal(0.01)(rng)
		return func() float64 { return base() * (1 + 0.15*float64(rng.IntN(2))) }
	}},
	{"1 %, a neighbour every few runs", func(rng *rand.Rand) func() float64 {
		base, n := lognormal(0.01)(rng), rng.IntN(60)
		return func() float64 {
			if n++; n/30%2 == 1 {
				return base() * (1.6 + 0.5*rng.Float64())
			}
			return base()
		}
	}},
}

func lognormal(sigma float64) func(*rand.Rand) func() float64 {
	return func(rng *rand.Rand) func() float64 {
		return func() float64 { return math.Exp(sigma * rng.NormFloat64()) }
	}
}

// timesInTurns measures n pairs of a time in turns, of which b takes times as long.
func timesInTurns(rng *rand.Rand, of noise, n int, times float64) compare.Turns {
	turns := inTurns()
	next := of.make(rng)
	for i := range n {
		x, y := next(), next()
		if compare.FirstIsA(i) {
			turns.Pairs = append(turns.Pairs, compare.Pair{A: x, B: times * y})
		} else {
			turns.Pairs = append(turns.Pairs, compare.Pair{A: y, B: times * x})
		}
	}
	return turns
}

// untilDecided looks at the planned looks until one decides, as tacho ab does, and returns the last judgement.
func untilDecided(turns compare.Turns) compare.Turned {
	looks := compare.LooksAt(len(turns.Pairs))
	var got compare.Turned
	for _, n := range looks {
		some := turns
		some.Pairs, some.Looks = turns.Pairs[:n], looks
		if got = compare.JudgeTurns(some); got.Decided() {
			break
		}
	}
	return got
}

// threeSigma is how much a count of rare things may be above its expectation.
func threeSigma(expected float64) float64 { return expected + 3*math.Sqrt(expected) + 1 }

// TestFalseAlarmsInTurns: equal sides are called changed in at most 0.5 % of all cases, over all looks, whatever the noise is.
// The shown share is that of the simulation; it may be above the true one by chance.
func TestFalseAlarmsInTurns(t *testing.T) {
	for i, of := range noises {
		t.Run(of.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(2+i))) // with the same numbers, all noises would be lucky together
			changed, unchanged, pairs := 0, 0, 0
			for range turnsPlayed {
				got := untilDecided(timesInTurns(rng, of, 60, 1))
				pairs += got.Pairs
				switch {
				case got.Significant:
					changed++
				case got.Judgement == compare.Unchanged:
					unchanged++
				}
			}
			n := float64(turnsPlayed)
			t.Logf("| %s | %.2f %% | %.1f %% | %.1f |", of.name, 100*float64(changed)/n, 100*float64(unchanged)/n, float64(pairs)/n)
			if float64(changed) > threeSigma(0.005*n) {
				t.Errorf("%d of %.0f called changed", changed, n)
			}
		})
	}
}

// TestPowerInTurns: a change is found within 60 pairs in at least this share of all cases.
func TestPowerInTurns(t *testing.T) {
	// The shares that are found of +1, +2, +3, +5 and +10 %, by noise in the order of noises. At 1 % the threshold decides.
	bounds := [][]float64{
		{0.35, 0.99, 0.99, 1, 1},
		{0.02, 0.4, 0.88, 1, 1},
		{0, 0, 0.05, 0.35, 0.97},
		{0.02, 0.4, 0.88, 1, 1},
		{0.3, 0.98, 0.99, 1, 1},
		{0.3, 0.97, 0.99, 1, 1},
		{0.1, 0.6, 0.75, 0.75, 0.75},
		{0.25, 0.97, 0.99, 1, 1},
	}
	for i, of := range noises {
		t.Run(of.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			for k, change := range []float64{0.01, 0.02, 0.03, 0.05, 0.10} {
				found, wrong, pairs, n := 0, 0, 0, turnsPlayed/4
				for range n {
					got := untilDecided(timesInTurns(rng, of, 60, 1+change))
					pairs += got.Pairs
					//exhaustive:ignore
					switch got.Judgement {
					case compare.Regressed:
						found++
					case compare.Improved:
						wrong++
					}
				}
				share := float64(found) / float64(n)
				t.Logf("| %s | +%.0f %% | %.1f %% | %.1f |", of.name, 100*change, 100*share, float64(pairs)/float64(n))
				if share < bounds[i][k]-0.02 || float64(wrong) > threeSigma(0.0025*float64(n)) {
					t.Errorf("+%.0f %%: found %.3f, want %.2f; %d called improved", 100*change, share, bounds[i][k], wrong)
				}
			}
		})
	}
}

// TestUnplannedLooks: who looks again after every eight pairs, up to eight times, and stops at the first change, still calls equal
// sides changed in at most 0.5 %.
func TestUnplannedLooks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	changed := 0
	for range turnsPlayed {
		turns := timesInTurns(rng, noises[1], 64, 1)
		for k := 1; k <= 8; k++ {
			some := turns
			some.Pairs, some.Look = turns.Pairs[:8*k], k
			if compare.JudgeTurns(some).Significant {
				changed++
				break
			}
		}
	}
	t.Logf("%.2f %% over 8 looks", 100*float64(changed)/turnsPlayed)
	if float64(changed) > threeSigma(0.005*turnsPlayed) {
		t.Errorf("%d of %d called changed", changed, turnsPlayed)
	}
}

// TestCoverageInTurns: the interval holds the true change in all cases but its level.
func TestCoverageInTurns(t *testing.T) {
	for _, of := range noises {
		t.Run(of.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 8))
			missed, wanted := 0, 0.0
			for range turnsPlayed / 4 {
				got := compare.JudgeTurns(timesInTurns(rng, of, 30, 1.05))
				wanted += got.Level
				if got.Interval.Low > 0.05 || got.Interval.High < 0.05 {
					missed++
				}
			}
			if float64(missed) > threeSigma(2*wanted) {
				t.Errorf("%d intervals miss the change, where %.0f may", missed, wanted)
			}
			t.Logf("%d of %d intervals miss the change", missed, turnsPlayed/4)
		})
	}
}

// TestNarrowKeepsItsErrorRate: who measures until the interval is narrow has the true median in it, in at least 95 %.
func TestNarrowKeepsItsErrorRate(t *testing.T) {
	for _, of := range noises[:3] {
		for _, until := range []float64{0.005, 0.02} {
			rng := rand.New(rand.NewPCG(9, 10))
			missed, samples := 0, 0
			for range turnsPlayed / 4 {
				next := of.make(rng)
				var values []float64
				for {
					values = append(values, next())
					narrow, half := compare.Narrow(values, until)
					if narrow || len(values) == 100 {
						sorted := slices.Sorted(slices.Values(values))
						middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
						if narrow && math.Abs(1/middle-1) > half {
							missed++
						}
						break
					}
				}
				samples += len(values)
			}
			n := float64(turnsPlayed / 4)
			t.Logf("noise %s, until %.1f %%: %.2f %% missed, %.1f samples", of.name, 100*until, 100*float64(missed)/n, float64(samples)/n)
			if float64(missed) > threeSigma(0.05*n) {
				t.Errorf("%d of %.0f missed", missed, n)
			}
		}
	}
}
