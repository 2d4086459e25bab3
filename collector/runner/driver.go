package runner

import (
	"context"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Driver turns the plan of a benchmark into commands. It has no state: all state is in the slot, and the functions of
// the Plan hold what must last from one step to the next.
type Driver interface {
	// Prepare does all work that is not measured, in an empty slot, and returns the steps of one iteration. An error
	// means that the benchmark cannot be measured.
	Prepare(ctx context.Context, s *Slot, tc Toolchain, p suite.BenchmarkPlan) (Plan, error)
}

// Drivers returns all drivers, by the names that definitions use.
func Drivers() map[string]Driver {
	return map[string]Driver{
		suite.DriverGoBuild: goBuild{},
		suite.DriverCommand: command{},
		suite.DriverRust:    rust{},
	}
}

// Versions returns the versions of all drivers. Raise the one of a driver that measures something else than before from the same
// program: results of two versions are not the same measurement, and none stands for one of the other.
func Versions() map[string]string {
	return map[string]string{suite.DriverGoBuild: "1", suite.DriverCommand: "1", suite.DriverRust: "2"}
}

// Plan is what one iteration does. Its Steps correspond, one to one, to the Chain and the Cases of the benchmark's
// plan. The runner may run any prefix of a segment, any number of times. So the first step of a segment has to bring
// the slot into its state itself, whatever an earlier iteration left there.
type Plan struct {
	Steps []Step
}

// Step measures one test case once.
type Step struct {
	// Before runs unmeasured and brings the slot into the state of the scenario: it empties caches, and undoes or
	// applies patches. Nil does nothing.
	Before func(ctx context.Context) error
	// Cmd is measured. The runner adds its own settings to it (CPUs, nice value, address space layout).
	Cmd measure.Cmd
	// Parse reads the metrics that the command prints. They replace the metrics of the command as a whole.
	Parse Parser
	// Sizes adds the sizes of files, in bytes, to the metrics. It maps each metric to a pattern of absolute paths
	// (see filepath.Glob); the sizes of all matching files are added up. Without a file there is no metric.
	Sizes map[events.Metric]string
}
