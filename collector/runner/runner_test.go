package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// journal is a script that writes down what each run finds: the program, and the files in TACHO_WORK.
const journal = `echo "$(cat main.txt) $(ls $TACHO_WORK | wc -l | tr -d ' ')" >> ../journal; touch $TACHO_WORK/$(date +%N)-$$`

func patched() map[string]string {
	return map[string]string{"main.txt": "plain", "patches/0-first/main.txt": "patched", "patches/0-first/new.txt": "new"}
}

func withPatch(b suite.BenchmarkDef) suite.BenchmarkDef {
	b.Patches = []string{"0-first"}
	return b
}

func TestRunMeasuresEveryCaseAfterItsLastIteration(t *testing.T) {
	job := jobOf(t, patched(), planOf(withPatch(shell("one", journal)), suite.DriverCommand, 2))
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got != (runner.Summary{Measured: 4}) {
		t.Fatalf("Run = %+v, %v; log %q", got, err, sink.log)
	}
	if diff := cmp.Diff([]string{"full", "incr-full", "incr-unchanged", "incr-patched"}, sink.scenarios()); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
	for _, c := range sink.measured {
		if len(c.Iterations) != 2 || !has(c, measure.WallTime) {
			t.Errorf("%s has %d iterations: %v", c.TestCase, len(c.Iterations), c.Iterations)
		}
	}
	iteration := "plain 0\nplain 0\nplain 1\npatched 2\n"
	checkJournal(t, job, iteration+iteration)
	if diff := cmp.Diff([]string{"one 0/4"}, sink.started); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestRunTellsWhatEachCommandUsed(t *testing.T) {
	b := shell("one", "true")
	b.Prepare = []string{"true"}
	plan := planOf(b, suite.DriverCommand, 2)
	plan.Chain, plan.Cases = plan.Chain[:1], plan.Cases[:1]
	var sink recorder
	if _, err := newRunner().Run(t.Context(), jobOf(t, patched(), plan), &sink); err != nil {
		t.Fatal(err)
	}
	if len(sink.used) != 3 || slices.ContainsFunc(sink.used, func(u measure.Use) bool { return u.CPU <= 0 }) {
		t.Errorf("one command that prepares and two that are measured used %+v", sink.used)
	}
}

func checkJournal(t *testing.T, job runner.Job, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(job.Slot, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("what the commands found (-want +got):\n%s", diff)
	}
}

func TestRunSmallestChain(t *testing.T) {
	for _, test := range []struct {
		name, done, want string
		measured         int
	}{
		{"unchanged alone", "full incr-full incr-patched", "plain 0\nplain 1\n", 1},
		{"full alone", "incr-full incr-unchanged incr-patched", "plain 0\n", 1},
		{"patched alone", "full incr-full incr-unchanged", "plain 0\nplain 1\npatched 2\n", 1},
		{"first of both segments", "incr-unchanged incr-patched", "plain 0\nplain 0\n", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := jobOf(t, patched(), planOf(withPatch(shell("one", journal)), suite.DriverCommand, 1))
			job.Done = func(c events.TestCase) bool {
				for _, s := range strings.Fields(test.done) {
					if s == string(c.Scenario) {
						return true
					}
				}
				return false
			}
			var sink recorder
			got, err := newRunner().Run(t.Context(), job, &sink)
			if want := (runner.Summary{Measured: test.measured, Skipped: 4 - test.measured}); err != nil || got != want {
				t.Errorf("Run = %+v, %v; want %+v", got, err, want)
			}
			checkJournal(t, job, test.want)
		})
	}
}

func TestRunNothingMissing(t *testing.T) {
	job := jobOf(t, nil, planOf(shell("one", "exit 1"), suite.DriverCommand, 1))
	job.Done = func(events.TestCase) bool { return true }
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got != (runner.Summary{Skipped: 4}) || len(sink.started) > 0 {
		t.Errorf("Run = %+v, %v; started %v", got, err, sink.started)
	}
}

