package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFence: given step changes, then the fence is Q3 + 3·IQR with quartiles that are medians of the halves.
func TestFence(t *testing.T) {
	for _, test := range []struct {
		steps []float64
		want  float64
	}{
		{nil, 0},
		{[]float64{5}, 0},
		{[]float64{1, 3}, 3 + 3*2},    // halves {1} {3}
		{[]float64{3, 9, 1}, 9 + 3*8}, // the middle 3 belongs to no half
		{[]float64{8, 1, 7, 2, 6, 3, 5, 4}, 6.5 + 3*4},             // {1 2 3 4} 2.5, {5 6 7 8} 6.5
		{[]float64{9, 8, 1, 7, 2, 6, 3, 5, 4}, 7.5 + 3*5},          // {1 2 3 4} 2.5, {6 7 8 9} 7.5
		{slices.Repeat([]float64{0}, 29), 0},                       // flat
		{[]float64{0, 1, 0, 1, math.MaxFloat64}, math.MaxFloat64},  // beyond all numbers
		{[]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 5}, .1}, // one outlier does not move it
	} {
		if got := fence(test.steps); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("fence(%v) = %v, want %v", test.steps, got, test.want)
		}
	}
}

// TestNoise: given a class, a floor, a history and a spread, then the largest sets the threshold.
func TestNoise(t *testing.T) {
	steady := slices.Repeat([]float64{100}, 31)
	jumpy := func(step float64, n int) []float64 {
		h := make([]float64, n)
		for i := range h {
			h[i] = 100 + step*float64(i%2)
		}
		return h
	}
	longAgo := append(slices.Clone(steady[:30]), jumpy(50, 30)...)
	for _, test := range []struct {
		name  string
		given Series
		want  float64
		rule  Rule
		known bool
	}{
		{"exact", Series{Metric: MetricInfo{Class: Exact}, Spread: 1}, 0, RuleExact, true},
		{"exact with a floor", Series{Metric: MetricInfo{Class: Exact, Floor: 0.1}}, 0.1, RuleFloor, true},
		{"count, nothing known", Series{Metric: MetricInfo{Class: Count}}, 0.002, RuleFewResults, false},
		{"time, nothing known", Series{Metric: MetricInfo{Class: Time}}, 0.02, RuleFewResults, false},
		{"count, flat", Series{Metric: MetricInfo{Class: Count}, History: steady}, 0.0005, RuleClassFloor, true},
		{"time, flat", Series{Metric: MetricInfo{Class: Time}, History: steady}, 0.01, RuleClassFloor, true},
		{"count, flat, own floor", Series{Metric: MetricInfo{Class: Count, Floor: 0.0001}, History: steady}, 0.0001, RuleFloor, true},
		{"count, few, own floor", Series{Metric: MetricInfo{Class: Count, Floor: 0.0001}}, 0.002, RuleFewResults, true},
		{"count, nine results", Series{Metric: MetricInfo{Class: Count}, History: jumpy(5, 9)}, 0.002, RuleFewResults, false},
		{"count, history of garbage", Series{Metric: MetricInfo{Class: Count}, History: slices.Repeat([]float64{math.NaN(), -1, 0, math.Inf(1)}, 5)}, 0.002, RuleFewResults, false},
		{"results beyond the last thirty", Series{Metric: MetricInfo{Class: Count}, History: longAgo}, 0.0005, RuleClassFloor, true},
		{"spread", Series{Metric: MetricInfo{Class: Count}, Spread: 0.3, History: steady}, 0.3, RuleSpread, true},
		{"spread of garbage", Series{Metric: MetricInfo{Class: Count}, Spread: math.Inf(1)}, 0.002, RuleFewResults, false},
		{"floor of garbage", Series{Metric: MetricInfo{Class: Count, Floor: math.NaN()}}, 0.002, RuleFewResults, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, rule, known := noise(test.given)
			if got != test.want || rule != test.rule || known != test.known {
				t.Errorf("got %v by %s, known %v; want %v by %s, known %v", got, rule, known, test.want, test.rule, test.known)
			}
		})
	}
	t.Run("ten results", func(t *testing.T) {
		// Nine steps, 5/100 and 5/105 in turn: Q1 5/105, Q3 5/100.
		want := 0.05 + 3*(0.05-5.0/105)
		got, rule, known := noise(Series{Metric: MetricInfo{Class: Count}, History: jumpy(5, 10)})
		if math.Abs(got-want) > 1e-12 || rule != RuleFence || !known {
			t.Errorf("got %v by %s, known %v; want %v by the fence", got, rule, known, want)
		}
	})
}

