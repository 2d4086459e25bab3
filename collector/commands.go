package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
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
	in, err := m.fetch(ctx, spec, d, fmt.Sprintf("running the commands of kind %s with", spec.Kind), sink)
	if err != nil {
		return err
	}
	defer in.leave()
	taken, err := m.recognisedBy(ctx, in, spec, d, sink)
	if taken || err != nil {
		return err
	}
	err = m.Runner.RunSteps(ctx, runner.Steps{
		Plan: plan, Toolchain: in.toolchain, Slot: m.Slot, Cache: m.Cache, Limits: in.limits, Caches: in.caches.dir,
		Source: func(dir string) error { return materialise(programs, plan.Source, plan.SourceDigest, dir) },
	}, runnerSink{sink})
	var failed *runner.StepsError
	if errors.As(err, &failed) {
		return &PermanentError{Kind: failed.Kind, Err: failed}
	}
	return err
}