// TestRunFailure: the second segment fails at its second step in the second iteration.
func TestRunFailure(t *testing.T) {
	script := `if [ -e $TACHO_WORK/seen ] && [ -e ../again ]; then echo broken >&2; echo part; exit 3; fi
		if [ -e $TACHO_WORK/seen ]; then touch ../again; fi; touch $TACHO_WORK/seen`
	plan := planOf(withPatch(shell("bad", script)), suite.DriverCommand, 2)
	job := jobOf(t, patched(), plan, planOf(shell("good", "true"), suite.DriverCommand, 1))
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if want := (runner.Summary{Measured: 6, Failed: 2}); err != nil || got != want {
		t.Fatalf("Run = %+v, %v; want %+v", got, err, want)
	}
	// In iteration 1 unchanged passes and patched fails; in iteration 2 unchanged fails.
	if diff := cmp.Diff([]string{"full", "incr-full", "full", "incr-full", "incr-unchanged", "incr-patched"}, sink.scenarios()); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
	if len(sink.failures) != 2 {
		t.Fatalf("failures %+v", sink.failures)
	}
	for i, scenario := range []events.Scenario{"incr-patched", "incr-unchanged"} {
		f := sink.failures[i]
		if f.Kind != events.ErrorBenchmark || f.Context != "bad" || f.Case == nil || f.Case.Scenario != scenario ||
			!strings.Contains(f.Message, "exit code 3") || !strings.Contains(f.Message, "broken") {
			t.Errorf("failure %d: %+v", i, f)
		}
	}
}

func TestRunFailureTakesLaterCasesAlong(t *testing.T) {
	script := `if [ -e ../second ]; then exit 1; fi; if [ -e ../first ]; then touch ../second; fi; touch ../first`
	job := jobOf(t, patched(), planOf(withPatch(shell("bad", script)), suite.DriverCommand, 1))
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got != (runner.Summary{Measured: 2, Failed: 2}) || len(sink.failures) != 2 {
		t.Fatalf("Run = %+v, %v; failures %+v", got, err, sink.failures)
	}
	if f := sink.failures[1]; f.Case.Scenario != "incr-patched" || !strings.HasPrefix(f.Message, "not measured, since incr-unchanged before it failed") {
		t.Errorf("failure of the later case: %+v", f)
	}
}

func TestRunPreparationFailure(t *testing.T) {
	b := shell("bad", "true")
	b.Prepare = []string{"sh", "-c", "echo no such thing >&2; exit 7"}
	job := jobOf(t, patched(), planOf(b, suite.DriverCommand, 1), planOf(shell("odd", "true"), "steam", 1),
		planOf(shell("good", "true"), suite.DriverCommand, 1))
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got != (runner.Summary{Measured: 4, Failed: 8}) || len(sink.failures) != 8 {
		t.Fatalf("Run = %+v, %v; failures %+v", got, err, sink.failures)
	}
	// Each test case has its own failure: from it, reports tell what failed newly.
	for i, f := range sink.failures {
		plan, want := job.Plans[i/4], []string{"no such thing", `no driver "steam"`}[i/4]
		if f.Kind != events.ErrorPrepare || f.Case == nil || *f.Case != plan.Cases[i%4] || !strings.Contains(f.Message, want) {
			t.Errorf("failure %+v", f)
		}
	}
	if diff := cmp.Diff([]string{"bad 0/12", "odd 4/12", "good 8/12"}, sink.started); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestRunTimeout(t *testing.T) {
	plan := planOf(shell("slow", "echo waiting >&2; sleep 1000 & echo $! > ../pid; wait"), suite.DriverCommand, 3)
	plan.Chain, plan.Cases, plan.Timeout = plan.Chain[:1], plan.Cases[:1], 300*time.Millisecond
	job := jobOf(t, nil, plan)
	var sink recorder
	got, err := newRunner().Run(t.Context(), job, &sink)
	if err != nil || got != (runner.Summary{Failed: 1}) {
		t.Fatalf("Run = %+v, %v", got, err)
	}
	f := sink.failures[0]
	if f.Kind != events.ErrorTimeout || !strings.Contains(f.Message, "time limit of 300ms") || !strings.Contains(f.Message, "waiting") {
		t.Errorf("failure %+v", f)
	}
	checkGone(t, filepath.Join(job.Slot, "pid"))
}

// checkGone checks that the process whose number is in file has ended.
func checkGone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// TestRunInterrupted: the command reports through a pipe that it runs; then the context ends.
func TestRunInterrupted(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		t.Run(fmt.Sprintf("prepare %v", prepare), func(t *testing.T) {
			running := filepath.Join(t.TempDir(), "running")
			if err := syscall.Mkfifo(running, 0o600); err != nil {
				t.Fatal(err)
			}
			script := "sleep 1000 & echo $! > ../pid; echo yes > " + running + "; wait"
			b := shell("slow", script)
			if prepare {
				b = shell("slow", "true")
				b.Prepare = []string{"sh", "-c", script}
			}
			job := jobOf(t, patched(), planOf(b, suite.DriverCommand, 1))
			gone := errors.New("somebody asked")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				_, err := os.ReadFile(running)
				cancel(errors.Join(gone, err))
			}()
			var sink recorder
			got, err := newRunner().Run(ctx, job, &sink)
			if !errors.Is(err, runner.ErrInterrupted) || !errors.Is(err, gone) || got != (runner.Summary{}) {
				t.Errorf("Run = %+v, %v", got, err)
			}
			if len(sink.failures)+len(sink.measured) > 0 {
				t.Errorf("recorded %+v %+v", sink.failures, sink.measured)
			}
			checkGone(t, filepath.Join(job.Slot, "pid"))
		})
	}
}

