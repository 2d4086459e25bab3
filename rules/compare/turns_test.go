package compare_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tachobench/tacho/rules/compare"
	"pgregory.net/rapid"
)

// inTurns is a time that was measured in turns.
func inTurns(pairs ...compare.Pair) compare.Turns {
	return compare.Turns{Metric: wallTime(), Pairs: pairs}
}

// somePairs draws pairs, with ties and strange values among them if strange.
func somePairs(strange bool) *rapid.Generator[[]compare.Pair] {
	value := rapid.Float64Range(0.9, 1.1)
	if strange {
		value = rapid.OneOf(value, rapid.SampledFrom([]float64{
			1, 1, 1, 0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
		}))
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) compare.Pair {
		return compare.Pair{A: value.Draw(t, "a"), B: value.Draw(t, "b"), Disturbed: rapid.Bool().Draw(t, "disturbed")}
	}), 0, 70)
}

// TestTurnsAreAlwaysAnAnswer: whatever the values are, the judgement can be written as JSON, a decision has a reason, and an
// undecided one that has pairs has advice.
func TestTurnsAreAlwaysAnAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := inTurns(somePairs(true).Draw(t, "pairs")...)
		turns.Metric = rapid.SampledFrom([]compare.MetricInfo{instructions(), pageFaults(), wallTime(), exeSize()}).Draw(t, "metric")
		turns.Looks = compare.LooksAt(rapid.IntRange(0, 80).Draw(t, "most"))
		turns.Look = rapid.IntRange(-1, 5).Draw(t, "look")
		before := slices.Clone(turns.Pairs)
		got := compare.JudgeTurns(turns)
		if _, err := json.Marshal(got); err != nil || got.Why == "" {
			t.Fatalf("%+v: %v", got, err)
		}
		if got.Pairs+got.Dropped != len(turns.Pairs) {
			t.Errorf("%d and %d of %d pairs", got.Pairs, got.Dropped, len(turns.Pairs))
		}
		if advice := compare.AdviceOf(turns, got, false, 1); got.Judgement == compare.Inconclusive && got.Pairs > 0 && len(advice) == 0 {
			t.Errorf("no advice for %+v", got)
		}
		for i, p := range turns.Pairs {
			if !same(p.A, before[i].A) || !same(p.B, before[i].B) {
				t.Fatal("the pairs were changed")
			}
		}
	})
}

// The middle of the smallest number and itself is zero.
func TestNearlyZeroHasAnAnswer(t *testing.T) {
	least := math.SmallestNonzeroFloat64
	for _, b := range []float64{least, 2 * least, 3 * least} {
		turns := inTurns(compare.Pair{A: 1.1, B: 1}, compare.Pair{A: 1, B: 1}, compare.Pair{A: least, B: b}, compare.Pair{A: least, B: b}, compare.Pair{A: 1, B: 1})
		if got := compare.JudgeTurns(turns); got.Why == "" || got.Pairs != 5 {
			t.Errorf("%v: %+v", b, got)
		}
	}
}

func same(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

// TestTurnsMirror: with the sides swapped, an improvement is a regression, the test says the same, and the estimate is the
// inverse.
func TestTurnsMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := inTurns(somePairs(false).Draw(t, "pairs")...)
		mirrored := turns
		mirrored.Pairs = nil
		for _, p := range turns.Pairs {
			mirrored.Pairs = append(mirrored.Pairs, compare.Pair{A: p.B, B: p.A})
		}
		one, other := compare.JudgeTurns(turns), compare.JudgeTurns(mirrored)
		if one.P != nil && other.P != nil && math.Abs(*one.P-*other.P) > 1e-9 {
			t.Errorf("p is %v and %v", *one.P, *other.P)
		}
		if (one.P == nil) != (other.P == nil) {
			t.Error("one was tested, the other was not")
		}
		if one.Interval != nil && math.Abs((1+one.Interval.Low)*(1+other.Interval.High)-1) > 1e-9 {
			t.Errorf("the intervals are %v and %v", *one.Interval, *other.Interval)
		}
		if one.Judgement == compare.Improved && other.Judgement == compare.Improved {
			t.Error("both are improved")
		}
	})
}

