package collector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

func TestMain(m *testing.M) {
	if measure.RunShimIfAsked() {
		return
	}
	os.Exit(m.Run())
}

// notes is a Sink that keeps what it is told.
type notes struct {
	measured []events.MeasuredCase
	failed   []string
	log      []string
	used     []measure.Use
	// stored has the outputs and the uploads, diagnosed what the commands said, phases how long they took.
	stored    []events.OutputStored
	diagnosed []events.DiagnosticsSeen
	phases    events.Phases
	waits     []string
	jobserver events.JobserverCount
	// recognised are the trees that were recognised, and taken says that an earlier run did the same.
	recognised []events.Digest
	taken      bool
	// printed is guarded by mu: those who read it call Output.
	mu      sync.Mutex
	printed []byte
}

func (n *notes) Output(text []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.printed = append(n.printed, text...)
}

// Recognised implements collector.Sink.
func (n *notes) Recognised(_ context.Context, _ suite.Definitions, tree events.Digest) (bool, error) {
	n.recognised = append(n.recognised, tree)
	return n.taken, nil
}

func (n *notes) Stored(_ context.Context, o events.Output, upload bool) error {
	n.stored = append(n.stored, events.OutputStored{Output: o, Upload: upload})
	return nil
}

func (n *notes) Diagnosed(_ context.Context, seen events.DiagnosticsSeen) error {
	n.diagnosed = append(n.diagnosed, seen)
	return nil
}

func (n *notes) Took(phase func(*events.Phases) *int64, d time.Duration) {
	*phase(&n.phases) += d.Milliseconds()
}

func (n *notes) Waits(what string) { n.waits = append(n.waits, what) }

func (n *notes) Counted(j events.JobserverCount) {
	n.jobserver.Missing += j.Missing
	n.jobserver.Surplus += j.Surplus
}

func (n *notes) Started(events.Benchmark, int, int) {}
func (n *notes) Used(u measure.Use)                 { n.used = append(n.used, u) }
func (n *notes) Log(text string)                    { n.log = append(n.log, text) }
func (n *notes) Measured(_ context.Context, c events.MeasuredCase) error {
	n.measured = append(n.measured, c)
	return nil
}

func (n *notes) Failed(_ context.Context, kind events.ErrorKind, about string, _ *events.TestCase, message string) error {
	n.failed = append(n.failed, string(kind)+" "+about+": "+message)
	return nil
}

