package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// stepsOf returns a job whose steps are shell scripts.
func stepsOf(t *testing.T, s suite.Success, scripts ...string) runner.Steps {
	t.Helper()
	dir := t.TempDir()
	if len(s.Exit) == 0 {
		s.Exit = []int{0}
	}
	plan := suite.StepsPlan{Timeout: 5 * time.Minute, Success: s, Case: events.TestCase{Benchmark: "check", Scenario: "full"}}
	for _, script := range scripts {
		plan.Steps = append(plan.Steps, []string{"sh", "-c", script})
	}
	for _, p := range s.Fail {
		plan.Fail = append(plan.Fail, regexp.MustCompile(p))
	}
	for _, p := range s.Require {
		plan.Require = append(plan.Require, regexp.MustCompile(p))
	}
	return runner.Steps{
		Plan: plan, Toolchain: runner.Toolchain{Dir: "/opt/none", Tag: "v1"}, Slot: filepath.Join(dir, "slot"), Cache: filepath.Join(dir, "cache"),
	}
}

// outcome returns how steps ended, in one line: "success", "again: …", or the kind of the error and why.
func outcome(t *testing.T, err error) string {
	t.Helper()
	var failed *runner.StepsError
	var again *runner.RetryError
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &failed):
		return string(failed.Kind) + ": " + failed.Reason
	case errors.As(err, &again):
		return "again: " + again.Reason
	}
	t.Fatal(err)
	return ""
}

