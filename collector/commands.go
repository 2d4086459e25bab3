package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/turns"
	"github.com/tachobench/tacho/rules/suite"
)

// runCommands executes a job whose kind runs commands. Each attempt begins with the first command.
func (m *Machine) runCommands(ctx context.Context, spec events.JobSpec, d suite.Definitions, done func(events.TestCase) bool, sink Sink) error {
	plan, err := d.Steps(spec)
	if err != nil {
		return &PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	if plan.Success.Metrics != "" && done(plan.Case) {
		sink.Log("the commands run again; what they measured before stays")
		plan.Success.Metrics = ""
	}
	var programs definitions.Programs
	if plan.Source != "" {
		if programs, err = m.programs(ctx, d); err != nil {
			return err
		}
	}
	in, err := m.fetchFor(ctx, spec, d, plan, sink)
	if err != nil {
		return err
	}
	defer in.leave()
	taken, err := m.recognisedBy(ctx, in, spec, d, sink)
	if taken || err != nil {
		return err
	}
	job := runner.Steps{
		Plan: plan, Toolchain: in.toolchain, Slot: m.Slot, Cache: m.Cache, Limits: in.limits, Caches: in.caches.dir,
		Source: func(dir string) error { return materialise(programs, plan.Source, plan.SourceDigest, dir) },
		Trees:  spec.Checkouts, CheckOut: m.checkOut(spec, d, sink), Inputs: d.InputsOf(spec), Fetch: m.input(spec, d, sink),
		Turn:   m.take(turns.Build, spec.ID, sink),
		Tokens: tokensOf(spec, plan), Storage: m.storage(spec, sink),
	}
	if plan.Builds {
		own := events.Checkout{Repository: d.Artifact.Repository, Revision: string(spec.Artifact.Tag), Path: "."}
		job.Trees = slices.Insert(slices.Clone(job.Trees), 0, own)
	}
	err = m.Runner.RunSteps(ctx, job, runnerSink{sink})
	err = errors.Join(err, m.Rest(ctx))
	var failed *runner.StepsError
	if errors.As(err, &failed) {
		return &PermanentError{Kind: failed.Kind, Err: failed}
	}
	return err
}

// fetchFor gets what commands run with. A job that builds, and one that uses nothing of what the farm built, has no artifact.
func (m *Machine) fetchFor(ctx context.Context, spec events.JobSpec, d suite.Definitions, plan suite.StepsPlan, sink Sink) (fetched, error) {
	if _, built := d.ArtifactOf(spec); !plan.Builds && (d.Artifact.Kind != suite.ArtifactBuilt || built) {
		return m.fetch(ctx, spec, d, fmt.Sprintf("running the commands of kind %s with", spec.Kind), sink)
	}
	limits, err := limitsOf(spec)
	if err != nil {
		return fetched{}, &PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	return fetched{caches: newCaches(m.Artifacts, d, spec, sink), limits: limits, release: func() {}}, nil
}

// tokensOf returns how many programs the commands of a job may run at once; 0 for commands that do not say so.
func tokensOf(spec events.JobSpec, plan suite.StepsPlan) int {
	switch t := spec.Tokens; {
	case t != nil && t.Got > 0:
		return t.Got
	case t != nil && t.Min > 0:
		return t.Min
	case plan.Builds:
		return 1
	}
	return 0
}
