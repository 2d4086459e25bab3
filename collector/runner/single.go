package runner

import (
	"context"

	"github.com/tachobench/tacho/collector/measure"
)

// Single executes one command that belongs to no job, in the way in which an iteration executes it: with the settings of the
// runner, and without jobservers. A command that failed is an error that says how, with the end of what it printed; the outcome
// is there all the same. Other errors are those of measure.Runner.Run.
func (r *Runner) Single(ctx context.Context, c measure.Cmd) (measure.Outcome, error) {
	c.CPUs, c.Nice, c.DisableASLR = r.Settings.CPUs, r.Settings.Nice, r.Settings.DisableASLR
	c.Env = withoutJobserver(c.Env)
	out, err := r.Measure.Run(ctx, c)
	if err != nil {
		return measure.Outcome{}, err
	}
	return out, judge(c, out)
}