func TestRunSinkRefuses(t *testing.T) {
	job := jobOf(t, nil, planOf(shell("one", "true"), suite.DriverCommand, 1))
	sink := recorder{refuse: errors.New("the attempt is over")}
	got, err := newRunner().Run(t.Context(), job, &sink)
	if !errors.Is(err, sink.refuse) || got.Measured != 0 || len(sink.measured) != 1 {
		t.Errorf("Run = %+v, %v; measured %v", got, err, sink.measured)
	}
}

func TestRunFullDisk(t *testing.T) {
	program := errors.Join(errors.New("write main.go"), syscall.ENOSPC)
	for _, test := range []struct {
		name   string
		bench  suite.BenchmarkDef
		source error
	}{
		{"ours", withPatch(shell("one", "true")), program},
		{"the command's", shell("one", "echo write: No space left on device >&2; exit 1"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := jobOf(t, nil, planOf(test.bench, suite.DriverCommand, 1))
			job.Source = func(context.Context, suite.BenchmarkDef, string) error { return test.source }
			var sink recorder
			_, err := newRunner().Run(t.Context(), job, &sink)
			if !errors.Is(err, runner.ErrTransient) || !strings.Contains(err.Error(), "make room") || len(sink.failures) > 0 {
				t.Errorf("error %v, failures %v", err, sink.failures)
			}
		})
	}
}

func TestRunFillsFieldsAndParses(t *testing.T) {
	b := suite.BenchmarkDef{
		Name: "printed", Parse: "jsonlines", Env: []string{"UNIT=ms"}, Args: []string{"{artifact}"},
		Command: []string{"sh", "-c", `for i in 1 2; do echo "{\"metric\":\"latency\",\"value\":$i,\"unit\":\"$UNIT\"}"; done; test "$0" = "$(dirname $PWD | xargs dirname)/toolchain"`},
	}
	plan := planOf(b, suite.DriverCommand, 2)
	plan.Chain, plan.Cases = plan.Chain[:1], plan.Cases[:1]
	var sink recorder
	got, err := newRunner().Run(t.Context(), jobOf(t, nil, plan), &sink)
	if err != nil || got.Measured != 1 {
		t.Fatalf("Run = %+v, %v; %+v", got, err, sink.failures)
	}
	one, two := events.Iteration{Metrics: map[events.Metric]float64{"latency": 0.001}}, events.Iteration{Metrics: map[events.Metric]float64{"latency": 0.002}}
	for i := range sink.measured[0].Iterations {
		sink.measured[0].Iterations[i].Interference = ""
	}
	if diff := cmp.Diff([]events.Iteration{one, two, one, two}, sink.measured[0].Iterations); diff != "" {
		t.Errorf("iterations (-want +got):\n%s", diff)
	}
}

