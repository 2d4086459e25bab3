package compare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// measuredOn is a series of a benchmark that two named machines measured.
func measuredOn(benchmark, a, b string) compare.Series {
	s := series(instructions(), around(1000, 6), around(1100, 6), machines(events.Digest("env "+a), events.Digest("env "+b)))
	s.Case, s.A.Machine, s.B.Machine = testCase(benchmark), a, b
	return s
}

// TestMachinesAreNamed: reports name the machines, and nothing is judged across two of them.
func TestMachinesAreNamed(t *testing.T) {
	c := compare.Compare([]compare.Series{measuredOn("derive", "eider-3", "eider-3"), measuredOn("hello", "eider-3", "eider-@4"), measuredOn("ripgrep", "eider-5", "eider-5")})
	if diff := cmp.Diff([]string{"eider-3", "eider-5", "eider-@4"}, c.Machines); diff != "" {
		t.Error(diff)
	}
	for _, ch := range c.Changes {
		across := ch.Case.Benchmark == "hello"
		if (ch.Judgement == compare.NotComparable) != across || across && ch.Why != "measured on different machines, eider-3 and eider-@4" {
			t.Errorf("%s: %s, %s", ch.Case, ch.Judgement, ch.Why)
		}
	}
	var markdown, text strings.Builder
	r := compare.Report{A: "a", B: "b", Comparison: &c}
	if err := compare.Markdown(&markdown, r, compare.Options{}); err != nil || !strings.Contains(markdown.String(), " Measured on `eider-3`, `eider-5`, `eider-@4`.") {
		t.Errorf("%v\n%s", err, markdown.String())
	}
	if err := compare.Text(&text, r, compare.Options{}); err != nil || !strings.Contains(text.String(), "\nMeasured on eider-3, eider-5, eider-@4.\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestSomeOfManyMachinesAreNamed(t *testing.T) {
	var list []compare.Series
	for i := range 7 {
		name := fmt.Sprint("eider-", i)
		list = append(list, measuredOn(name, name, name))
	}
	c := compare.Compare(list)
	var text strings.Builder
	if err := compare.Text(&text, compare.Report{Comparison: &c}, compare.Options{}); err != nil || !strings.Contains(text.String(), "eider-3, eider-4 and 2 more.") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
