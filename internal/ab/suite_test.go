package ab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
)

const suiteText = `version = 1
name = "naps"
primary_target = "here"
sources = { root = "file" }
defaults = { iterations = 2, timeout = "30s" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
artifact = { kind = "path", path = ["/nowhere/{tag}"], driver = "command" }
target = [{ name = "here", sets = 1, os = "linux", arch = "amd64" }]
kind = [{ name = "compile", per_set = true, per_backend = true, per_profile = true }]
profile = [{ name = "quick" }]
backend = [{ name = "any" }]
scenario = [{ name = "full", cache = "none" }]
metric = [{ name = "wall-time", unit = "s", class = "time", better = "lower" }]

[[benchmark]]
name = "nap"
source = "programs"
category = "primary"
sets = { here = 0 }
command = ["sh", "{artifact}/nap.sh"]

[[benchmark]]
name = "other"
source = "programs"
category = "primary"
sets = { here = 0 }
command = ["sh", "{artifact}/other.sh"]
`

// suitePlan is a suite and two artifacts: b naps longer, and its other benchmark fails.
func suitePlan(t *testing.T) SuitePlan {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"naps.toml": suiteText, "programs/readme": "none", "a/nap.sh": "sleep 0.01", "b/nap.sh": "sleep 0.1", "a/other.sh": "true", "b/other.sh": "echo no cheese >&2; exit 1",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := definitions.Load(filepath.Join(dir, "naps.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return SuitePlan{
		Definitions: d, Programs: definitions.ProgramsBeside(filepath.Join(dir, "naps.toml")),
		A: filepath.Join(dir, "a"), B: filepath.Join(dir, "b"), MaxPairs: 12, Budget: 10 * time.Minute,
	}
}

func TestASuiteIsMeasuredInTurns(t *testing.T) {
	p := suitePlan(t)
	r, err := MeasureSuite(t.Context(), runner.New(runner.Settings{Counting: measure.CountOff}), p)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Regressed || r.Ended != EndPairs {
		t.Errorf("got %s, %s: %s", r.Verdict, r.Ended, r.Sentence())
	}
	if len(r.Failed) != 1 || !strings.Contains(r.Failed[0], "other failed in b") || !strings.Contains(r.Failed[0], "no cheese") {
		t.Errorf("the failures are %q", r.Failed)
	}
	if rows := r.Rows(false); len(rows) != 1 || !strings.Contains(rows[0][0], "nap") || rows[0][len(rows[0])-1] != string(compare.Regressed) {
		t.Errorf("the rows are %v", rows)
	}
}

func TestABudgetLeavesOutWhatIsNotWhole(t *testing.T) {
	p := suitePlan(t)
	p.Budget, p.Benchmarks = 50*time.Millisecond, []events.Benchmark{"nap"}
	r, err := MeasureSuite(t.Context(), runner.New(runner.Settings{Counting: measure.CountOff}), p)
	if err != nil || r.Ended != EndBudget || len(r.Cases) != 0 || r.Verdict != Inconclusive {
		t.Errorf("got %v, %+v", err, r)
	}
}

func TestABenchmarkThatTheSuiteLacksIsRefused(t *testing.T) {
	p := suitePlan(t)
	p.Benchmarks = []events.Benchmark{"snore"}
	_, err := MeasureSuite(t.Context(), runner.New(runner.Settings{}), p)
	var unknown *UnknownError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), `no benchmark "snore"`) {
		t.Errorf("got %v", err)
	}
}