func TestRunPrintedNothing(t *testing.T) {
	b := shell("silent", "echo nothing to see")
	b.Parse = "benchfmt"
	plan := planOf(b, suite.DriverCommand, 1)
	plan.Chain, plan.Cases = plan.Chain[:1], plan.Cases[:1]
	var sink recorder
	got, err := newRunner().Run(t.Context(), jobOf(t, nil, plan), &sink)
	if err != nil || got.Failed != 1 || !strings.Contains(sink.failures[0].Message, "printed no metrics") {
		t.Errorf("Run = %+v, %v; %+v", got, err, sink.failures)
	}
}

// scripted is a driver whose commands fail where the test wants it.
type scripted struct {
	fails func(i int) bool
	runs  *[]int
}

func (d scripted) Prepare(_ context.Context, _ *runner.Slot, _ runner.Toolchain, p suite.BenchmarkPlan) (runner.Plan, error) {
	var plan runner.Plan
	for i := range p.Chain {
		path := "/bin/true"
		if d.fails(i) {
			path = "/bin/false"
		}
		plan.Steps = append(plan.Steps, runner.Step{
			Before: func(context.Context) error { *d.runs = append(*d.runs, i); return nil },
			Cmd:    measure.Cmd{Path: path},
		})
	}
	return plan, nil
}

// TestRunChainProperty: whichever cases are already done and whichever fail, every case ends as exactly one of
// measured, skipped and failed; no measured case failed; and no step runs without its predecessors.
func TestRunChainProperty(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		caches := rapid.SliceOfN(rapid.SampledFrom([]string{"none", "empty", "warm", "patched"}), 1, 5).Draw(t, "caches")
		done := rapid.SliceOfN(rapid.Bool(), len(caches), len(caches)).Draw(t, "done")
		fails := rapid.SliceOfN(rapid.IntRange(0, 4).AsAny(), len(caches), len(caches)).Draw(t, "fails")
		plan := suite.BenchmarkPlan{Benchmark: suite.BenchmarkDef{Name: "b"}, Iterations: 2, Timeout: time.Minute, Driver: "scripted"}
		doneCases := map[events.TestCase]bool{}
		for i, c := range caches {
			plan.Chain = append(plan.Chain, suite.Scenario{Name: events.Scenario(fmt.Sprint("s", i)), Cache: c})
			plan.Cases = append(plan.Cases, events.TestCase{Benchmark: "b", Scenario: plan.Chain[i].Name})
			doneCases[plan.Cases[i]] = done[i]
		}
		var runs []int
		r := newRunner()
		r.Measure.NoCgroup = true
		r.Drivers = map[string]runner.Driver{"scripted": scripted{func(i int) bool { return fails[i] == 0 }, &runs}}
		var sink recorder
		got, err := r.Run(context.Background(), runner.Job{
			Plans: []suite.BenchmarkPlan{plan}, Slot: filepath.Join(root, "slot"), Cache: filepath.Join(root, "cache"),
			Done: func(c events.TestCase) bool { return doneCases[c] },
		}, &sink)
		if err != nil || got.Measured+got.Skipped+got.Failed != len(caches) {
			t.Fatalf("Run = %+v, %v", got, err)
		}
		seen := map[events.TestCase]int{}
		for i, c := range plan.Cases {
			if done[i] {
				seen[c]++
			}
		}
		for _, c := range sink.measured {
			seen[c.TestCase]++
			if len(c.Iterations) != 2 {
				t.Fatalf("%s has %d iterations", c.TestCase, len(c.Iterations))
			}
		}
		for _, f := range sink.failures {
			seen[*f.Case]++
		}
		for _, c := range plan.Cases {
			if seen[c] != 1 {
				t.Fatalf("%s is accounted for %d times", c, seen[c])
			}
		}
		for k, i := range runs {
			free := i == 0 || caches[i] == "none" || caches[i] == "empty"
			if !free && (k == 0 || runs[k-1] != i-1) {
				t.Fatalf("step %d ran without the one before it: %v", i, runs)
			}
		}
	})
}