// TestMasterResults: the newest thirty usable results count.
func TestMasterResults(t *testing.T) {
	given := []float64{math.NaN(), 0}
	for i := range 40 {
		given = append(given, float64(i+1))
	}
	if diff := cmp.Diff(given[2:32], masterResults(given)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestStepChanges: the step is relative to the older of two results. The history is newest first.
func TestStepChanges(t *testing.T) {
	got := stepChanges([]float64{150, 100, 200})
	if diff := cmp.Diff([]float64{0.5, 0.5}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestMagnitude: given a change, a threshold and a class, then both scales are averaged, rounded down.
func TestMagnitude(t *testing.T) {
	for _, test := range []struct {
		change, threshold float64
		class             Class
		want              Magnitude
	}{
		// The scale of thresholds, with a change that is very large in itself.
		{0.149, 0.1, Count, Medium},   // 0 and 4
		{0.15, 0.1, Count, Medium},    // 1 and 4
		{0.31, 0.1, Count, Large},     // 2 and 4
		{0.625, 0.1, Count, Large},    // 3 and 4
		{1.25, 0.1, Count, VeryLarge}, // 4 and 4
		// The scale of percent, with a change of 1 to 1.5 thresholds.
		{0.00199, 0.0019, Count, VerySmall},
		{0.002, 0.0019, Count, VerySmall}, // 0 and 1
		{0.01, 0.009, Count, Small},       // 0 and 2
		{0.02, 0.019, Count, Small},       // 0 and 3
		{0.05, 0.049, Count, Medium},      // 0 and 4
		// Doubled for times, and for unknown classes.
		{0.019, 0.001, Time, Medium},   // 4 and 1
		{0.021, 0.001, Time, Large},    // 4 and 2
		{0.039, 0.001, Time, Large},    // 4 and 2
		{0.041, 0.001, Time, Large},    // 4 and 3
		{0.11, 0.001, "", VeryLarge},   // 4 and 4
		{0.099, 0.001, "", Large},      // 4 and 3
		{0.099, 0.001, Count, 4},       // 4 and 4
		{-0.099, 0.001, Count, 4},      // the sign does not matter
		{0.00009, 1e-9, Count, 0},      // below 0.01 %, whatever else
		{0.0002, 0.00001, Count, 2},    // 4 and 0: why the floor of the class is needed
		{0.0002, countFloor, Count, 0}, // and it is enough
		{0.0002, 0, Exact, VerySmall},  // no threshold: percent alone
		{0.003, 0, Exact, Small},
		{0.015, 0, Exact, Medium},
		{0.9, 0, Exact, VeryLarge},
	} {
		if got := magnitude(test.change, test.threshold, test.class); got != test.want {
			t.Errorf("magnitude(%v over %v, %q) = %v, want %v", test.change, test.threshold, test.class, got, test.want)
		}
	}
}

// TestMagnitudeText: every magnitude is stored by name and read back; others are refused.
func TestMagnitudeText(t *testing.T) {
	for m := VerySmall; m <= VeryLarge; m++ {
		text, err := m.MarshalText()
		var back Magnitude
		if err != nil || back.UnmarshalText(text) != nil || back != m {
			t.Errorf("%v was stored as %q (%v) and read as %v", m, text, err, back)
		}
	}
	if _, err := Magnitude(9).MarshalText(); err == nil {
		t.Error("magnitude 9 was stored")
	}
	if err := new(Magnitude).UnmarshalText([]byte("huge")); err == nil || !strings.Contains(err.Error(), "very_small, small") {
		t.Errorf("reading \"huge\": got %v, want an error that lists the names", err)
	}
}

// relevant builds changes from words such as "12 improved small" or "1 regressed medium secondary".
func relevant(t *testing.T, words string) []Change {
	t.Helper()
	var out []Change
	for part := range strings.SplitSeq(words, ", ") {
		if part == "" {
			continue
		}
		var n int
		var judgement, magnitude, category string
		if _, err := fmt.Sscan(part+" primary", &n, &judgement, &magnitude, &category); err != nil {
			t.Fatalf("%q: %v", part, err)
		}
		c := Change{Judgement: Judgement(judgement), Category: Category(category), Relevant: true}
		if err := c.Magnitude.UnmarshalText([]byte(magnitude)); err != nil {
			t.Fatal(err)
		}
		out = append(out, slices.Repeat([]Change{c}, n)...)
	}
	return out
}

// TestVerdict: given the relevant changes, then the verdict.
func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		given string
		want  Verdict
	}{
		{"", NoChange},
		{"1 improved small", Improvement},
		{"1 regressed very_large secondary", Regression},
		{"99 improved large, 1 regressed medium", Mixed},       // medium on both sides
		{"17 improved medium, 3 regressed small", Mixed},       // exactly 15 % small
		{"18 improved medium, 3 regressed small", Improvement}, // 14 %
		{"17 regressed medium, 3 improved small", Mixed},       // the same mirrored
		{"18 regressed medium, 3 improved small", Regression},  //
		{"1 regressed medium, 17 regressed small, 3 improved small", Regression},
		{"9 improved small, 1 regressed small", Mixed},                   // 90 % is not above 90 %
		{"10 improved small, 1 regressed small", Improvement},            // 91 %
		{"1 improved small, 9 regressed small", Mixed},                   //
		{"1 improved small, 10 regressed small", Regression},             //
		{"1 improved small primary, 1 regressed small secondary", Mixed}, // categories are joined
		{"1 improved small stable, 1 regressed small", Mixed},            //
	} {
		if got := verdictOf(relevant(t, test.given)); got != test.want {
			t.Errorf("verdict of %q = %s, want %s", test.given, got, test.want)
		}
	}
}

// TestAttention: given the relevant changes, then whether a person should look, and why.
func TestAttention(t *testing.T) {
	for _, test := range []struct {
		given string
		want  string
	}{
		{"", ""},
		{"2 regressed small", ""},
		{"1 regressed medium", "the largest change of a primary benchmark is medium"},
		{"1 improved very_large", "the largest change of a primary benchmark is very large"},
		{"8 regressed medium secondary", ""},
		{"1 regressed large secondary", "the largest change of a secondary benchmark is large"},
		{"1 regressed large stable", "the largest change of a secondary benchmark is large"},
		{"2 regressed small, 2 improved small secondary", ""},
		{"2 regressed small, 3 improved small secondary", "3 × 2 primary + 3 secondary relevant changes reach 9"},
		{"3 improved small", "3 × 3 primary + 0 secondary relevant changes reach 9"},
		{"9 regressed small secondary", "3 × 0 primary + 9 secondary relevant changes reach 9"},
	} {
		attention, reason := attentionOf(relevant(t, test.given))
		if reason != test.want || attention != (test.want != "") {
			t.Errorf("attention of %q = %v, %q; want %q", test.given, attention, reason, test.want)
		}
	}
}

// TestSmallestP: the smallest p-values are those in the package comment and in benchmath's tables.
func TestSmallestP(t *testing.T) {
	for _, test := range []struct {
		n1, n2 int
		want   float64
	}{
		{0, 5, 1}, {1, 1, 1}, {3, 3, 0.1}, {4, 4, 2.0 / 70}, {6, 6, 2.0 / 924}, {1, 50, 2.0 / 51}, {2, 5, 2.0 / 21},
	} {
		if got := smallestP(test.n1, test.n2); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("smallestP(%d, %d) = %v, want %v", test.n1, test.n2, got, test.want)
		}
		if one, other := smallestP(test.n1, test.n2), smallestP(test.n2, test.n1); math.Abs(one-other) > 1e-15 {
			t.Errorf("smallestP(%d, %d) = %v but mirrored %v", test.n1, test.n2, one, other)
		}
	}
	if got := samplesNeeded(alpha); got != 4 {
		t.Errorf("samplesNeeded(%v) = %d, want 4", alpha, got)
	}
}

// TestTestSpeaksWithRealSamples: for samples that do not overlap, differ returns exactly the p-value that smallestP
// predicts, and nil where that is above alpha.
func TestTestSpeaksWithRealSamples(t *testing.T) {
	for n := 1; n <= 12; n++ {
		low, high := make([]float64, n), make([]float64, n)
		for i := range n {
			low[i], high[i] = float64(i), float64(100+i)
		}
		p := differ(newSample(Samples{Values: low}), newSample(Samples{Values: high}))
		if n < 4 {
			if p != nil {
				t.Errorf("n = %d: got p = %v, want none", n, *p)
			}
			continue
		}
		if p == nil || math.Abs(*p-smallestP(n, n)) > 1e-12 {
			t.Errorf("n = %d: got p = %v, want %v", n, p, smallestP(n, n))
		}
	}
}

// TestAdjustExample: the example of 15 ordered p-values in Benjamini and Hochberg's paper, where 4 are
// rejected at 0.05.
func TestAdjustExample(t *testing.T) {
	ps := []float64{
		0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1,
	}
	rejected := 0
	for _, p := range adjust(ps) {
		if p <= 0.05 {
			rejected++
		}
	}
	if rejected != 4 {
		t.Errorf("%d rejected, want 4", rejected)
	}
}

// TestAdjustProperties: corrected p-values are never below the originals nor above 1, keep their order, do
// not depend on the order given, and reject exactly what the step-up procedure does.
func TestAdjustProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, -1).Draw(t, "ps")
		adjusted := adjust(ps)
		for i := range ps {
			if adjusted[i] < ps[i] || adjusted[i] > 1 {
				t.Fatalf("%v became %v", ps[i], adjusted[i])
			}
			for j := range ps {
				if ps[i] < ps[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("%v < %v became %v > %v", ps[i], ps[j], adjusted[i], adjusted[j])
				}
			}
		}
		sorted := slices.Sorted(slices.Values(ps))
		if diff := cmp.Diff(slices.Sorted(slices.Values(adjusted)), adjust(sorted)); diff != "" {
			t.Fatalf("the order given matters:\n%s", diff)
		}
		last := 0 // the step-up procedure: reject all up to the last k with p₍ₖ₎ ≤ k/m·alpha
		for k := 1; k <= len(sorted); k++ {
			if sorted[k-1]*(float64(len(sorted))/float64(k)) <= alpha {
				last = k
			}
		}
		rejected := 0
		for _, p := range adjusted {
			if p <= alpha {
				rejected++
			}
		}
		if rejected != last {
			t.Fatalf("%d rejected, want %d", rejected, last)
		}
	})
}

