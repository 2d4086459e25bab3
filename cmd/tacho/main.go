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

// version is set by the build; without one the module's own is shown.
var version = ""

func main() {
	// A benchmark is started through this same program, which then is not tacho but what stands between.
	if measure.RunShimIfAsked() || runner.RunWrapperIfAsked() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.New(version).Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
