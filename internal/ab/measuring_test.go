package ab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

// plan is a plan of a test: few pairs, and no counting.
func plan(a, b Side) Plan {
	return Plan{A: a, B: b, MaxPairs: 12, Budget: 10 * time.Minute, Runs: 1, Warmup: 1, Counting: measure.CountOff}
}

// measured measures a plan that nothing ends early.
func measured(t *testing.T, p Plan) Result {
	t.Helper()
	r, err := Measure(t.Context(), runner.New(runner.Settings{}), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// of returns the judgement on one metric.
func (r Result) of(t *testing.T, name events.Metric) Metric {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Metric.Name == name {
			return m
		}
	}
	t.Fatalf("%s is not among %+v", name, r.Metrics)
	return Metric{}
}

func TestASlowerProgramIsFoundAtAPlannedLook(t *testing.T) {
	p := plan(loop("2000"), loop("100000"))
	p.MaxPairs = 40
	var last Progress
	p.Progress = func(now Progress) { last = now }
	r := measured(t, p)
	if r.Verdict != Regressed || r.Ended != EndDecided || !r.Regressed() || !r.Changed() {
		t.Errorf("got %s, %s: %s", r.Verdict, r.Ended, r.Sentence())
	}
	if looks := compare.LooksAt(40); !slices.Contains(looks, r.Pairs) {
		t.Errorf("decided after %d pairs, the looks are at %v", r.Pairs, looks)
	}
	if last.Pairs != r.Pairs || last.Judged.Change == nil {
		t.Errorf("the last progress is %+v", last)
	}
}

func TestAFasterProgramIsImproved(t *testing.T) {
	if r := measured(t, plan(loop("100000"), loop("2000"))); r.Verdict != Improved || r.Regressed() || !r.Changed() {
		t.Errorf("got %s: %s", r.Verdict, r.Sentence())
	}
}

// Sleeping costs no CPU time, so only wall-time can tell.
func TestTimeThatIsNotCPUTimeIsWallTime(t *testing.T) {
	r := measured(t, plan(naps("0.01"), naps("0.3")))
	if r.Verdict != Regressed || r.Time.Metric != measure.WallTime {
		t.Errorf("got %s by %+v: %s", r.Verdict, r.Time, r.Sentence())
	}
}

func TestAFailureEndsWithWhatIsKnown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	r, err := Measure(t.Context(), runner.New(runner.Settings{}), plan(naps("0.001"), shell(`printf . >>`+file+`; if [ $(wc -c <`+file+`) -gt 10 ]; then echo once too often >&2; exit 1; fi`)))
	if !errors.Is(err, ErrFailed) || r.Ended != EndFailed || r.Pairs != 9 || r.Failure == nil {
		t.Fatalf("got %v, %+v", err, r)
	}
	if f := r.Failure; f.Pair != 10 || len(f.Sides) != 1 || f.Sides[0] != "b" || !strings.Contains(f.Text, "once too often") || !strings.Contains(f.Text, "exit code 1") {
		t.Errorf("the failure is %+v", f)
	}
	if m := r.of(t, measure.WallTime); m.Pairs != 9 || m.A == 0 {
		t.Errorf("what is known of wall-time is %+v", m)
	}
}

