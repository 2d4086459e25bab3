package runner

import (
	"context"

	"github.com/tachobench/tacho/events"
)

// Turns is how two sides are measured in turns.
type Turns struct {
	// Pairs is the most pairs of each benchmark; 0: as many as its plan has iterations.
	Pairs int
	// Enough, if set, is called after each pair with all iterations so far of a test case, those of a and of b. Once it says
	// yes for all test cases of a benchmark, no more pairs of it are measured.
	Enough func(c events.TestCase, a, b []events.Iteration) bool
}

// PairSink takes what a run of pairs reports. The reports of Sink that follow a call of Side are those of that side.
type PairSink interface {
	Sink
	// Side says whose reports follow: those of b, or those of a.
	Side(ctx context.Context, b bool) error
	// Block: all iterations of these test cases of both sides, in the same order. Iteration i of both is pair i, in the order
	// of compare.FirstIsA.
	Block(ctx context.Context, a, b []events.MeasuredCase) error
}

// RunPair measures two jobs in turns: the benchmarks that both have, pair after pair. What only one side has, or still needs
// (Job.Done), it measures alone, and reports to Measured.
func (r *Runner) RunPair(ctx context.Context, a, b Job, turns Turns, sink PairSink) (ofA, ofB Summary, err error) {
	return Summary{}, Summary{}, nil
}
