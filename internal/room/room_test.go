package room

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var marks = []int{80, 90, 95}

func TestMarksAreLeftWithSomeSlack(t *testing.T) {
	mark := 0
	for _, step := range []struct {
		percent int64
		full    string
		want    int
	}{{79, "", 0}, {80, "", 80}, {79, "", 80}, {78, "", 80}, {77, "", 0}, {79, "", 0}, {91, "", 90}, {89, "", 90}, {87, "", 80}, {99, "", 95}, {99, "why", Full}, {94, "", 90}, {10, "", 0}} {
		if mark = Mark(Place{Bytes: step.percent, Limit: 100, Full: step.full}, mark, marks); mark != step.want {
			t.Fatalf("at %d %%: mark %d, want %d", step.percent, mark, step.want)
		}
	}
}

// However a place wavers by less than the slack, its mark changes at most once.
func TestAMarkDoesNotFlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Float64Range(0, 98).Draw(t, "base")
		mark, changes := Mark(Place{Bytes: int64(base * 1000), Limit: 100_000}, 0, marks), 0
		for _, by := range rapid.SliceOf(rapid.Float64Range(0, slack-0.1)).Draw(t, "wavers") {
			now := Mark(Place{Bytes: int64((base + by) * 1000), Limit: 100_000}, mark, marks)
			if now != mark {
				changes++
			}
			mark = now
		}
		if changes > 1 {
			t.Fatalf("%d changes", changes)
		}
	})
}

func TestWordsSayHowFullAndUntilWhen(t *testing.T) {
	p := Place{About: "log", Bytes: 52 << 30, Limit: 64 << 30, GrowsPerDay: 4 << 30}
	for _, part := range []string{"The log is more than 80 % full: 52 GiB of 64 GiB (81 %).", "grows by 4 GiB a day", "full in about 3 d at that rate"} {
		if got := p.Message(80); !strings.Contains(got, part) {
			t.Errorf("%q does not say %q", got, part)
		}
	}
	if !Same(p.Message(80), p, 80) || Same(p.Message(80), p, 90) {
		t.Error("the mark is not found in the words")
	}
	p.Full = "it has reached its limit in bytes"
	if got := p.Message(Full); !strings.Contains(got, "takes nothing more: it has reached its limit in bytes.") {
		t.Errorf("%q", got)
	}
	if got := (Place{About: "database", Bytes: 1 << 20}).Use(); got != "1 MiB, no limit is known" {
		t.Errorf("%q", got)
	}
}

func TestGrowthIsThatOfTheLastDay(t *testing.T) {
	var g Growth
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	if got := g.Note("log", 1000, now); got != 0 {
		t.Errorf("at first: %d", got)
	}
	if got := g.Note("log", 2000, now.Add(time.Minute)); got != 0 {
		t.Errorf("after a minute: %d", got)
	}
	if got := g.Note("log", 2000, now.Add(time.Hour)); got != 24_000 {
		t.Errorf("after an hour: %d", got)
	}
	for i := range 200 {
		now = now.Add(time.Hour)
		if got := g.Note("log", 2000+int64(i)*100, now); i > 30 && (got < 2390 || got > 2410) {
			t.Errorf("hour %d: %d", i, got)
		}
	}
	if got := g.Note("log", 0, now.Add(time.Hour)); got != 0 {
		t.Errorf("it became smaller: %d", got)
	}
}
