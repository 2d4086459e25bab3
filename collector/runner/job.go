package runner

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Job is what to measure, and where.
type Job struct {
	// Plans are measured in this order.
	Plans []suite.BenchmarkPlan
	// Toolchain is what is measured.
	Toolchain Toolchain
	// Slot is the path of a working directory that the runner alone uses. The runner makes it if it does not exist,
	// and deletes its content. Give the slots of all machines paths of one length, see the package comment.
	Slot string
	// Cache is the path of a directory for data that outlives a job. Jobs that run at the same time may share it.
	// Keep it on the file system of the slot, so that files can be linked instead of copied.
	Cache string
	// Source puts the program of a benchmark into dir, which does not exist yet.
	Source func(ctx context.Context, b suite.BenchmarkDef, dir string) error
	// Uploads are what is kept, for people to look at, of the files of each benchmark after its last iteration: by Storage,
	// under the name of the upload and of the benchmark.
	Uploads []suite.StoredPaths
	Storage Storage
	// Done reports whether a test case is already measured; the runner does not measure such a case again. Nil means
	// that no case is.
	Done func(events.TestCase) bool
	// Caches returns the directory of a cache that a command names which prepares a benchmark. It lasts until the run
	// ends. Nil: the job has no caches, and such a command fails.
	Caches func(name string) (dir string, err error)
	// Limits bound each command of the job, those that prepare a benchmark too.
	Limits measure.Limits
	// Turn waits until the machine may measure. It is called before each benchmark is measured; the first call waits. The
	// file that it returns is held by each command from then on, also if this process dies. Nil: nothing else uses the machine.
	Turn func(ctx context.Context) (*os.File, error)
}

// Toolchain is a fetched artifact.
type Toolchain struct {
	// Dir is the absolute path of its root. The runner never writes there.
	Dir string
	// Tag is its name.
	Tag events.Tag
}

// Sink takes what a run reports, in order and from one goroutine. An error from it ends the run, and Run returns it.
type Sink interface {
	// Started: a benchmark begins. Of all total test cases of the job, done are over: measured now or before, or
	// failed.
	Started(benchmark events.Benchmark, done, total int)
	// Measured: the last iteration of a test case is over.
	Measured(ctx context.Context, c events.MeasuredCase) error
	// Failed: a test case cannot be measured. If a benchmark cannot be prepared, each of its cases is reported.
	Failed(ctx context.Context, f Failure) error
	// Used: a command of the job ran, to prepare a benchmark or to measure it, and used this.
	Used(u measure.Use)
	// Diagnosed: this is what the commands had to say.
	Diagnosed(ctx context.Context, seen events.DiagnosticsSeen) error
	// Took: a phase of the job took this long, or this much longer.
	Took(phase func(*events.Phases) *int64, d time.Duration)
	// Counted: these tokens of the jobserver were not in their place when the commands had ended.
	Counted(j events.JobserverCount)
	// Log takes one or more lines about the progress of the run.
	Log(text string)
	// Output takes what a command prints whose time is not measured, while it runs. The goroutines that read it call this,
	// not that of the run.
	Output(text []byte)
}

// Failure says why something was not measured.
type Failure struct {
	Kind events.ErrorKind
	// Context is the benchmark.
	Context string
	// Case is the test case.
	Case *events.TestCase
	// Message says what happened, with the end of what the command printed.
	Message string
}

// Summary counts test cases.
type Summary struct {
	// Measured cases are those of this run, Skipped ones were done before, Failed ones have a Failure.
	Measured, Skipped, Failed int
}

// The errors with which a run ends early, for errors.Is.
var (
	// ErrInterrupted: the context ended. The error wraps its cause too.
	ErrInterrupted = errors.New("measuring was interrupted")
	// ErrTransient: this machine is at fault, and the same job may succeed later.
	ErrTransient = errors.New("this machine cannot measure now")
)
