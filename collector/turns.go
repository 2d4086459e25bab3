package collector

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Half is one side of a pair: a job for one artifact, and which of its test cases have results.
type Half struct {
	Spec events.JobSpec
	Done func(events.TestCase) bool
}

// PairSink takes what a Bench reports of a pair.
type PairSink interface {
	Sink
	// Side says whose reports follow, errors too: those of the job's own artifact, or those of its parent.
	Side(ctx context.Context, own bool) error
	// Block takes the same test cases of both sides, measured in turns: iteration i of both is pair i. They are recorded when it
	// returns, each whole or not at all.
	Block(ctx context.Context, parent, own []events.MeasuredCase) error
}

// RunPair implements Bench.
func (m *Machine) RunPair(ctx context.Context, parent, own Half, d suite.Definitions, sink PairSink) error {
	var jobs [2]runner.Job
	for i, half := range [2]Half{parent, own} {
		if err := sink.Side(ctx, i == 1); err != nil {
			return err
		}
		plans, err := d.Plan(half.Spec)
		if err != nil {
			return &PermanentError{Kind: events.ErrorDefinitions, Err: err}
		}
		programs, err := m.programs(ctx, d)
		if err != nil {
			return err
		}
		in, err := m.fetch(ctx, half.Spec, d, "measuring in turns", sink)
		if err != nil {
			return err
		}
		defer in.leave()
		if jobs[i], err = m.jobOf(half, d, plans, programs, in, sink); err != nil {
			return err
		}
	}
	_, _, err := m.Runner.RunPair(ctx, jobs[0], jobs[1], runner.Turns{}, runnerPairSink{runnerSink{sink}, sink})
	return err
}

// runnerPairSink makes a PairSink a runner.PairSink.
type runnerPairSink struct {
	runnerSink
	pair PairSink
}

// Side implements runner.PairSink.
func (s runnerPairSink) Side(ctx context.Context, b bool) error { return s.pair.Side(ctx, b) }

// Block implements runner.PairSink.
func (s runnerPairSink) Block(ctx context.Context, a, b []events.MeasuredCase) error {
	return s.pair.Block(ctx, a, b)
}

// Side implements PairSink.
func (s *sink) Side(ctx context.Context, own bool) error {
	if own {
		return s.turnTo(ctx, s.a.spec.Artifact)
	}
	return s.turnTo(ctx, *s.a.spec.Against)
}

// Block implements PairSink. Usually it is one event. Test cases that are too large for one go into several.
func (s *sink) Block(ctx context.Context, parent, own []events.MeasuredCase) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	for len(own) > 0 {
		n, bytes := 0, 0
		for ; n < min(len(own), flushAt); n++ {
			text, err := json.Marshal([]events.MeasuredCase{parent[n], own[n]})
			if err != nil {
				return fmt.Errorf("record the results of %s: %w", own[n].Benchmark, err)
			}
			if bytes += len(text); n > 0 && bytes > flushBytes {
				break
			}
		}
		if err := s.block(ctx, parent[:n], own[:n]); err != nil {
			return err
		}
		parent, own = parent[n:], own[n:]
	}
	return nil
}

// block records one event of a block.
func (s *sink) block(ctx context.Context, parent, own []events.MeasuredCase) error {
	a := s.a
	if err := s.record(ctx, s.measuredOf(a.spec.Artifact, own, &events.Beside{Artifact: *a.spec.Against, Cases: parent})); err != nil {
		return err
	}
	s.here.add(a.spec.Artifact.Tag, own)
	s.here.add(a.spec.Against.Tag, parent)
	s.measured += len(own)
	return nil
}
