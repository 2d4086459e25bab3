package suite

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

const fiveToThirty = `{ min = 5, max = 30, until = "0.5 %", budget = "2m" }`

// iterating returns the small suite in version 2, in which the defaults and benchmark Generics have these iterations.
func iterating(t *testing.T, defaults, generics string) Definitions {
	t.Helper()
	text := strings.Replace(small(t), "version = 1", "version = 2", 1)
	text = strings.Replace(text, "iterations = 3", "iterations = "+defaults, 1)
	text = strings.Replace(text, "iterations = 1\n", generics+"\n", 1)
	d, err := Load("small.toml", []byte(text), anyDigest)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A plain number is written as it was when there was nothing else.
func TestAPlainNumberOfIterationsIsWrittenAsItWas(t *testing.T) {
	for _, n := range []int{0, 1, 5, 1000, -3, math.MaxInt} {
		now, err := json.Marshal([]any{
			Defaults{Iterations: Iterations{Number: n}, Timeout: "5m"},
			struct {
				Iterations Iterations `json:"iterations,omitzero"`
			}{Iterations{Number: n}},
		})
		then, err2 := json.Marshal([]any{
			struct {
				Iterations int    `json:"iterations"`
				Timeout    string `json:"timeout"`
			}{n, "5m"},
			struct {
				Iterations int `json:"iterations,omitempty"`
			}{n},
		})
		if err != nil || err2 != nil || string(now) != string(then) {
			t.Errorf("%d: %s, was %s (%v, %v)", n, now, then, err, err2)
		}
		var again []Defaults
		if err := json.Unmarshal(now, &again); err != nil || again[0].Iterations != (Iterations{Number: n}) {
			t.Errorf("%d is read as %+v, %v", n, again, err)
		}
	}
	for text, want := range map[string]int{"5": 5, "+5": 5, "0x1e": 30, "1_000": 1000} {
		if d := iterating(t, text, ""); d.Defaults.Iterations != (Iterations{Number: want}) {
			t.Errorf("%s is read as %+v", text, d.Defaults.Iterations)
		}
	}
}

func TestATableOfIterationsIsPlannedAndKept(t *testing.T) {
	table := Iterations{Min: 5, Max: 30, Until: "0.5 %", Budget: "2m"}
	until := &Until{Min: 5, Width: 0.005, Budget: 2 * time.Minute, Times: []events.Metric{"wall-time"}}
	for _, test := range []struct {
		name               string
		d                  Definitions
		asked              int
		tables, generics   *Until
		ofTables, ofOthers int
	}{
		{"of the defaults", iterating(t, fiveToThirty, ""), 0, until, until, 30, 30},
		{"of a benchmark", iterating(t, "3", "iterations = "+fiveToThirty), 0, nil, until, 3, 30},
		{"under a heading of its own", iteratingByTable(t), 0, nil, until, 3, 30},
		{"a number instead of the defaults", iterating(t, fiveToThirty, "iterations = 7"), 0, until, nil, 30, 7},
		{"a retrigger with a number", iterating(t, fiveToThirty, "iterations = "+fiveToThirty), 9, nil, nil, 9, 9},
	} {
		again, err := Parse(test.d.Canonical())
		if err != nil || again.Digest() != test.d.Digest() {
			t.Errorf("%s: %v", test.name, err)
		}
		for set, want := range []*Until{test.tables, test.generics} {
			plans, err := again.Plan(job(again, events.Try, func(j *events.JobSpec) { j.Set, j.Iterations = events.Set(set), test.asked }))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, plans[0].Until); diff != "" {
				t.Errorf("%s, set %d (-want +got):\n%s", test.name, set, diff)
			}
			if n := []int{test.ofTables, test.ofOthers}[set]; plans[0].Iterations != n {
				t.Errorf("%s, set %d: %d iterations, want %d", test.name, set, plans[0].Iterations, n)
			}
		}
	}
	if d := iterating(t, fiveToThirty, ""); d.Defaults.Iterations != table {
		t.Errorf("read as %+v", d.Defaults.Iterations)
	}
}

