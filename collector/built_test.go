package collector

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// built returns a suite whose artifact is what its kind "build" yields, and the repository with two commits, v1 and v2.
func built(t *testing.T) (suite.Definitions, string) {
	t.Helper()
	d, repository := sleepy(t, suite.SourcesFile, "")
	for i, text := range []string{"echo one", "echo two"} {
		script := "mkdir -p dist/bin; printf '#!/bin/sh\\n" + text + "\\n' > dist/bin/program; chmod +x dist/bin/program; touch dist/log\n"
		if err := os.WriteFile(filepath.Join(repository, "build.sh"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, argv := range [][]string{{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "-m", "x"}, {"tag", fmt.Sprintf("v%d", i+1)}} {
			git := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, argv...)...)
			git.Dir = repository
			if out, err := git.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	d.Artifact = suite.Artifact{Kind: suite.ArtifactBuilt, Driver: suite.DriverCommand, Repository: repository, Probe: []string{"bin/program"}}
	d.Benchmarks[0].Command = []string{"{artifact}/bin/program"}
	d.Kinds[0].Needs = []suite.KindNeed{{Kind: "build", Output: "program"}}
	d.Kinds = append(d.Kinds, suite.Kind{
		Name: "build", Profile: "p", Does: suite.DoesBuild, Steps: [][]string{{"sh", "build.sh"}}, Outputs: []suite.OutputPaths{{Name: "program", Paths: []string{"dist/**"}}},
	}, suite.Kind{
		Name: "check", Profile: "p", Does: suite.DoesCommand, Steps: [][]string{{"sh", "-c", "{artifact}/bin/program > got; {input:program}/dist/bin/program | cmp got"}},
		Needs: []suite.KindNeed{{Kind: "build", Output: "program"}}, Uploads: []suite.OutputPaths{{Name: "got", Paths: []string{"got"}}},
	})
	return d, repository
}

// kindOf returns a job of a kind.
func kindOf(d suite.Definitions, kind events.JobKind, tag events.Tag, inputs ...events.Input) events.JobSpec {
	spec := jobOf(d, tag)
	spec.Kind, spec.Inputs = kind, inputs
	return spec
}

func never(events.TestCase) bool { return false }

var builders = events.Lane{Target: "builders", Set: 0}

// build builds a tag, and returns what others use.
func build(t *testing.T, m *Machine, d suite.Definitions, tag events.Tag) events.Input {
	t.Helper()
	var sink notes
	err := m.Run(t.Context(), kindOf(d, "build", tag), d, never, &sink)
	if err != nil || len(sink.stored) != 1 || sink.stored[0].Name != "program" || sink.stored[0].Upload {
		t.Fatalf("%v, %+v, %q", err, sink.stored, sink.log)
	}
	return events.Input{Output: sink.stored[0].Output, JobID: "j-" + events.JobID(tag), Kind: "build", Lane: m.Lane}
}

func TestWhatOneBuildsAnotherMeasures(t *testing.T) {
	d, dir := built(t)
	store := &blob.Memory{}
	builder, measurer := machine(t, nil), machine(t, nil)
	builder.Blobs, measurer.Blobs, builder.Lane = store, store, builders
	one, two := build(t, builder, d, "v1"), build(t, builder, d, "v2")
	if one.Digest == two.Digest || build(t, builder, d, "v1").Digest != one.Digest {
		t.Errorf("digests %s and %s", one.Digest, two.Digest)
	}
	measurer.Sources = map[string]string{"sleepy": dir}
	for _, in := range []events.Input{one, two, one} {
		var sink notes
		err := measurer.Run(t.Context(), kindOf(d, "compile", "v1", in), d, never, &sink)
		if err != nil || len(sink.measured) != 1 || len(sink.failed) > 0 {
			t.Fatalf("%v, %v, %q", err, sink.failed, sink.log)
		}
	}
	// Equal outputs are one directory, fetched once.
	store.Drop(builders, one.Digest)
	var sink notes
	if err := measurer.Run(t.Context(), kindOf(d, "compile", "v3", one), d, never, &sink); err != nil {
		t.Errorf("what is here already: %v", err)
	}
	if err := measurer.Run(t.Context(), kindOf(d, "check", "v2", two), d, never, &sink); err != nil || len(sink.stored) != 1 || !sink.stored[0].Upload {
		t.Errorf("commands: %v, %+v", err, sink.stored)
	}
}

func TestAnInputThatIsGoneEndsTheJob(t *testing.T) {
	d, _ := built(t)
	m := machine(t, map[string]string{"sleepy": t.TempDir()})
	m.Blobs, m.Lane = &blob.Memory{}, builders
	gone := events.Input{Output: blob.OutputOf("program", []byte("x")), JobID: "j7", Kind: "build", Lane: builders}
	for _, kind := range []events.JobKind{"compile", "check"} {
		var permanent *PermanentError
		err := m.Run(t.Context(), kindOf(d, kind, "v1", gone), d, never, &notes{})
		if !errors.As(err, &permanent) || permanent.Kind != events.ErrorOutput || !errors.Is(err, blob.ErrMissing) || !strings.Contains(permanent.Error(), "output program of job j7, which job j1 uses") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	// Without an output there is no artifact, and without a store there are no outputs.
	var permanent *PermanentError
	err := m.Run(t.Context(), kindOf(d, "compile", "v1"), d, never, &notes{})
	if !errors.As(err, &permanent) || permanent.Kind != events.ErrorArtifact {
		t.Error(err)
	}
	m.Blobs = nil
	err = m.Run(t.Context(), kindOf(d, "build", "v1"), d, never, &notes{})
	if !errors.As(err, &permanent) || permanent.Kind != events.ErrorOutput || !strings.Contains(err.Error(), "has no store of outputs") {
		t.Error(err)
	}
}

func TestABuildHasItsCheckouts(t *testing.T) {
	d, repository := built(t)
	m := machine(t, nil)
	m.Blobs, m.Lane = &blob.Memory{}, builders
	d.Kinds[1].Steps = [][]string{{"cmp", "build.sh", "third/build.sh"}, {"sh", "build.sh"}}
	spec := kindOf(d, "build", "v1")
	spec.Checkouts = []events.Checkout{{Repository: repository, Revision: "v1", Path: "third"}}
	if err := m.Run(t.Context(), spec, d, never, &notes{}); err != nil {
		t.Error(err)
	}
	var permanent *PermanentError
	spec.Checkouts[0].Revision = strings.Repeat("1", 40)
	if err := m.Run(t.Context(), spec, d, never, &notes{}); !errors.As(err, &permanent) || permanent.Kind != events.ErrorArtifact {
		t.Error(err)
	}
	spec = kindOf(d, "build", "never")
	if err := m.Run(t.Context(), spec, d, never, &notes{}); !errors.As(err, &permanent) || permanent.Kind != events.ErrorArtifact {
		t.Error(err)
	}
}

func TestMeasuredJobsKeepUploads(t *testing.T) {
	d, dir := sleepy(t, suite.SourcesFile, "")
	m := machine(t, map[string]string{"sleepy": dir})
	m.Blobs = &blob.Memory{}
	d.Benchmarks[0].Command = []string{"/bin/sh", "-c", "echo x >> profile"}
	d.Kinds[0].Uploads = []suite.OutputPaths{{Name: "profile", Paths: []string{"profile"}}, {Name: "none", Paths: []string{"none"}}}
	var sink notes
	if err := m.Run(t.Context(), jobOf(d, "v1"), d, never, &sink); err != nil || len(sink.measured) != 1 {
		t.Fatal(err, sink.failed)
	}
	if len(sink.stored) != 1 || !sink.stored[0].Upload || sink.stored[0].Name != "profile.echo" {
		t.Fatalf("%+v", sink.stored)
	}
	content, err := blob.Bytes(t.Context(), m.Blobs, m.Lane, sink.stored[0].Output)
	if err != nil || !strings.Contains(string(content), "x\nx\n") {
		t.Errorf("%q, %v", content, err)
	}
}

func TestTheSidesOfAPairHaveTheirInputs(t *testing.T) {
	in := func(job events.JobID, name string) events.Input {
		return events.Input{Output: events.Output{Name: name}, JobID: job, Kind: "build"}
	}
	own, parent := sides([]events.Input{in("j1", "program"), in("j1", "data"), in("j2", "program"), in("j2", "data")})
	if diff := cmp.Diff([]events.Input{in("j1", "program"), in("j1", "data")}, own); diff != "" {
		t.Errorf("own (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]events.Input{in("j2", "program"), in("j2", "data")}, parent); diff != "" {
		t.Errorf("parent (-want +got):\n%s", diff)
	}
	d, _ := built(t)
	a := &attempt{spec: kindOf(d, "compile", "v2", in("j1", "program"), in("j2", "program"))}
	a.spec.Against = &events.Artifact{Suite: d.Name, Tag: "v1", Kind: events.Master}
	turns, err := a.turns(d)
	if err != nil || len(turns) != 1 || turns[0].parent.spec.Inputs[0].JobID != "j2" || turns[0].own.spec.Inputs[0].JobID != "j1" {
		t.Errorf("%v, %+v", err, turns)
	}
}

// A pair is measured from what two jobs built, each side from its own.
func TestAPairOfBuiltArtifactsIsMeasured(t *testing.T) {
	d, dir := built(t)
	m := machine(t, map[string]string{"sleepy": dir})
	m.Blobs, m.Lane = &blob.Memory{}, builders
	s := sinkOn(memory.New(memory.Config{}))
	for _, tag := range []events.Tag{"v1", "v2"} {
		s.a.spec.Inputs = append([]events.Input{build(t, m, d, tag)}, s.a.spec.Inputs...)
	}
	s.a.c.Bench, s.a.sink, s.a.spec = m, s, kindOf(d, "compile", "v2", s.a.spec.Inputs...)
	s.of = s.a.spec.Artifact
	s.a.spec.Matched, s.a.spec.Against = true, &events.Artifact{Suite: d.Name, Tag: "v1", Kind: events.Master}
	d.Benchmarks[0].Command = []string{"sh", "-c", "{artifact}/bin/program >> " + dir + "/ran"}
	if err := errors.Join(s.a.pair(t.Context(), d), s.flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	ran, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil || string(ran) != "one\ntwo\ntwo\none\n" || s.measured != 1 {
		t.Errorf("%q, %v, measured %d", ran, err, s.measured)
	}
}

func TestAnOutputIsRecorded(t *testing.T) {
	d, _ := built(t)
	m := machine(t, nil)
	m.Blobs, m.Lane = &blob.Memory{}, builders
	s := sinkOn(memory.New(memory.Config{}))
	s.a.spec = kindOf(d, "build", "v1")
	if err := m.Run(t.Context(), s.a.spec, d, never, s); err != nil {
		t.Fatal(err)
	}
	history, err := s.a.c.Log.Read(t.Context(), events.ResultSubject(s.a.c.Lane, s.a.spec.ID))
	if err != nil || len(history) != 1 {
		t.Fatal(history, err)
	}
	if f := history[0].Fact.(events.OutputStored); f.Name != "program" || f.Upload || f.Bytes == 0 || s.phases.Run == 0 && s.phases.Prepare == 0 {
		t.Errorf("%+v, %+v", f, s.phases)
	}
}

func TestTokensBoundTheCommands(t *testing.T) {
	for _, test := range []struct {
		tokens *events.Tokens
		cpus   int
		builds bool
		want   int
	}{{nil, 0, false, 0}, {nil, 0, true, 1}, {&events.Tokens{Min: 2, Max: 4}, 2, true, 2}, {&events.Tokens{Min: 2, Max: 4, Got: 3}, 3, false, 3}} {
		spec := events.JobSpec{Tokens: test.tokens}
		if test.cpus > 0 {
			spec.Requires = []string{"cpus=2"}
		}
		limits, err := limitsOf(spec)
		if got := tokensOf(spec, suite.StepsPlan{Builds: test.builds}); got != test.want || err != nil || limits.CPUs != test.cpus {
			t.Errorf("%+v: %d tokens, %+v, %v", test.tokens, got, limits, err)
		}
	}
}

func TestACommandAsksForAnotherTrySoOften(t *testing.T) {
	again := &runner.RetryError{Reason: "step 1 ended with 75"}
	d := suite.Definitions{Kinds: []suite.Kind{{Name: "build", Retries: 2}, {Name: "check"}}}
	for _, test := range []struct {
		kind         events.JobKind
		number, lost int
		over         bool
	}{{"build", 1, 0, false}, {"build", 2, 0, false}, {"build", 3, 1, false}, {"build", 3, 0, true}, {"check", 30, 0, false}} {
		a := &attempt{spec: events.JobSpec{Kind: test.kind}, number: test.number, lost: test.lost}
		var permanent *PermanentError
		err := a.enough(d, fmt.Errorf("wrapped: %w", again))
		if errors.As(err, &permanent) != test.over || test.over && (permanent.Kind != events.ErrorCommand || !strings.Contains(err.Error(), "this was try 3")) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	a := &attempt{spec: events.JobSpec{Kind: "build"}, number: 9}
	if away := errors.New("the network is away"); !slices.Contains([]error{away}, a.enough(d, away)) {
		t.Error("other errors are not counted")
	}
}
