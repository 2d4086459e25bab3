package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// stuck is a driver whose slot cannot be made ready.
type stuck struct{}

func (stuck) Prepare(_ context.Context, s *runner.Slot, _ runner.Toolchain, p suite.BenchmarkPlan) (runner.Plan, error) {
	cmd, err := s.Command(s.Dir, s.Env("/bin"), []string{"true"})
	plan := runner.Plan{Steps: make([]runner.Step, len(p.Chain))}
	for i := range plan.Steps {
		plan.Steps[i] = runner.Step{Cmd: cmd, Before: func(context.Context) error { return errors.New("no patch") }}
	}
	return plan, err
}

// Counting instructions is an extra: a fault in it must not end the job, and must not change the recorded results.
func TestWhatFailsBeforeCountingFailsTheTestCaseAlone(t *testing.T) {
	job := jobOf(t, nil, planOf(shell("bad", "true"), "stuck", 1), planOf(shell("good", "true"), suite.DriverCommand, 1))
	r := newRunner()
	r.Settings.Counting = measure.CountValgrind
	r.Drivers["stuck"] = stuck{}
	var sink recorder
	got, err := r.Run(t.Context(), job, &sink)
	if want := (runner.Summary{Measured: 4, Failed: 4}); err != nil || got != want {
		t.Fatalf("Run = %+v, %v; want %+v; log %q", got, err, want, sink.log)
	}
	for _, f := range sink.failures {
		if f.Kind != events.ErrorInternal || f.Case == nil || !strings.Contains(f.Message, "no patch") {
			t.Errorf("%+v", f)
		}
	}
}

// A program that prints without end must fail only its own test case: results are kept in memory and become events,
// which have a size limit.
func TestMoreSamplesThanCanBeRecordedFailTheTestCase(t *testing.T) {
	const line = `{"metric":"latency","value":12.5}`
	loud := planOf(shell("loud", `yes '`+line+`' | head -n 100000`), suite.DriverCommand, 3)
	loud.Benchmark.Parse = "jsonlines"
	much := planOf(shell("much", `yes '`+line+`' | head -n 1000`), suite.DriverCommand, 3)
	much.Benchmark.Parse = "jsonlines"
	for _, p := range []*suite.BenchmarkPlan{&loud, &much} {
		p.Chain, p.Cases = p.Chain[:1], p.Cases[:1]
	}
	var sink recorder
	got, err := newRunner().Run(t.Context(), jobOf(t, nil, loud, much), &sink)
	if want := (runner.Summary{Measured: 1, Failed: 1}); err != nil || got != want {
		t.Fatalf("Run = %+v, %v; want %+v", got, err, want)
	}
	if f := sink.failures[0]; f.Kind != events.ErrorBenchmark || f.Context != "loud" || !strings.Contains(f.Message, "more than one test case may record") {
		t.Errorf("%+v", f)
	}
	if n := len(sink.measured[0].Iterations); n != 3000 {
		t.Errorf("%d samples, want 3000", n)
	}
	text, err := json.Marshal(sink.measured[0])
	if err != nil || len(text) > 768<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// The slot may be below a user's home directory, and cargo reads the configuration of every directory above the
// program. The user's settings must not change what is measured. The program's own configuration belongs to it.
func TestFlagsOfTheUserStayOutOfTheMeasurement(t *testing.T) {
	files := crate()
	files["src/main.rs"] = "#[cfg(leaked)]\ncompile_error!(\"leaked\");\n" + plain
	job := rustJob(t, files, fullOnly(rustPlan("demo", 1, "rustc")))
	root := filepath.Dir(job.Slot)
	if err := writeFiles(root, map[string]string{".cargo/config.toml": "[build]\nrustflags = [\"--cfg\", \"leaked\"]\nrustdocflags = [\"--cfg\", \"leaked\"]\n"}); err != nil {
		t.Fatal(err)
	}
	runRust(t, job)

	files["src/main.rs"] = "#[cfg(not(own))]\ncompile_error!(\"its own flags are missing\");\n" + plain
	files[".cargo/config.toml"] = "[build]\nrustflags = [\"--cfg\", \"own\"]\n"
	runRust(t, rustJob(t, files, fullOnly(rustPlan("demo", 1, "rustc"))))
}

// A process that was wrongly taken for dead may run for a moment longer, in the slot of its successor.
func TestTwoProcessesNeverShareASlot(t *testing.T) {
	job := jobOf(t, nil, planOf(shell("one", "true"), suite.DriverCommand, 1))
	inside, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer func() { close(leave); <-left }()
	first, second := job, job
	first.Source = func(context.Context, suite.BenchmarkDef, string) error {
		close(inside)
		<-leave
		return errors.New("gone")
	}
	first.Plans = []suite.BenchmarkPlan{planOf(withPatch(shell("one", "true")), suite.DriverCommand, 1)}
	go func() {
		defer close(left)
		_, _ = newRunner().Run(context.WithoutCancel(t.Context()), first, &recorder{})
	}()
	<-inside
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	var sink recorder
	if got, err := newRunner().Run(ctx, second, &sink); !errors.Is(err, runner.ErrInterrupted) || got != (runner.Summary{}) {
		t.Errorf("Run = %+v, %v; measured %v", got, err, sink.scenarios())
	}
}
