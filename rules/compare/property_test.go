package compare_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
	"pgregory.net/rapid"
)

func nanValue() float64 { return math.NaN() }

// someSeries draws comparisons of a handful of test cases and metrics, strange values included.
func someSeries() *rapid.Generator[[]compare.Series] {
	value := rapid.OneOf(
		rapid.Float64Range(0.9, 1.1),
		rapid.SampledFrom([]float64{0, 1, 1, 2, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}),
	)
	samples := rapid.Custom(func(t *rapid.T) compare.Samples {
		return compare.Samples{
			Values:      rapid.SliceOfN(value, 0, 8).Draw(t, "values"),
			Environment: rapid.SampledFrom([]events.Digest{"m1", "m1", "m1", "m2", ""}).Draw(t, "machine"),
			Interfered:  rapid.IntRange(-1, 9).Draw(t, "interfered"),
		}
	})
	metric := rapid.SampledFrom([]compare.MetricInfo{instructions(), pageFaults(), wallTime(), exeSize(), {Name: "x", HigherIsBetter: true}})
	one := rapid.Custom(func(t *rapid.T) compare.Series {
		return compare.Series{
			Case:     testCase(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "case")),
			Category: rapid.SampledFrom([]compare.Category{compare.Primary, compare.Secondary, compare.Stable, ""}).Draw(t, "category"),
			Metric:   metric.Draw(t, "metric"),
			A:        samples.Draw(t, "a"),
			B:        samples.Draw(t, "b"),
			History:  rapid.SliceOfN(value, 0, 40).Draw(t, "history"),
			Spread:   value.Draw(t, "spread"),
		}
	})
	return rapid.SliceOfN(one, 0, 20)
}

// TestOrderOfInputDoesNotMatter: shuffled series, samples included, give the same comparison.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := someSeries().Draw(t, "series")
		want := compare.Compare(given)
		if diff := cmp.Diff(want, compare.Compare(rapid.Permutation(given).Draw(t, "shuffled"))); diff != "" {
			t.Fatalf("the order of series matters (-one +other):\n%s", diff)
		}
	})
}

// TestMirror: with A and B swapped, no improvement stays an improvement, and no regression a regression.
func TestMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := someSeries().Draw(t, "series")
		for _, s := range given {
			mirrored := s
			mirrored.A, mirrored.B = s.B, s.A
			one, other := compare.Compare([]compare.Series{s}), compare.Compare([]compare.Series{mirrored})
			if len(one.New) != len(other.Missing) || len(one.Changes) != len(other.Changes) {
				t.Fatalf("%d new and %d changes, but mirrored %d missing and %d changes",
					len(one.New), len(one.Changes), len(other.Missing), len(other.Changes))
			}
			if len(one.Changes) == 0 {
				continue
			}
			j, k := one.Changes[0].Judgement, other.Changes[0].Judgement
			if j == k && (j == compare.Improved || j == compare.Regressed) {
				t.Fatalf("%s both ways", j)
			}
		}
	})
}

// TestEqualSamplesAreNeverRelevant: the same samples on both sides are no change, with any history.
func TestEqualSamplesAreNeverRelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := someSeries().Draw(t, "series")
		for i := range given {
			given[i].B = given[i].A
		}
		got := compare.Compare(given)
		for _, c := range got.Changes {
			if c.Significant || c.Relevant {
				t.Fatalf("%s of %s is %s: %s", c.Metric, c.Case, c.Judgement, c.Why)
			}
		}
		if got.Verdict != compare.NoChange || got.Attention {
			t.Fatalf("verdict %s, attention %v", got.Verdict, got.Attention)
		}
	})
}

// TestInvariants: for any input, flags agree with judgements, counts add up, every judgement has its reason, and the
// input is not changed.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := someSeries().Draw(t, "series")
		before := slices.Clone(given)
		for i := range before {
			before[i].A.Values = slices.Clone(given[i].A.Values)
			before[i].B.Values = slices.Clone(given[i].B.Values)
			before[i].History = slices.Clone(given[i].History)
		}
		got := compare.Compare(given)
		if diff := cmp.Diff(before, given, sameNumbers()); diff != "" {
			t.Fatalf("the input was changed:\n%s", diff)
		}
		for _, c := range got.Changes {
			judged := c.Judgement == compare.Improved || c.Judgement == compare.Regressed
			if c.Significant != judged || c.Relevant != (judged && c.Magnitude >= compare.Small) || c.Why == "" {
				t.Fatalf("contradiction in %+v", c)
			}
			if judged && (c.A.Environment != c.B.Environment || c.A.Environment == "") {
				t.Fatalf("judged across machines: %+v", c)
			}
		}
		cases := 0
		for _, s := range got.Summaries {
			cases += s.Cases
			if s.Improved+s.Regressed+s.Unchanged+s.Inconclusive+s.NotComparable != s.Cases {
				t.Fatalf("counts do not add up: %+v", s)
			}
			if s.Primary.Improved.Count+s.Secondary.Improved.Count != s.All.Improved.Count {
				t.Fatalf("groups do not add up: %+v", s)
			}
		}
		if cases != len(got.Changes) {
			t.Fatalf("%d cases in the summaries, %d changes", cases, len(got.Changes))
		}
		mustRender(t, got)
	})
}

// sameNumbers compares numbers with NaN equal to itself.
func sameNumbers() cmp.Option {
	return cmp.Comparer(func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

// mustRender fails the test unless every rendering of c succeeds and is whole.
func mustRender(t interface{ Fatalf(string, ...any) }, c compare.Comparison) {
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var back compare.Comparison
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	for name, render := range renderings() {
		var b bytes.Buffer
		if err := render(&b, compare.Report{Comparison: &c}, compare.Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, bad := range []string{"NaN", "+Inf", "-Inf", "%!", "\x1b"} {
			if bytes.Contains(b.Bytes(), []byte(bad)) {
				t.Fatalf("%s holds %q:\n%s", name, bad, b.String())
			}
		}
	}
}

// renderings returns every rendering by the extension of its golden file.
func renderings() map[string]func(io.Writer, compare.Report, compare.Options) error {
	return map[string]func(io.Writer, compare.Report, compare.Options) error{
		"txt": compare.Text, "md": compare.Markdown,
		"csv": func(w io.Writer, r compare.Report, o compare.Options) error { return compare.CSV(w, *r.Comparison, o) },
	}
}

// FuzzNumbers feeds any bytes as numbers: the comparison must always marshal and render.
func FuzzNumbers(f *testing.F) {
	seed := func(class byte, numbers ...float64) {
		b := []byte{class}
		for _, x := range numbers {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		f.Add(b)
	}
	f.Add([]byte{})
	seed(0, math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1))
	seed(1, math.MaxFloat64, math.SmallestNonzeroFloat64, -math.MaxFloat64, 1, 1)
	seed(2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 {
			in = []byte{0}
		}
		class := []compare.Class{compare.Exact, compare.Count, compare.Time, ""}[in[0]%4]
		var numbers []float64
		for in = in[1:]; len(in) >= 8; in = in[8:] {
			numbers = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(in)))
		}
		numbers = numbers[:min(len(numbers), 60)]
		third := len(numbers) / 3
		a, b, rest := numbers[:third], numbers[third:2*third], numbers[2*third:]
		s := series(compare.MetricInfo{Name: "m", Class: class}, on(a...), on(b...), history(rest...))
		if len(rest) > 1 {
			s.Spread, s.Metric.Floor = rest[0], rest[1]
		}
		other := s
		other.Case, other.A, other.B = testCase("other"), s.B, s.A
		mustRender(t, compare.Compare([]compare.Series{s, other}))
	})
}
