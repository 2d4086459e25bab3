package ab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/measure"
)

// counted measures two sides in a few pairs, with valgrind.
func counted(t *testing.T, a, b Side) Result {
	t.Helper()
	p := plan(a, b)
	p.MaxPairs, p.Counting = 2, measure.CountValgrind
	return measured(t, p)
}

func TestACountLeadsTheVerdict(t *testing.T) {
	r := counted(t, loop("10000"), loop("10100"))
	if m := r.Metrics[0]; r.Verdict != Regressed || r.Counted != measure.CountValgrind || m.Metric.Name != measure.Instructions || !(*m.Change > 0.004) {
		t.Errorf("got %s, %+v", r.Verdict, r.Metrics[0])
	}
}

// Time is undecided after two pairs, and does not unsay that the programs do the same.
func TestEqualCountsAreUnchanged(t *testing.T) {
	r := counted(t, loop("10000"), loop("10000"))
	if r.Verdict != Unchanged || r.Changed() || r.Ended != EndPairs {
		t.Errorf("got %s, %s: %s", r.Verdict, r.Ended, r.Sentence())
	}
	if text := strings.Join(r.Remarks(), "\n"); !strings.Contains(text, "To decide") || !strings.Contains(text, "with valgrind") {
		t.Errorf("the remarks are %s", text)
	}
}

func TestWithoutValgrindTheTimeIsMeasured(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if r := counted(t, naps("0.001"), naps("0.001")); r.Pairs != 2 || r.Counted != "" || !strings.Contains(r.Uncounted, "install it") {
		t.Errorf("got %+v", r)
	}
}

// A valgrind that is killed, and one that cannot.
func TestAValgrindThatFailsIsSaid(t *testing.T) {
	for script, want := range map[string]string{"kill -9 $$": "killed", "echo no such tool >&2; exit 1": "no such tool"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "valgrind"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		r := counted(t, naps("0.001"), naps("0.001"))
		if r.Pairs != 2 || r.Counted != "" || !strings.Contains(r.Uncounted, want) || !strings.Contains(strings.Join(r.Remarks(), "\n"), "not counted") {
			t.Errorf("%s: got %q and %d pairs", script, r.Uncounted, r.Pairs)
		}
	}
}

// What would take most of the budget is done only if somebody asks for it.
func TestCountingLeavesMostOfTheBudget(t *testing.T) {
	p := plan(naps("0.05"), naps("0.05"))
	p.MaxPairs, p.Counting, p.Budget = 1, measure.CountAuto, 20*time.Second
	if r := measured(t, p); r.Counted == "" && !strings.Contains(r.Uncounted, "--instructions valgrind") {
		t.Errorf("got %q", r.Uncounted)
	}
}