// TestRange: the mean of changes that are each near the largest number is still finite.
func TestRange(t *testing.T) {
	var r Range
	for range 3 {
		r.add(math.MaxFloat64)
	}
	if r != (Range{Count: 3, Mean: math.MaxFloat64, Min: math.MaxFloat64, Max: math.MaxFloat64}) {
		t.Errorf("got %+v", r)
	}
}

// TestFormat: values are written in units that people read.
func TestFormat(t *testing.T) {
	for _, test := range []struct {
		unit  string
		value float64
		want  string
	}{
		{"s", 1.66, "1.660 s"},
		{"s", 0.01794, "17.94 ms"},
		{"seconds", 3.2e-6, "3.200 µs"},
		{"s", 5e-9, "5.000 ns"},
		{"s", 0, "0"},
		{"s", 5400, "5400 s"},
		{"s", 1, "1.000 s"},
		{"s", -0.02, "-20.00 ms"},
		{"bytes", 0, "0"},
		{"bytes", 512, "512 B"},
		{"B", 70.6 * 1024 * 1024, "70.60 MiB"},
		{"bytes", 1536, "1.500 KiB"},
		{"", 0, "0"},
		{"", 999, "999"},
		{"", 90180, "90,180"},
		{"", 999999, "999,999"},
		{"count", 1.7966e9, "1.797 G"},
		{"", 18.93e6, "18.93 M"},
		{"", 2.5, "2.500"},
		{"", -1234, "-1,234"},
		{"", 1e300, "1e+288 T"},
		{"ops/s", 1234, "1,234 ops/s"},
	} {
		if got := (MetricInfo{Unit: test.unit}).Format(test.value); got != test.want {
			t.Errorf("Format(%v %s) = %q, want %q", test.value, test.unit, got, test.want)
		}
	}
	for _, test := range []struct {
		value float64
		want  string
	}{
		{0, "0.00%"},
		{0.0134, "+1.34%"},
		{-0.224, "-22.4%"},
		{0.00002, "+0.002%"},
		{0.0002, "+0.020%"},
		{1e-9, "+1e-07%"},
		{1.62, "+162%"},
		{1e9, "+1e+09×"},
		{math.MaxFloat64, "+1.8e+308×"},
	} {
		if got := signed(test.value); got != test.want {
			t.Errorf("signed(%v) = %q, want %q", test.value, got, test.want)
		}
	}
}
