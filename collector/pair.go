package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// pairTurn is one benchmark of a pair: its test cases on both sides. The parent has none of a benchmark that it lacks.
type pairTurn struct {
	parent, own side
}

// side is one side of a benchmark.
type side struct {
	// spec is the job, cut down to the benchmark and to the artifact of the side.
	spec  events.JobSpec
	cases []events.TestCase
}

// pair measures an artifact and that of its parent on this machine, benchmark after benchmark, each in turns. It skips what
// already has results by this machine. What only one side lacks is measured alone.
//
// The parent's side never fails the job. Its errors are recorded for the parent's artifact, and the own side is
// measured all the same. If the parent's artifact can perhaps be had later, the attempt ends with a transient error,
// as for the own artifact, and both sides continue in the next attempt. Once transient errors have lasted for the
// collector's TransientDeadline, the own side is measured alone.
func (a *attempt) pair(ctx context.Context, d suite.Definitions) error {
	turns, err := a.turns(d)
	if err != nil {
		return &PermanentError{Kind: events.ErrorDefinitions, Err: err}
	}
	for _, t := range turns {
		a.sink.total += len(t.parent.cases) + len(t.own.cases)
	}
	alone := false
	for _, t := range turns {
		if !alone {
			err := a.both(ctx, d, t)
			if err != nil && !a.sink.owns() {
				err, alone = a.excuse(ctx, err), true
			}
			if err != nil {
				return err
			}
		}
		if alone {
			if err := a.one(ctx, d, t.own); err != nil {
				return err
			}
		}
		a.sink.before += len(t.parent.cases) + len(t.own.cases)
	}
	return a.sink.turnTo(ctx, a.spec.Artifact)
}

// both measures a benchmark: in turns if both sides lack results.
func (a *attempt) both(ctx context.Context, d suite.Definitions, t pairTurn) error {
	if !a.missing(t.parent) || !a.missing(t.own) {
		if err := a.one(ctx, d, t.parent); err != nil {
			return err
		}
		return a.one(ctx, d, t.own)
	}
	half := func(s side) Half { return Half{s.spec, a.doneOf(s.spec.Artifact)} }
	return a.c.Bench.RunPair(ctx, half(t.parent), half(t.own), d, a.sink)
}

// one measures what one side of a benchmark lacks.
func (a *attempt) one(ctx context.Context, d suite.Definitions, s side) error {
	if !a.missing(s) {
		return nil
	}
	// What fails here was measured of the other side.
	if err := a.sink.turnTo(ctx, s.spec.Artifact); err != nil {
		return err
	}
	return a.c.Bench.Run(ctx, s.spec, d, a.doneOf(s.spec.Artifact), a.sink)
}

// turns returns the benchmarks of a pair in their order.
func (a *attempt) turns(d suite.Definitions) ([]pairTurn, error) {
	own, parent := a.spec, a.spec
	parent.Artifact = *a.spec.Against
	own.Inputs, parent.Inputs = sides(a.spec.Inputs)
	before, err := d.Plan(parent)
	if err != nil {
		return nil, err
	}
	plans, err := d.Plan(a.spec)
	if err != nil {
		return nil, err
	}
	of := map[events.Benchmark][]events.TestCase{}
	for _, p := range before {
		of[p.Benchmark.Name] = p.Cases
	}
	turns := make([]pairTurn, len(plans))
	for i, p := range plans {
		name := p.Benchmark.Name
		turns[i] = pairTurn{oneSide(parent, name, of[name]), oneSide(own, name, p.Cases)}
	}
	return turns, nil
}

func oneSide(spec events.JobSpec, name events.Benchmark, cases []events.TestCase) side {
	spec.Benchmarks = []string{string(name)}
	return side{spec, cases}
}

// missing reports whether a side has test cases without results.
func (a *attempt) missing(s side) bool {
	done := a.doneOf(s.spec.Artifact)
	return slices.ContainsFunc(s.cases, func(c events.TestCase) bool { return !done(c) })
}

// excuse records an error of the parent's side. It returns nil if the own side is to be measured alone now, and else
// the error that ends the attempt.
func (a *attempt) excuse(ctx context.Context, err error) error {
	kind := events.ErrorTransient
	var permanent *PermanentError
	var unready *unreadyError
	switch {
	case ctx.Err() != nil, errors.Is(err, errLost), errors.As(err, &unready):
		return err
	case errors.As(err, &permanent):
		kind = permanent.Kind
	case a.since.IsZero() || a.c.Clock().Sub(a.since) < a.c.TransientDeadline:
		return err
	}
	message := fmt.Sprintf("the parent %s is not measured beside %s: %v", a.sink.of.Tag, a.spec.Artifact.Tag, err)
	a.sink.Log(message)
	return a.sink.fail(ctx, kind, "job", nil, message)
}