// What commands print is told while they run. Patterns see all of it, also what is far behind the beginning, and lines stay as
// long as they are.
func TestPeopleFollowWhatCommandsPrint(t *testing.T) {
	goOn := filepath.Join(t.TempDir(), "go-on")
	job := stepsOf(t, suite.Success{Require: []string{"^the middle$"}}, `echo first; until [ -e `+goOn+` ]; do sleep 0.01; done
head -c 1048576 /dev/zero | tr '\0' x; echo; yes | head -c 2000000; echo the middle; yes | head -c 2000000; printf 'no end'`, "echo second")
	got := &recorder{}
	got.onOutput = func() {
		if string(got.printed) != "first\n" {
			return
		}
		if err := os.WriteFile(goOn, nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	if end := outcome(t, runner.New(runner.Settings{}).RunSteps(t.Context(), job, got)); end != "success" {
		t.Error(end)
	}
	half := strings.Repeat("y\n", 1000000)
	if want := "first\n" + strings.Repeat("x", 1<<20) + "\n" + half + "the middle\n" + half + "no endsecond\n"; string(got.printed) != want {
		t.Errorf("told %d bytes of %d", len(got.printed), len(want))
	}
	if said := strings.Join(got.log, "\n"); !strings.Contains(said, "step 1 of 2: sh -c echo first") || !strings.Contains(said, "step 2 of 2 took ") {
		t.Errorf("the log says %s", said)
	}
}

func TestTheEndOfStepsIsJudged(t *testing.T) {
	for _, test := range []struct {
		name    string
		success suite.Success
		scripts []string
		want    string
	}{
		{"all succeed", suite.Success{}, []string{"true", "true"}, "success"},
		{"one fails", suite.Success{}, []string{"true", "echo no >&2; exit 3", "true"}, "command: step 2 of 3: sh -c echo no >&2; exit 3 ended with exit code 3:\nno"},
		{"a code that is a success", suite.Success{Exit: []int{0, 3}}, []string{"exit 3", "exit 0"}, "success"},
		{"0 is none", suite.Success{Exit: []int{3}}, []string{"exit 0"}, "command: step 1 of 1: sh ended with exit code 0, which is no success here"},
		{"another try", suite.Success{RetryExit: []int{75}}, []string{"exit 75"}, "again: step 1 of 1: sh -c exit 75 ended with exit code 75, by which it asks for another try"},
		{"a signal", suite.Success{RetryExit: []int{137}}, []string{"kill -9 $$"}, "command: step 1 of 1: sh -c kill -9 $$ was killed by SIGKILL"},
		{"a line that is a failure", suite.Success{Fail: []string{"^error:"}}, []string{"echo fine; echo 'error: x' >&2"}, `command: step 1 of 1: a line matches "^error:", which is a failure: error: x`},
		{"the exit code comes first", suite.Success{Fail: []string{"^error:"}}, []string{"echo error: x; exit 1"}, "command: step 1 of 1: sh -c echo error: x; exit 1 ended with exit code 1:\nerror: x"},
		{"a part of a line", suite.Success{Fail: []string{"^error:"}}, []string{"echo no error: x"}, "success"},
		{"what is required", suite.Success{Require: []string{"^OK$", "done"}}, []string{"printf 'OK\\r\\n'", "echo all done >&2"}, "success"},
		{"what is required is missing", suite.Success{Require: []string{"^OK$", "^done$"}}, []string{"echo OK"}, `command: no line that the commands printed matches "^done$", which success requires`},
		{"a pattern that would take for ever elsewhere", suite.Success{Require: []string{"^(a+)+$"}}, []string{"head -c 100000 /dev/zero | tr '\\0' a; echo b; echo aaa"}, "success"},
		{"bytes that are no text", suite.Success{Fail: []string{"E"}}, []string{`printf '\377E\033[31m\n'`}, "command: step 1 of 1: a line matches \"E\", which is a failure: \uFFFDE\033[31m"},
		{"a line of a MiB", suite.Success{Require: []string{"z$"}}, []string{"head -c 1048576 /dev/zero | tr '\\0' y; echo z"}, "success"},
		{"metrics", suite.Success{Metrics: "out/m.jsonl"}, []string{"mkdir out", `echo '{"metric":"size","value":12}' > out/m.jsonl`}, "success"},
		{"no metrics", suite.Success{Metrics: "m.jsonl"}, []string{"true"}, "command: metrics m.jsonl: the commands have not written it"},
		{"empty metrics", suite.Success{Metrics: "m.jsonl"}, []string{"echo text > m.jsonl"}, `command: metrics m.jsonl: there are none: write lines such as {"metric":"size","value":12}`},
		{"wrong metrics", suite.Success{Metrics: "m.jsonl"}, []string{`echo '{"metric":"size"}' > m.jsonl`}, `command: metrics m.jsonl: line 1: metric "size" has no value`},
		{"metrics of a directory", suite.Success{Metrics: "m"}, []string{"mkdir m"}, "command: metrics m: it is no regular file"},
		{"metrics of a pipe", suite.Success{Metrics: "m"}, []string{"mkfifo m"}, "command: metrics m: it is no regular file"},
		{"too many metrics", suite.Success{Metrics: "m"}, []string{`yes '{"metric":"size","value":1}' | head -n 100000 > m`}, "command: metrics m: they are more than one test case may record (768 KiB): write fewer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sink recorder
			err := newRunner().RunSteps(t.Context(), stepsOf(t, test.success, test.scripts...), &sink)
			if diff := cmp.Diff(test.want, outcome(t, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetricsOfStepsAreOneTestCase(t *testing.T) {
	var sink recorder
	job := stepsOf(t, suite.Success{Metrics: "m"}, `printf '{"metric":"size","value":1,"unit":"KiB"}\n{"metric":"size","value":2,"unit":"KiB"}\n' > m`)
	err := newRunner().RunSteps(t.Context(), job, &sink)
	if err != nil || len(sink.measured) != 1 {
		t.Fatalf("%v, %+v", err, sink.measured)
	}
	want := events.MeasuredCase{TestCase: job.Plan.Case, Iterations: []events.Iteration{{Metrics: map[events.Metric]float64{"size": 1024}}, {Metrics: map[events.Metric]float64{"size": 2048}}}}
	if diff := cmp.Diff(want, sink.measured[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALinkDoesNotLeadMetricsOut(t *testing.T) {
	out := filepath.Join(t.TempDir(), "secret")
	err := os.WriteFile(out, []byte(`{"metric":"size","value":1}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var sink recorder
	err = newRunner().RunSteps(t.Context(), stepsOf(t, suite.Success{Metrics: "m"}, "ln -s "+out+" m"), &sink)
	if got := outcome(t, err); !strings.HasPrefix(got, "command: metrics m: ") || len(sink.measured) > 0 {
		t.Errorf("%s, %+v", got, sink.measured)
	}
}

func TestStepsAtTheEndRunInAnyCase(t *testing.T) {
	for _, test := range []struct{ name, step, always, want, journal string }{
		{"after a success", "echo step >> ../journal", "echo end >> ../journal", "success", "step\nend\n"},
		{"after a failure", "exit 3", "echo end >> ../journal", "command: step 1 of 1: sh -c exit 3 ended with exit code 3", "end\n"},
		{"a failure at the end counts", "true", "echo end >> ../journal; exit 4", "command: step 1 of 1 at the end: sh -c echo end >> ../journal; exit 4 ended with exit code 4", "end\n"},
		{"the first failure counts", "exit 3", "exit 4", "command: step 1 of 1: sh -c exit 3 ended with exit code 3", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := stepsOf(t, suite.Success{}, test.step)
			job.Plan.Always = [][]string{{"sh", "-c", test.always}}
			var sink recorder
			err := newRunner().RunSteps(t.Context(), job, &sink)
			if diff := cmp.Diff(test.want, outcome(t, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			journal, err := os.ReadFile(filepath.Join(job.Slot, "journal"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if string(journal) != test.journal {
				t.Errorf("the commands wrote %q, want %q", journal, test.journal)
			}
		})
	}
}

func TestStepsFindTheirProgramAndFields(t *testing.T) {
	job := stepsOf(t, suite.Success{Require: []string{"^hello /opt/none on$"}})
	job.Plan.Source, job.Plan.Env = "greet", []string{"MODE=on"}
	job.Plan.Steps = [][]string{{"sh", "{source}/greet.sh", "{artifact}"}, {"test", "-f", "greet.sh"}, {"touch", "{cache:c}/was here"}}
	caches := t.TempDir()
	job.Caches = func(name string) (string, error) {
		return filepath.Join(caches, name), os.Mkdir(filepath.Join(caches, name), 0o755)
	}
	job.Source = func(dir string) error {
		return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "greet.sh"), []byte(`echo "hello $1 $MODE"`), 0o644))
	}
	var sink recorder
	err := newRunner().RunSteps(t.Context(), job, &sink)
	if got := outcome(t, err); got != "success" {
		t.Error(got)
	}
	_, err = os.Stat(filepath.Join(caches, "c", "was here"))
	if err != nil {
		t.Error(err)
	}
	if len(sink.used) != 3 {
		t.Errorf("three commands used %+v", sink.used)
	}
	job.Plan.Steps = [][]string{{"no-such-command"}}
	err = newRunner().RunSteps(t.Context(), job, &sink)
	if got := outcome(t, err); !strings.HasPrefix(got, `command: step 1 of 1: there is no command "no-such-command" on /opt/none/bin:`) {
		t.Error(got)
	}
	job.Source = func(string) error { return errors.New("it is another version") }
	err = newRunner().RunSteps(t.Context(), job, &sink)
	if got := outcome(t, err); got != "prepare: get the program: it is another version" {
		t.Error(got)
	}
}

func TestAStepHasATimeLimit(t *testing.T) {
	job := stepsOf(t, suite.Success{RetryExit: []int{137}}, "sleep 60 & sleep 60")
	job.Plan.Timeout = 100 * time.Millisecond
	err := newRunner().RunSteps(t.Context(), job, &recorder{})
	if got := outcome(t, err); !strings.HasPrefix(got, "timeout: step 1 of 1: sh -c sleep 60 & sleep 60 was killed after its time limit of 100ms") {
		t.Error(got)
	}
}

func TestStepsThatAreInterruptedEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	job := stepsOf(t, suite.Success{}, "touch ../begun; sleep 60")
	job.Plan.Always = [][]string{{"touch", "../never"}}
	why := errors.New("the machine is sold")
	go func() {
		for ctx.Err() == nil {
			_, err := os.Stat(filepath.Join(job.Slot, "begun"))
			if err == nil {
				cancel(why)
			}
		}
	}()
	err := newRunner().RunSteps(ctx, job, &recorder{})
	if !errors.Is(err, runner.ErrInterrupted) || !errors.Is(err, why) {
		t.Errorf("RunSteps = %v", err)
	}
	_, err = os.Stat(filepath.Join(job.Slot, "never"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a step at the end ran: %v", err)
	}
}
