package projector

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

func TestStatisticsByMetric(t *testing.T) {
	for want, iterations := range map[string][]events.Iteration{
		`{}`:                            nil,
		`{"a":[1]}`:                     {{Metrics: map[events.Metric]float64{"a": 1}}},
		`{"a":[null,2.5],"b":[3,null]}`: {{Metrics: map[events.Metric]float64{"b": 3}}, {Metrics: map[events.Metric]float64{"a": 2.5}}},
		`{"a":[1,null,3]}`:              {{Metrics: map[events.Metric]float64{"a": 1}}, {}, {Metrics: map[events.Metric]float64{"a": 3}}},
	} {
		if got := statistics(iterations); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestHeadersAreTheSameAfterJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "header")
		var names []string
		for name := range header {
			names = append(names, name)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(headerJSON(header, names)), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(header, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzClean feeds arbitrary bytes: the output is what Postgres takes, and nothing else is changed.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00b", "\xff", `\u0000`, `\\u0000`, `\\\u0000`, "\\\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := cleanText(s)
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Errorf("%q became %q", s, text)
		}
		if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && text != s {
			t.Errorf("%q was touched: %q", s, text)
		}
		encoded, err := json.Marshal([]string{s})
		if err != nil {
			t.Fatal(err)
		}
		encoded = cleanJSON(encoded)
		var back []string
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if want := strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"); strings.ContainsRune(back[0], 0) ||
			utf8.ValidString(s) && back[0] != want {
			t.Errorf("%q became %q", s, back[0])
		}
	})
}