// TestIntervalIsTheTest: without ties, the interval leaves zero out exactly where the test refuses at its level, and it holds the
// estimate.
func TestIntervalIsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var pairs []compare.Pair
		shift := rapid.Float64Range(0.97, 1.03).Draw(t, "shift")
		for range rapid.IntRange(8, 60).Draw(t, "n") {
			pairs = append(pairs, compare.Pair{A: 1 + 0.02*rng.NormFloat64(), B: shift * (1 + 0.02*rng.NormFloat64())})
		}
		got := compare.JudgeTurns(inTurns(pairs...))
		if got.P == nil || got.Interval == nil {
			return
		}
		refused := got.Interval.Low > 0 || got.Interval.High < 0
		if refused != (*got.P <= got.Level) {
			t.Errorf("p is %v at level %v, and the interval %v", *got.P, got.Level, *got.Interval)
		}
		if *got.Change < got.Interval.Low || *got.Change > got.Interval.High {
			t.Errorf("%v is not in %v", *got.Change, *got.Interval)
		}
	})
}

// TestTheTestIsExact: of all ways in which the values of four strata could have fallen to the sides, at most a share of x has a
// p-value of x or less, whatever the values are, also with ties.
func TestTheTestIsExact(t *testing.T) {
	ways := [][4]int{{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}}
	rng := rand.New(rand.NewPCG(13, 14))
	for round := range 6 {
		values := make([]float64, 16)
		for i := range values {
			if values[i] = 1 + rng.Float64(); round%2 == 1 {
				values[i] = math.Round(4*values[i]) / 4
			}
		}
		var ps []float64
		for i := range 6 * 6 * 6 * 6 {
			var pairs []compare.Pair
			for s, left := 0, i; s < 4; s, left = s+1, left/6 {
				w, v := ways[left%6], values[4*s:]
				pairs = append(pairs, compare.Pair{A: v[w[0]], B: v[w[2]]}, compare.Pair{A: v[w[1]], B: v[w[3]]})
			}
			p := 1.0 // without a test
			if got := compare.JudgeTurns(inTurns(pairs...)); got.P != nil {
				p = *got.P
			}
			ps = append(ps, p)
		}
		slices.Sort(ps)
		for i, p := range ps {
			if share := float64(i+1) / float64(len(ps)); (i+1 == len(ps) || ps[i+1] > p) && share > p+1e-9 {
				t.Fatalf("%.4f of all ways have p-values of at most %.4f", share, p)
			}
		}
	}
}

// TestOrderOfTurns: in each four pairs, each side is first twice, and in a steady drift both have the same mean.
func TestOrderOfTurns(t *testing.T) {
	first, at := 0, map[bool]int{}
	for i := range 4 {
		if compare.FirstIsA(i) {
			first++
		}
		at[compare.FirstIsA(i)] += 2 * i
		at[!compare.FirstIsA(i)] += 2*i + 1
	}
	if first != 2 || at[true] != at[false] {
		t.Errorf("a is first %d times, the times of the sides add up to %v", first, at)
	}
}

// TestLooks: looks ascend and end with the most, and their levels add up to that of all.
func TestLooks(t *testing.T) {
	for most := range 500 {
		looks := compare.LooksAt(most)
		if most == 0 {
			if looks != nil {
				t.Errorf("%v looks at nothing", looks)
			}
			continue
		}
		if !slices.IsSorted(looks) || len(slices.Compact(slices.Clone(looks))) != len(looks) || looks[len(looks)-1] != most {
			t.Fatalf("looks at %v of %d", looks, most)
		}
		sum := 0.0
		for _, n := range looks {
			turns := inTurns(slices.Repeat([]compare.Pair{{A: 1, B: 2}}, n)...)
			turns.Looks = looks
			sum += compare.JudgeTurns(turns).Level
		}
		if math.Abs(sum-0.005) > 1e-12 {
			t.Errorf("looks %v spend %v", looks, sum)
		}
	}
}