// iteratingByTable has the table of benchmark Generics under a heading of its own.
func iteratingByTable(t *testing.T) Definitions {
	t.Helper()
	text := strings.Replace(small(t), "version = 1", "version = 2", 1)
	text = strings.Replace(text, "iterations = 1\n", "", 1)
	text = strings.Replace(text, "env = [\"GOGC=off\"]\n", "env = [\"GOGC=off\"]\n[benchmark.iterations]\nmin = 5\nmax = 30\nuntil = \"0.5 %\"\nbudget = \"120s\"\n", 1)
	d, err := Load("small.toml", []byte(text), anyDigest)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What a table says is part of what a job does; how it is written is not.
func TestATableOfIterationsIsPartOfTheRecipe(t *testing.T) {
	recipes := map[events.Digest]string{}
	for _, table := range []string{
		"30", fiveToThirty, `{ min = 5, max = 30, until = "0.5 %" }`, `{ min = 6, max = 30, until = "0.5 %" }`,
		`{ min = 5, max = 31, until = "0.5 %" }`, `{ min = 5, max = 30, until = "0.6 %" }`,
	} {
		d := iterating(t, table, "")
		recipe := recipeOf(t, d, job(d, events.Master, nil))
		if other, twice := recipes[recipe]; twice {
			t.Errorf("%s and %s are one recipe", table, other)
		}
		recipes[recipe] = table
		for _, u := range d.Units(job(d, events.Master, nil)) {
			if n := int64(d.Defaults.Iterations.most()); u.Cost != 3*n {
				t.Errorf("%s costs %d", table, u.Cost)
			}
		}
	}
	for _, same := range []string{`{ min = 5, max = 30, until = "0.50%", budget = "120s" }`, strings.ReplaceAll(fiveToThirty, "min", "MIN")} {
		d := iterating(t, same, "")
		if got := recipes[recipeOf(t, d, job(d, events.Master, nil))]; got != fiveToThirty {
			t.Errorf("%s is the recipe of %q", same, got)
		}
	}
}

func TestDiffTellsWhenATestCaseHasEnough(t *testing.T) {
	var got []string
	for _, d := range Diff(iterating(t, "3", "iterations = "+fiveToThirty), iterating(t, fiveToThirty, `iterations = { min = 5, max = 20, until = "0.5 %" }`)) {
		got = append(got, d.String())
	}
	want := []string{
		"suite: defaults.iterations removed, was 3", `suite: defaults.iterations.budget added: "2m"`, "suite: defaults.iterations.max added: 30",
		"suite: defaults.iterations.min added: 5", `suite: defaults.iterations.until added: "0.5 %"`,
		`benchmark Generics: iterations.budget removed, was "2m"`, "benchmark Generics: iterations.max changed from 30 to 20",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Definitions from the log are not checked again: what cannot be planned is an error.
func TestPublishedTablesThatCannotBePlanned(t *testing.T) {
	d := iterating(t, fiveToThirty, "")
	text := string(d.Canonical())
	for _, test := range [][3]string{
		{`"until":"0.5 %"`, `"until":"little"`, `until "little": use a part in percent`},
		{`"budget":"2m"`, `"budget":"soon"`, `budget: time: invalid duration "soon"`},
	} {
		parsed, err := Parse([]byte(strings.Replace(text, test[0], test[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.Plan(job(d, events.Master, nil)); err == nil || !strings.Contains(err.Error(), "iterations of tables: "+test[2]) {
			t.Errorf("%s: %v", test[1], err)
		}
	}
	for _, wrong := range []string{`{"min":5,"most":9}`, `"5"`, `5.5`, `[5]`, `{"min":"5"}`} {
		if _, err := Parse([]byte(strings.Replace(text, `{"budget":"2m","max":30,"min":5,"until":"0.5 %"}`, wrong, 1))); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]float64{"0.5 %": 0.005, "2%": 0.02, "100 %": 1, "0.000001 %": 1e-8, "007.5%": 0.075} {
		if got, err := ParsePercent(text); err != nil || math.Abs(got-want) > 1e-15 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "%", " %", "0 %", "0.0%", "-1 %", "+1 %", "1e2 %", "100.1 %", "nan %", "inf%", "0x1p-2 %", "1_0 %", "1  %", " 1 %", "1 % ", ".5 %", "1. %", "1,5 %", "٥ %"} {
		if got, err := ParsePercent(text); err == nil || got != 0 || !strings.Contains(err.Error(), "use a part in percent above 0") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// Any text is an error or a share above 0 and up to 1, which reads as itself again.
func FuzzParsePercent(f *testing.F) {
	for _, text := range []string{"0.5 %", "2%", "100 %", "0.000001 %", "1e2 %", "nan %", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParsePercent(text)
		if err != nil {
			return
		}
		if !(got > 0 && got <= 1) {
			t.Fatalf("%q is %v", text, got)
		}
		again, err := ParsePercent(strconv.FormatFloat(100*got, 'f', 6, 64) + " %")
		if err != nil || math.Abs(again-got) > 1e-8 {
			t.Fatalf("%q is %v, and again %v, %v", text, got, again, err)
		}
	})
}