// sleepy writes a suite of a program that runs a shell, and an artifact for it.
func sleepy(t *testing.T, root, revision string) (suite.Definitions, string) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"v1", "echo"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := `
version = 1
name = "sleepy"
primary_target = "here"
sources = { root = "` + root + `", revision = "` + revision + `" }
defaults = { iterations = 2, timeout = "10s" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
target = [{ name = "here", sets = 1, os = "linux", arch = "amd64" }]
kind = [{ name = "compile", per_set = true, per_backend = true, per_profile = true }]
profile = [{ name = "p" }]
backend = [{ name = "b" }]
scenario = [{ name = "full", cache = "none" }]
metric = [{ name = "wall-time", unit = "s", class = "time", better = "lower" }]

[artifact]
kind = "path"
path = ["` + dir + `/{tag}"]
driver = "command"

[[benchmark]]
name = "echo"
category = "primary"
sets = { here = 0 }
command = ["/bin/sh", "{source}/echo.sh"]
`
	if err := os.WriteFile(filepath.Join(dir, "echo", "echo.sh"), []byte("echo hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "sleepy.toml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := definitions.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return d, dir
}

func machine(t *testing.T, sources map[string]string) *Machine {
	t.Helper()
	store, err := artifact.Open(artifact.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &Machine{
		Artifacts: store, Runner: runner.New(runner.Settings{}), Slot: filepath.Join(dir, "slot"), Cache: filepath.Join(dir, "cache"), Sources: sources,
	}
}

func jobOf(d suite.Definitions, tag events.Tag) events.JobSpec {
	return events.JobSpec{
		ID: "j1", Artifact: events.Artifact{Suite: d.Name, Tag: tag, Kind: events.Master}, Kind: "compile", Target: "here",
		Backend: "b", Profile: "p", Definitions: d.Digest(),
	}
}

func none(events.TestCase) bool { return false }

func TestAMachineMeasuresWhatIsMissing(t *testing.T) {
	d, dir := sleepy(t, "file", "")
	m, got := machine(t, map[string]string{"sleepy": dir}), &notes{}
	if err := m.Run(t.Context(), jobOf(d, "v1"), d, none, got); err != nil {
		t.Fatal(err)
	}
	if len(got.measured) != 1 || len(got.measured[0].Iterations) != 2 || len(got.failed) > 0 {
		t.Fatalf("measured %+v, failed %v", got.measured, got.failed)
	}
	if got.measured[0].Iterations[0].Metrics["wall-time"] <= 0 {
		t.Errorf("no time was measured: %+v", got.measured[0].Iterations[0])
	}
	if strings.Contains(strings.Join(got.log, "\n"), "limit") {
		t.Errorf("a job that reserves nothing has limits: %q", got.log)
	}
	again := &notes{}
	if err := m.Run(t.Context(), jobOf(d, "v9"), d, func(events.TestCase) bool { return true }, again); err != nil {
		t.Errorf("nothing is missing, so not even the artifact is needed: %v", err)
	}
	if len(again.measured) > 0 || !strings.Contains(strings.Join(again.log, "\n"), "nothing to measure") {
		t.Errorf("%+v", again)
	}
}

func TestWhatAMachineCannotDoIsSaidOnceAndForAll(t *testing.T) {
	d, dir := sleepy(t, "file", "")
	elsewhere, _ := sleepy(t, "file", "")
	elsewhere.Benchmarks[0].SourceDigest = "0000"
	checkout, _ := sleepy(t, "checkout", strings.Repeat("1", 40))
	for name, tc := range map[string]struct {
		d       suite.Definitions
		tag     events.Tag
		sources map[string]string
		kind    events.ErrorKind
		want    string
	}{
		"no such artifact":           {d, "v9", map[string]string{"sleepy": dir}, events.ErrorArtifact, "v9"},
		"programs nobody knows":      {d, "v1", nil, events.ErrorPrepare, "[sources]"},
		"no checkout":                {checkout, "v1", map[string]string{"checkout": dir}, events.ErrorPrepare, "revision"},
		"definitions with a bad job": {func() suite.Definitions { x := d; x.Profiles = nil; return x }(), "v1", map[string]string{"sleepy": dir}, events.ErrorDefinitions, "p"},
	} {
		t.Run(name, func(t *testing.T) {
			err := machine(t, tc.sources).Run(t.Context(), jobOf(tc.d, tc.tag), tc.d, none, &notes{})
			permanent, ok := errors.AsType[*PermanentError](err)
			if !ok || permanent.Kind != tc.kind || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %#v %v, want a permanent %s error with %q", err, err, tc.kind, tc.want)
			}
		})
	}
	got := &notes{}
	if err := machine(t, map[string]string{"sleepy": dir}).Run(t.Context(), jobOf(elsewhere, "v1"), elsewhere, none, got); err != nil {
		t.Log(err)
	}
	if len(got.measured) > 0 {
		t.Error("a program that is not the one of the definitions was measured")
	}
}

// A program that wants more memory than its job reserves is killed, where this machine lets us limit it. Elsewhere the
// log of the job says why it is not.
func TestAJobGetsNoMoreThanItReserves(t *testing.T) {
	d, dir := sleepy(t, "file", "")
	d.Benchmarks[0].SourceDigest, d.Defaults.Timeout = "", "5m" // memory is slow on a loaded machine
	script := "echo hello; head -c 200000000 /dev/zero | tail | wc -c\n"
	if err := os.WriteFile(filepath.Join(dir, "echo", "echo.sh"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	enforced := measure.EnableLimits(0)
	spec, got := jobOf(d, "v1"), &notes{}
	spec.Matched, spec.Requires = true, []string{"cpus=1", "memory=64m"}
	if err := machine(t, map[string]string{"sleepy": dir}).Run(t.Context(), spec, d, none, got); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(append(got.log, got.failed...), "\n")
	if enforced != nil {
		t.Logf("this machine does not enforce limits: %v", enforced)
		if len(got.measured) != 1 || !strings.Contains(said, "memory-limit: refused: ") || !strings.Contains(said, "cpu-limit: refused: ") {
			t.Errorf("measured %d cases, and said %s", len(got.measured), said)
		}
		return
	}
	if len(got.measured) > 0 || len(got.failed) != 1 || !strings.HasPrefix(got.failed[0], "memory echo: ") || !strings.Contains(said, "64 MiB that its job reserves") {
		t.Errorf("measured %d cases, and said %s", len(got.measured), said)
	}
}

func TestAJobWithUnknownTermsIsRefused(t *testing.T) {
	d, dir := sleepy(t, "file", "")
	spec := jobOf(d, "v1")
	spec.Matched, spec.Requires = true, []string{"planet=mars"}
	err := machine(t, map[string]string{"sleepy": dir}).Run(t.Context(), spec, d, none, &notes{})
	permanent, ok := errors.AsType[*PermanentError](err)
	if !ok || permanent.Kind != events.ErrorDefinitions || !strings.Contains(err.Error(), "planet") {
		t.Errorf("got %v", err)
	}
}

// A pair is measured from two artifacts, in turns.
func TestAMachineMeasuresAPair(t *testing.T) {
	d, dir := sleepy(t, "file", "")
	if err := os.Mkdir(filepath.Join(dir, "v0"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := sinkOn(memory.New(memory.Config{}))
	s.a.c.Bench, s.a.spec, s.a.sink = machine(t, map[string]string{"sleepy": dir}), jobOf(d, "v1"), s
	s.of = s.a.spec.Artifact
	s.a.spec.Matched, s.a.spec.Against = true, &events.Artifact{Suite: d.Name, Tag: "v0", Kind: events.Master}
	if err := errors.Join(s.a.pair(t.Context(), d), s.flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	history, err := s.a.c.Log.Read(t.Context(), events.ResultSubject(s.a.c.Lane, s.a.spec.ID))
	if err != nil {
		t.Fatal(err)
	}
	if len(history) != 1 || s.measured != 1 {
		t.Fatalf("%d events, %d counted", len(history), s.measured)
	}
	var of []string
	for _, side := range history[0].Fact.(events.TestCasesMeasured).Sides() {
		for _, c := range side.Cases {
			of = append(of, fmt.Sprintf("%s of %s, %d times", c.Benchmark, side.Artifact.Tag, len(c.Iterations)))
		}
	}
	if !slices.Equal(of, []string{"echo of v1, 2 times", "echo of v0, 2 times"}) {
		t.Errorf("results of %q", of)
	}
}
