package runner

import (
	"context"
	"fmt"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// countingTimeout is how many times longer a command may take while its instructions are counted.
const countingTimeout = 50

// count counts the instructions of the needed steps with valgrind, in one more iteration before the others, if the settings
// and the machine want that. If it cannot count a step, it only logs that: the metric is then missing, and the case is
// measured all the same. What is left of the segment of such a step is not counted either.
func (r *run) count(ctx context.Context, p suite.BenchmarkPlan, c *chain, plan Plan) (map[int]float64, error) {
	settings, counts := r.runner.Settings, map[int]float64{}
	way, why := measure.CountingOf(ctx, settings.Counting)
	if way == measure.CountOff && (settings.Counting == measure.CountAuto || settings.Counting == measure.CountValgrind) {
		r.sink.Log(fmt.Sprintf("%s: instructions are not counted: %s", p.Benchmark.Name, why))
	}
	if way != measure.CountValgrind {
		return counts, nil
	}
	for i := 0; i < len(plan.Steps); i++ {
		if !c.needed(i) {
			continue
		}
		counted, err := r.countStep(ctx, p, plan.Steps[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		scenario := fmt.Sprintf("%s %s %s", p.Benchmark.Name, p.Profile.Name, p.Chain[i].Name)
		if err != nil {
			r.sink.Log(fmt.Sprintf("%s: instructions are not counted: %v", scenario, err))
			i = c.segmentEnd(i) - 1
			continue
		}
		if counted.Note != "" {
			r.sink.Log(fmt.Sprintf("%s: the count of instructions: %s", scenario, counted.Note))
		}
		counts[i] = counted.Instructions
	}
	return counts, nil
}

// countStep runs one step under valgrind. A fault of Before is not said as one of the test case: the step will fail in the same
// way later.
func (r *run) countStep(ctx context.Context, p suite.BenchmarkPlan, s Step) (measure.Counted, error) {
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return measure.Counted{}, err
		}
	}
	settings := r.runner.Settings
	s.Cmd.CPUs, s.Cmd.DisableASLR = settings.CPUs, settings.DisableASLR
	s.Cmd.Timeout, s.Cmd.Env = countingTimeout*p.Timeout, withoutJobserver(s.Cmd.Env)
	return r.measure.CountInstructions(ctx, s.Cmd)
}

// addCount adds the count of a step to its first sample. It is what the command did, so it stands beside metrics that the
// command prints; one that it prints under the same name stays.
func addCount(first events.Iteration, n float64) {
	if _, printed := first.Metrics[measure.Instructions]; !printed {
		first.Metrics[measure.Instructions] = n
	}
}
