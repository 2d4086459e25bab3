package runner

import (
	"context"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Driver turns the plan of a benchmark into commands. It has no state: all state is in the slot, and what
// must last from one step to the next is held by the functions of the Plan.
type Driver interface {
	// Prepare does all that need not be measured, in a slot that is empty, and returns the steps of one
	// iteration. An error means that the benchmark cannot be measured.
	Prepare(ctx context.Context, s *Slot, tc Toolchain, p suite.BenchmarkPlan) (Plan, error)
}

// Drivers returns the drivers that exist, by the names that definitions use.
func Drivers() map[string]Driver {
	return map[string]Driver{
		suite.DriverGoBuild: goBuild{},
		suite.DriverCommand: command{},
		suite.DriverRust:    rust{},
	}
}

// Plan is what one iteration does. Steps is parallel to the Chain and the Cases of the plan that it was made
// from. Any prefix of a segment may be run, any number of times: the first step of a segment finds whatever
// an earlier iteration left and has to bring the slot into its state itself.
type Plan struct {
	Steps []Step
	// OneProcess says that the command of a step does its work in one process, whose instructions can
	// therefore be counted without hardware counters.
	OneProcess bool
}

// Step measures one test case once.
type Step struct {
	// Before is run unmeasured and brings the slot into the state of the scenario: it empties caches, takes
	// patches back or applies them. Nil does nothing.
	Before func(ctx context.Context) error
	// Cmd is measured. The runner adds its own settings to it (CPUs, nice value, address space layout).
	Cmd measure.Cmd
	// Parse reads the metrics that the command prints. These then replace those of the command as a whole.
	Parse Parser
	// Sizes adds the sizes of files, in bytes, to the metrics: of each metric all files together whose
	// absolute path matches the pattern (see filepath.Glob). No file, no metric.
	Sizes map[events.Metric]string
}
