package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// pairTurn is one benchmark of one side of a pair.
type pairTurn struct {
	// spec is the job, cut down to the benchmark and to the artifact of the side.
	spec events.JobSpec
	// cases are the test cases that the turn measures.
	cases []events.TestCase
}

// pair measures an artifact and that of its parent on this machine. For each benchmark it measures the parent's side
// first and then its own, so that both have the machine in the same state. It skips what already has results by this
// machine, on each side by itself.
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
		a.sink.total += len(t.cases)
	}
	alone := false
	for _, t := range turns {
		if own := t.spec.Artifact == a.spec.Artifact; (own || !alone) && a.missing(t) {
			// What fails here was measured of the other side.
			if err := a.sink.turnTo(ctx, t.spec.Artifact); err != nil {
				return err
			}
			err := a.c.Bench.Run(ctx, t.spec, d, a.doneOf(t.spec.Artifact), a.sink)
			if err != nil && !own {
				err, alone = a.excuse(ctx, err), true
			}
			if err != nil {
				return err
			}
		}
		a.sink.before += len(t.cases)
	}
	return nil
}

// turns returns the turns of both sides in their order.
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
	var turns []pairTurn
	for _, p := range plans {
		name := p.Benchmark.Name
		if cases, both := of[name]; both {
			turns = append(turns, oneTurn(parent, name, cases))
		}
		turns = append(turns, oneTurn(own, name, p.Cases))
	}
	return turns, nil
}

func oneTurn(side events.JobSpec, name events.Benchmark, cases []events.TestCase) pairTurn {
	side.Benchmarks = []string{string(name)}
	return pairTurn{side, cases}
}

// missing reports whether a turn has test cases without results.
func (a *attempt) missing(t pairTurn) bool {
	done := a.doneOf(t.spec.Artifact)
	return slices.ContainsFunc(t.cases, func(c events.TestCase) bool { return !done(c) })
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
