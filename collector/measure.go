package collector

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/git"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/turns"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/suite"
)

// Machine is the Bench of a real machine: it fetches artifacts and measures programs.
type Machine struct {
	Artifacts *artifact.Store
	Runner    *runner.Runner
	// Slot is the working directory; its path has the same length on every machine. Cache outlives jobs.
	Slot, Cache string
	// Lane is that of the collector: what its jobs yield is kept under it, by Blobs. Without it, jobs that yield something or use what others yielded fail.
	Lane  events.Lane
	Blobs blob.Store
	// Sources maps the names of roots in definitions to directories; a suite from a file has its own name.
	Sources map[string]string
	// Turns is the machine as its collectors share it; nil if no other one does. MeasureShared says that what measures here
	// bears others that measure.
	Turns         *turns.Machine
	MeasureShared bool
	// Before and After are commands that run before and after what is measured; empty for none.
	Before, After []string

	// hold is what the attempt in hand has of the machine.
	hold hold
}

// Run implements Bench.
func (m *Machine) Run(ctx context.Context, spec events.JobSpec, d suite.Definitions, done func(events.TestCase) bool, sink Sink) error {
	taken, err := m.recognised(ctx, spec, d, sink)
	if taken || err != nil {
		return err
	}
	if kind, _ := d.Kind(spec.Kind); kind.RunsCommands() {
		return m.runCommands(ctx, spec, d, done, sink)
	}
	plans, err := d.Plan(spec)
	if err != nil {
		return &PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	missing := 0
	for _, p := range plans {
		for _, c := range p.Cases {
			if !done(c) {
				missing++
			}
		}
	}
	if missing == 0 {
		sink.Log(fmt.Sprintf("nothing to measure: all test cases of %s have results", phrase.Count(len(plans), "planned benchmark")))
		return nil
	}
	programs, err := m.programs(ctx, d)
	if err != nil {
		return err
	}
	in, err := m.fetch(ctx, spec, d, "measuring", sink)
	if err != nil {
		return err
	}
	defer in.leave()
	taken, err = m.recognisedBy(ctx, in, spec, d, sink)
	if taken || err != nil {
		return err
	}
	job, err := m.jobOf(Half{spec, done}, d, plans, programs, in, sink)
	if err != nil {
		return err
	}
	_, err = m.Runner.Run(ctx, job, runnerSink{sink})
	return err
}

// jobOf returns what the runner is to measure, with an artifact that was fetched.
func (m *Machine) jobOf(half Half, d suite.Definitions, plans []suite.BenchmarkPlan, programs definitions.Programs, in fetched, sink Sink) (runner.Job, error) {
	spec := half.Spec
	uploads, err := d.UploadsOf(spec.Kind)
	if err != nil {
		return runner.Job{}, &PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	return runner.Job{
		Plans: plans, Toolchain: in.toolchain, Turn: m.take(m.kindOf(spec), spec.ID, sink), Slot: m.Slot, Cache: m.Cache, Done: half.Done, Limits: in.limits, Caches: in.caches.dir,
		Uploads: uploads, Storage: m.storage(spec, sink),
		Source: func(_ context.Context, b suite.BenchmarkDef, dir string) error {
			return materialise(programs, b.Source, b.SourceDigest, dir)
		},
	}, nil
}

// fetched is what a job runs with.
type fetched struct {
	toolchain runner.Toolchain
	caches    *caches
	limits    measure.Limits
	release   func()
}

// leave gives the artifact and the caches back.
func (f fetched) leave() {
	f.release()
	f.caches.close()
}

// fetch gets the artifact of a job, and says what the job does with it. What it returns stays until leave is called.
func (m *Machine) fetch(ctx context.Context, spec events.JobSpec, d suite.Definitions, does string, sink Sink) (in fetched, err error) {
	if err := m.beforeFetch(ctx, spec.Artifact.Tag); err != nil {
		return in, err
	}
	began := time.Now()
	defer func() { sink.Took(func(p *events.Phases) *int64 { return &p.Fetch }, time.Since(began)) }()
	if in.limits, err = limitsOf(spec); err != nil {
		return in, &PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	in.caches = newCaches(m.Artifacts, d, spec, sink)
	ref := artifact.Ref{
		Suite: d.Name, Source: d.Artifact, Tag: spec.Artifact.Tag, Target: spec.Target, Components: d.Components(spec.Backend, spec.Profile),
		Caches: in.caches.dir,
	}
	if d.Artifact.Kind == suite.ArtifactBuilt {
		if input, built := d.ArtifactOf(spec); built {
			ref.Built = m.built(spec, input)
		}
	}
	sink.Log("fetching " + ref.String())
	dir, version, release, err := m.Artifacts.Acquire(ctx, ref)
	if err != nil {
		in.caches.close()
		return in, permanently(err)
	}
	in.toolchain, in.release = runner.Toolchain{Dir: dir, Tag: spec.Artifact.Tag}, release
	sink.Log(fmt.Sprintf("%s %s in %s: %s", does, ref, dir, version))
	return in, nil
}

// limitsOf returns what a matched job has reserved: its processes get no more.
func limitsOf(spec events.JobSpec) (measure.Limits, error) {
	need, err := match.Parse(spec.Requires)
	if err != nil {
		return measure.Limits{}, fmt.Errorf("read what job %s requires: %w; if the core is newer than this collector, update the collector", spec.ID, err)
	}
	limits := measure.Limits{Memory: need.MemoryMiB() << 20, CPUs: need.CPUs()}
	if t := spec.Tokens; t != nil && limits.CPUs > 0 {
		limits.CPUs = max(limits.CPUs, t.Got)
	}
	return limits, nil
}

// programs returns the programs that a suite measures, from their place on this machine.
func (m *Machine) programs(ctx context.Context, d suite.Definitions) (definitions.Programs, error) {
	root := d.Sources.Root
	switch root {
	case suite.SourcesShipped:
		return definitions.ShippedPrograms(d.Name), nil
	case suite.SourcesFile:
		root = string(d.Name)
	}
	dir, ok := m.Sources[root]
	if !ok {
		return definitions.Programs{}, &PermanentError{Kind: events.ErrorPrepare, Err: fmt.Errorf(
			"the programs of suite %s are in %q, which this collector does not know: set it under [sources] in its configuration", d.Name, root)}
	}
	if d.Sources.Revision != "" {
		out, err := git.Command{Dir: dir, Args: []string{"rev-parse", "HEAD"}}.Run(ctx)
		if ctx.Err() != nil {
			return definitions.Programs{}, context.Cause(ctx) // the run was stopped; git did not fail
		}
		if err != nil {
			return definitions.Programs{}, &PermanentError{Kind: events.ErrorPrepare, Err: fmt.Errorf("read the revision of %s: %w", dir, err)}
		}
		if at := strings.TrimSpace(out); at != d.Sources.Revision {
			return definitions.Programs{}, &PermanentError{Kind: events.ErrorPrepare, Err: fmt.Errorf(
				"%s is at revision %s and the definitions want %s: check that one out", dir, at, d.Sources.Revision)}
		}
	}
	return definitions.ProgramsBeside(filepath.Join(dir, "suite.toml")), nil
}

// materialise writes a program, after checking that it is the one that the definitions mean.
func materialise(programs definitions.Programs, source string, meant events.Digest, dir string) error {
	if meant != "" {
		digest, err := programs.Digest(source)
		if err != nil {
			return err
		}
		if digest != meant {
			return fmt.Errorf("the program %s is %s here and %s in the definitions: this collector has another version of it", source, digest, meant)
		}
	}
	return programs.Materialise(source, dir)
}

// runnerSink makes a Sink a runner.Sink.
type runnerSink struct{ Sink }

// Failed implements runner.Sink.
func (s runnerSink) Failed(ctx context.Context, f runner.Failure) error {
	return s.Sink.Failed(ctx, f.Kind, f.Context, f.Case, f.Message)
}