func TestBothSidesThatFailAreToldAtOnce(t *testing.T) {
	fails := shell("echo the disk is made of cheese >&2; exit 3")
	r, err := Measure(t.Context(), runner.New(runner.Settings{}), plan(fails, fails))
	if !errors.Is(err, ErrFailed) || r.Pairs != 0 || r.Verdict != Inconclusive || len(r.Metrics) != 0 {
		t.Fatalf("got %v, %+v", err, r)
	}
	for _, part := range []string{"a and b failed before the first pair", "cheese", "exit code 3"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

func TestACommandThatIsNoProgramFailsItsSide(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Measure(t.Context(), runner.New(runner.Settings{}), plan(Side{Argv: []string{text}}, naps("0")))
	if !errors.Is(err, ErrFailed) || !strings.HasPrefix(err.Error(), "a failed before the first pair") {
		t.Errorf("got %v", err)
	}
}

func TestTheTimeoutOfARunFailsItsSide(t *testing.T) {
	p := plan(naps("0"), naps("3600"))
	p.Timeout = 300 * time.Millisecond
	if _, err := Measure(t.Context(), runner.New(runner.Settings{}), p); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "time limit of 300ms") {
		t.Errorf("got %v", err)
	}
}

func TestTheBudgetEndsInTheMiddleOfAPair(t *testing.T) {
	p := plan(naps("0"), naps("3600"))
	p.Warmup, p.Budget = 0, 300*time.Millisecond
	r := measured(t, p)
	if r.Ended != EndBudget || r.Pairs != 0 || r.Verdict != Inconclusive || !strings.Contains(r.End(), "--budget") {
		t.Errorf("got %+v: %s", r, r.End())
	}
}

func TestAnInterruptKeepsWhatIsKnown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := plan(naps("0.001"), naps("0.001"))
	p.Progress = func(now Progress) {
		if now.Pairs == 3 {
			cancel()
		}
	}
	r, err := Measure(ctx, runner.New(runner.Settings{}), p)
	if !errors.Is(err, context.Canceled) || r.Ended != EndInterrupted || r.Pairs != 3 || r.of(t, measure.WallTime).Pairs != 3 {
		t.Errorf("got %v, %+v", err, r)
	}
}

func TestACommandReadsNothingOrTheInput(t *testing.T) {
	wants := shell(`test "$(cat)" = hello`)
	p := plan(wants, wants)
	p.MaxPairs = 1
	if _, err := Measure(t.Context(), runner.New(runner.Settings{}), p); !errors.Is(err, ErrFailed) {
		t.Errorf("without input: %v", err)
	}
	p.Input = []byte("hello")
	if r := measured(t, p); r.Pairs != 1 {
		t.Errorf("with input: %+v", r)
	}
}

func TestProcessesThatStayBehindAreKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	leaves := shell("sleep 3600 >/dev/null 2>&1 & echo $! >" + file)
	p := plan(leaves, leaves)
	p.MaxPairs = 1
	measured(t, p)
	pid := strings.TrimSpace(contents(t, file))
	if _, err := os.Stat(filepath.Join("/proc", pid)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("process %s is still there: %v", pid, err)
	}
}

func TestOtherMetricsEachTimeCountInTheirPairs(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	// Every run prints "same", and every third one "rare".
	prints := shell(`n=$(cat ` + count + ` 2>/dev/null || echo 0); echo $((n+1)) >` + count + `
echo '{"metric": "same", "value": 5}'; if [ $((n % 3)) = 0 ]; then echo '{"metric": "rare", "value": 7}'; fi`)
	p := plan(prints, prints)
	p.Warmup, p.Parse = 0, runner.ParseJSONLines
	r := measured(t, p)
	if m := r.of(t, "same"); m.Pairs != 12 || m.Judgement != compare.Unchanged || *m.Change != 0 {
		t.Errorf("same is %+v", m)
	}
	if text := strings.Join(r.Notes, "\n"); !strings.Contains(text, "rare was measured on both sides in 0 of 12 pairs") {
		t.Errorf("the notes are %s", text)
	}
}

func TestOutputThatCannotBeReadFailsItsSide(t *testing.T) {
	p := plan(shell(`echo '{"metric": "x", "value": 1}'`), shell(`echo '{"x": '`))
	p.Parse = runner.ParseJSONLines
	if _, err := Measure(t.Context(), runner.New(runner.Settings{}), p); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
}

func TestPlansThatMeasureNothingAreRefused(t *testing.T) {
	good := plan(Side{}, Side{})
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for part, spoil := range map[string]func(*Plan){
		"--budget 5m": func(p *Plan) { p.Budget = 0 }, "1 or more": func(p *Plan) { p.MaxPairs = 0 },
		"--timeout": func(p *Plan) { p.Timeout = -1 }, "--warmup": func(p *Plan) { p.Warmup = -1 },
	} {
		p := good
		spoil(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want %q", err, part)
		}
	}
}

// contents returns what is in a file.
func contents(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
