package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

func TestTimingsAddUpTheTestCasesOfARequest(t *testing.T) {
	d := rustc(t)
	const target = "x86_64-unknown-linux-gnu"
	cases := func(kind events.RequestKind, name events.Benchmark) []CaseTiming {
		b, ok := d.Benchmark(name)
		if !ok {
			t.Fatal(name)
		}
		var all []CaseTiming
		for _, c := range d.defaultCases(b, target, kind) {
			all = append(all, CaseTiming{TestCase: c, Length: time.Second, Artifacts: 7})
		}
		return all
	}
	// Three profiles with four scenarios and two with one.
	whole := cases(events.Master, "serde-1.0.219")
	if len(whole) != 14 {
		t.Fatalf("%d test cases", len(whole))
	}
	part := cases(events.Master, "helloworld")[:7]
	part[0].Artifacts = 9
	asked := whole[0]
	asked.Profile, asked.Length = "clippy", time.Hour // only when it is named
	unknown := cases(events.Master, "cargo-0.87.1")
	for i := range unknown {
		unknown[i].Length = 0
	}
	all := append(append(append(append(whole, part...), asked), unknown...), cases(events.Release, "regex")...)
	want := map[events.Benchmark]Timing{
		"serde-1.0.219": {Length: 14 * time.Second, Cases: 14, Of: 14, Artifacts: 7, Results: 98},
		"helloworld":    {Length: 14 * time.Second, Cases: 7, Of: 14, Artifacts: 9, Results: 51},
	}
	if diff := cmp.Diff(want, d.Timings(target, events.Master, all)); diff != "" {
		t.Error(diff)
	}
	if got := d.Timings(target, events.Release, all); len(got) != 1 || got["regex"].Length != 14*time.Second {
		t.Errorf("of releases: %+v", got)
	}
}

func TestTimingsAreReadFromFiles(t *testing.T) {
	want := map[events.Benchmark]Timing{"a": {Length: 90 * time.Second}, "b-1": {Length: 500 * time.Millisecond}}
	for _, text := range []string{
		"benchmark,seconds\na,90\nb-1,0.5\n", "a, 90\n# a comment\nb-1 ,.5", `{"a": 90, "b-1": 0.5}`, "\ufeff{\"a\":90,\"b-1\":5e-1}\n",
	} {
		got, err := ParseTimings([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"a,1\nb,two":       `line 2: "two" is no number of seconds`,
		"a,1\na,2":         `line 2: benchmark "a" is there twice`,
		"a,0":              "line 1: 0 seconds: use a number above 0",
		`{"a": -1}`:        `benchmark "a": -1 seconds`,
		`{"a": "x"}`:       `use {"name": seconds}`,
		`{"a": 1} {}`:      "something follows",
		"a,1,2":            "use lines of the form name,seconds",
		"a,NaN":            "NaN seconds",
		"name,seconds\na,": `line 2: "" is no number`,
	} {
		if _, err := ParseTimings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseTimings(f *testing.F) {
	f.Add([]byte("benchmark,seconds\na,90\n"))
	f.Add([]byte(`{"a": 90}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		timings, err := ParseTimings(data)
		if err != nil {
			return
		}
		for name, timing := range timings {
			if timing.Length <= 0 || timing.Length > maxLength {
				t.Fatalf("%q takes %s", name, timing.Length)
			}
		}
	})
}

const draft = `
version = 1
name = "draft"
primary_target = "a"
sources.root = "file"
defaults = { iterations = 1, timeout = "1m" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
artifact = { kind = "path", path = ["/x/{tag}"], driver = "command" }
scenario = [{ name = "full", cache = "none" }]
backend = [{ name = "gc" }]
profile = [{ name = "opt" }]
kind = [{ name = "compile", per_set = true, per_profile = true }]
metric = [{ name = "wall-time", unit = "s", class = "time", better = "lower" }]

[[target]]
name = "a"
sets = 1
os = "linux"
arch = "amd64"

[[target]]
name = "b"
sets = 1
os = "linux"
arch = "arm64"

[[benchmark]]
name = "long"
category = "primary"
sets = { a = 0, b = 0 }
command = ["true"]

[[benchmark]]
name = "short"
category = "primary"
sets = { a = 0, b = 0 }
command = ["true"]

[[benchmark]]
name = "new"
category = "primary"
command = ["true"]
`

func TestADraftIsPlannedAndItsEditsMakeItComplete(t *testing.T) {
	if _, err := Load("draft.toml", []byte(draft), nil); err == nil {
		t.Fatal("a benchmark without sets was accepted")
	}
	text := draft
	for _, target := range []events.Target{"a", "b"} {
		d, err := LoadDraft("draft.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.Balance(BalanceWish{Target: target, Sets: 2, For: events.Master, Timings: map[events.Benchmark]Timing{
			"long": {Length: time.Minute, Results: 9}, "short": {Length: time.Second},
		}})
		if err != nil {
			t.Fatal(err)
		}
		edits := d.Edits(b)
		if len(edits) < 3 {
			t.Errorf("%+v", edits)
		}
		lines := strings.Split(text, "\n")
		for i := len(edits) - 1; i >= 0; i-- {
			e := edits[i]
			rest := lines[e.Line:]
			if !e.Insert {
				lines = lines[:e.Line-1]
			} else {
				lines = lines[:e.Line]
			}
			lines = append(append(append([]string{}, lines...), e.Text), rest...)
		}
		text = strings.Join(lines, "\n")
	}
	d, err := Load("draft.toml", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, b := range d.Benchmarks {
		t.Logf("%s: %v", b.Name, b.Sets)
	}
}

func TestADraftIsCheckedButForItsSets(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(draft, "a = 0", "a = -1", 1):   "benchmark \"long\" is in set -1",
		strings.Replace(draft, "a = 0", "a = 999", 1):  "benchmark \"long\" is in set 999",
		strings.Replace(draft, "a = 0", "moon = 0", 1): `unknown target "moon"`,
		strings.Replace(draft, "opt", "", 1):           "[[profile]] has no name",
	} {
		if _, err := LoadDraft("draft.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
