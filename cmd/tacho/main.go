// Command tacho is Tacho: continuous benchmarking whose queue is an append-only log.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/internal/cli"
)

// version is set by the build. If it is empty, the program reports the version of the module.
var version = ""

func main() {
	// Collectors start benchmarks, and cargo the compiler, through this same program. It then does only that.
	if measure.RunShimIfAsked() || runner.RunWrapperIfAsked() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.New(version).Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