// TestRulesOfTurns: what needs no test, and what the words are.
func TestRulesOfTurns(t *testing.T) {
	repeat := func(a, b float64, n int) (out []compare.Pair) {
		for i := range n {
			step := 1e-9 * float64(i)
			out = append(out, compare.Pair{A: a + step, B: b + step})
		}
		return out
	}
	for _, test := range []struct {
		name   string
		metric compare.MetricInfo
		pairs  []compare.Pair
		want   compare.Judgement
	}{
		{"equal times", wallTime(), slices.Repeat([]compare.Pair{{A: 1, B: 1}}, 3), compare.Unchanged},
		{"equal counts", instructions(), slices.Repeat([]compare.Pair{{A: 6e8, B: 6e8}}, 2), compare.Unchanged},
		{"more counts", instructions(), repeat(6e8, 6.03e8, 2), compare.Regressed},
		{"hardly more counts", instructions(), repeat(6e8, 6.001e8, 2), compare.Unchanged},
		{"fewer counts", instructions(), repeat(6e8, 5.9e8, 2), compare.Improved},
		{"one pair of counts", instructions(), repeat(6e8, 5.9e8, 1), compare.Inconclusive},
		{"few times", wallTime(), repeat(1, 2, 5), compare.Inconclusive},
		{"a time that doubles", wallTime(), repeat(1, 2, 10), compare.Regressed},
		{"all zero", pageFaults(), repeat(0, 0, 0), compare.Inconclusive},
		{"zeros on both sides", pageFaults(), slices.Repeat([]compare.Pair{{}}, 4), compare.Unchanged},
		{"zeros on one side", pageFaults(), repeat(0, 5, 20), compare.Inconclusive},
		{"negative", wallTime(), repeat(-1, 5, 20), compare.Inconclusive},
		{"a size", exeSize(), slices.Repeat([]compare.Pair{{A: 100, B: 101}}, 2), compare.Regressed},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := compare.JudgeTurns(compare.Turns{Metric: test.metric, Pairs: test.pairs})
			if got.Judgement != test.want {
				t.Errorf("%s, %s; want %s", got.Judgement, got.Why, test.want)
			}
		})
	}
}

// TestManyCasesTogether: a change that is just clear alone is not, among forty test cases that are equal.
func TestManyCasesTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	clear := inTurns()
	for i := range 8 {
		clear.Pairs = append(clear.Pairs, compare.Pair{A: 1 + 0.001*float64(i), B: 1.1 + 0.001*float64(i)})
	}
	all := []compare.Turns{clear}
	for range 39 {
		all = append(all, timesInTurns(rng, noises[0], 8, 1))
	}
	if alone := compare.JudgeTurns(clear); alone.Judgement != compare.Regressed {
		t.Errorf("alone: %+v", alone)
	}
	if among := compare.JudgeAllTurns(all)[0]; among.Judgement != compare.Inconclusive {
		t.Errorf("among 40: %+v", among)
	}
}

// TestVeryManyPairs: they are judged by the normal distribution.
func TestVeryManyPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	turns := timesInTurns(rng, noises[1], 100_000, 1.02)
	if got := compare.JudgeTurns(turns); got.Judgement != compare.Regressed || math.Abs(*got.Change-0.02) > 0.001 {
		t.Errorf("%+v: %v", got, *got.Change)
	}
	for i := range turns.Pairs {
		turns.Pairs[i].B = turns.Pairs[i].A
	}
	if got := compare.JudgeTurns(turns); got.Judgement != compare.Unchanged {
		t.Errorf("%+v", got)
	}
}
