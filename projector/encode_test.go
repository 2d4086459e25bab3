package projector

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
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

// Headers come back as they were, whatever the other columns tell of them: the same, something else or nothing.
func TestHeadersAreTheSameAfterJSON(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 5_000_000, time.UTC)
	value := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "a", "7", "007", "1.0", "dev.tacho.a", "2026-03-01T12:00:00.005Z", "2026-03-01T12:00:00.005000001Z", "2026-03-01T13:00:00.005+01:00",
	}))
	text := rapid.SampledFrom([]string{"", "a", "7"})
	rapid.Check(t, func(t *rapid.T) {
		row := eventRow{
			Subject: events.Subject(events.SubjectPrefix + text.Draw(t, "subject")), Type: text.Draw(t, "type"), ID: text.Draw(t, "id"),
			Source: text.Draw(t, "source"), Actor: events.Actor(text.Draw(t, "actor")), Cause: events.Seq(rapid.Uint64Range(6, 8).Draw(t, "cause")),
			Root: text.Draw(t, "root"),
		}
		if rapid.Bool().Draw(t, "read") {
			row.Time = &at
		}
		name := rapid.OneOf(rapid.String(), rapid.SampledFrom(row.Told()))
		header := rapid.MapOf(name, value).Draw(t, "header")
		row.Headers = headerJSON(&row, header, slices.Sorted(maps.Keys(header)))
		got, err := row.Header()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(header, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The headers of an honest event take no room of their own.
func TestHeadersOfAnEventAreToldByItsRow(t *testing.T) {
	stored, err := events.Encode(events.Event{
		ID: "e1", Time: time.Date(2026, 3, 1, 12, 0, 0, 5_000_000, time.UTC), Source: "test", Actor: "test:it", Root: "e1", Cause: 7,
		Fact: events.RequestExpired{RequestID: "r1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	stored.Seq = 1
	e, err := events.Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	b := batch{}
	b.add(&reader{}, stored, e, "")
	if got := b.events[0].Headers; got != "{}" {
		t.Errorf("they take %s", got)
	}
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
