package compare_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

var update = flag.Bool("update", false, "write the golden files anew")

// demo is a comparison with every kind of change.
func demo() []compare.Series {
	build := func(benchmark string, scenario events.Scenario, category compare.Category, m compare.MetricInfo, a, b compare.Samples) compare.Series {
		s := compare.Series{Case: testCase(benchmark), Category: category, Metric: m, A: a, B: b}
		s.Case.Scenario = scenario
		return s
	}
	seconds := func(s compare.Samples) compare.Samples {
		for i := range s.Values {
			s.Values[i] /= 1000
		}
		return s
	}
	rss := compare.MetricInfo{Name: "max-rss", Unit: "bytes", Class: compare.Count}
	slow := build("derive", "full", compare.Primary, instructions(), around(1.7966e9, 6), around(1.8309e9, 6))
	slow.History = slices.Repeat([]float64{1.796e9, 1.797e9}, 15)
	elsewhere := build("inflate", "full", compare.Primary, instructions(), around(9.1e8, 6), around(9.9e8, 6))
	elsewhere.B.Environment = "m2"
	disturbed := build("derive", "full", compare.Primary, wallTime(), seconds(around(357, 6)), seconds(around(935, 6)))
	disturbed.B.Interfered = 5
	return []compare.Series{
		slow, elsewhere, disturbed,
		build("helloworld", "full", compare.Primary, instructions(), around(18.93e6, 6), around(18.94e6, 6)),
		build("helloworld", "incr-full", compare.Secondary, instructions(), around(21.8e6, 6), around(21.2e6, 6)),
		build("match-stress", "full", compare.Secondary, instructions(), on(6.703e9), on(6.91e9)),
		build("removed", "full", compare.Secondary, instructions(), around(1e6, 6), on()),
		build("added", "full", compare.Secondary, instructions(), on(), around(1e6, 6)),
		build("helloworld", "full", compare.Primary, wallTime(), seconds(around(18, 6)), seconds(around(19.5, 6))),
		build("helloworld", "full", compare.Primary, rss, around(70.6e6, 6), around(70.5e6, 6)),
		build("helloworld", "full", compare.Primary, exeSize(), on(3_712_004), on(3_712_012)),
	}
}

func TestGolden(t *testing.T) {
	c := compare.Compare(demo())
	full := compare.Report{A: "go1.25.3", B: "go1.26.8", Comparison: &c}
	brief := compare.Options{Brief: true, Metrics: []events.Metric{c.Headline}}
	nothing := compare.Compare(nil)
	for ext, render := range renderings() {
		for _, shown := range []struct {
			name string
			r    compare.Report
			o    compare.Options
		}{
			{"full", full, compare.Options{}}, {"brief", compare.Report{Comparison: &c}, brief}, {"empty", compare.Report{Comparison: &nothing}, compare.Options{}},
		} {
			var b bytes.Buffer
			if err := render(&b, shown.r, shown.o); err != nil {
				t.Fatal(err)
			}
			golden(t, shown.name+"."+ext, b.Bytes())
		}
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "full.json", append(text, '\n'))
}

// golden compares got with a file under testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); run with -update if this is meant:\n%s", name, diff)
	}
}

// TestForeignNames: names from definitions cannot break a table, mention a person or move the cursor of a terminal.
func TestForeignNames(t *testing.T) {
	s := series(instructions(), around(1000, 6), around(1100, 6))
	s.Case.Benchmark = "a|b`@rust\x1b[2J\n<img>,\""
	c := compare.Compare([]compare.Series{s})
	var md, text, table bytes.Buffer
	if err := errors.Join(compare.Markdown(&md, compare.Report{Comparison: &c}, compare.Options{}), compare.Text(&text, compare.Report{Comparison: &c}, compare.Options{}), compare.CSV(&table, c, compare.Options{})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(md.String(), "| `a\\|b'@rust?[2J?<img>,\"/check/full` |") {
		t.Errorf("Markdown:\n%s", md.String())
	}
	if !strings.Contains(text.String(), "a|b`@rust?[2J?<img>,\"/check/full  ") {
		t.Errorf("text:\n%s", text.String())
	}
	records, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(records) != 2 || records[1][1] != "a|b`@rust\x1b[2J\n<img>,\"" {
		t.Errorf("CSV: %v, %q", err, records)
	}
}

// broken fails every write.
type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterFails(t *testing.T) {
	c := compare.Compare(demo())
	for name, render := range renderings() {
		if err := render(broken{}, compare.Report{Comparison: &c}, compare.Options{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v, want the writer's error", name, err)
		}
	}
}
