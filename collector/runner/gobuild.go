package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// goBuild measures builds of Go programs. The toolchain is a GOROOT. It reads from the definitions:
//
//   - The arguments of a profile are those of the go command. The first is the subcommand unless it is a flag;
//     then the subcommand is "build". A plain -gcflags=… holds only for the packages of the program, never for the
//     standard library. So do the compiler_args of a benchmark.
//   - The args of a benchmark are more flags, in the form -name=value, and the packages. Without packages it
//     is "./...".
//   - Prepare runs in the program's directory, with the go command of the toolchain on its path. What it generates
//     must be the same with every release.
//   - Scenarios: with the cache "none" or "empty" the build cache holds the standard library; with "warm" what
//     the scenario before left; with "patched" that and the applied patches (see patches).
//
// The metric size:binary is the size of all binaries together, in bytes.
type goBuild struct{}

// sizeBinary is the size of what was built.
const sizeBinary events.Metric = "size:binary"

func (goBuild) Prepare(ctx context.Context, s *Slot, tc Toolchain, p suite.BenchmarkPlan) (Plan, error) {
	src, err := s.Materialise(ctx, p.Benchmark)
	if err != nil {
		return Plan{}, err
	}
	changes, err := takePatches(s, src, p.Benchmark)
	if err != nil {
		return Plan{}, err
	}
	if err := silenceTelemetry(s); err != nil {
		return Plan{}, err
	}
	g := goCommand{slot: s, tc: tc, src: src, bench: p.Benchmark}
	g.setArguments(p)
	std, err := g.prepareCache(ctx)
	if err != nil {
		return Plan{}, err
	}
	if err := changes.remember(); err != nil {
		return Plan{}, err
	}
	return g.plan(p, std, changes)
}

// plan makes the steps of one iteration. std is the directory of the cache that holds the standard library.
func (g *goCommand) plan(p suite.BenchmarkPlan, std string, changes *patches) (Plan, error) {
	s := g.slot
	out := s.Path("out")
	argv := append([]string{"go", g.verb}, g.flags...)
	if g.verb == "build" {
		argv = append(argv, "-o="+out+"/")
	}
	env := append(g.env(s.Path("gocache")), "GOMAXPROCS=1", "GOGC=off", "GOFLAGS="+g.goflags()+" -p=1")
	cmd, err := s.Command(g.src, append(env, g.bench.Env...), append(argv, g.packages...))
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Steps: make([]Step, len(p.Chain))}
	parts := shares(p.Chain, len(changes.dirs))
	for i, scenario := range p.Chain {
		step := Step{Cmd: cmd, Sizes: map[events.Metric]string{sizeBinary: filepath.Join(out, "*")}}
		switch scenario.Cache {
		case suite.CacheNone, suite.CacheEmpty:
			step.Before = func(context.Context) error {
				return errors.Join(changes.undo(), os.RemoveAll(out), linkTree(std, s.Path("gocache")))
			}
		case suite.CachePatched:
			step.Before = func(context.Context) error { return changes.apply(parts[i][0], parts[i][1]) }
		}
		plan.Steps[i] = step
	}
	return plan, nil
}

// goCommand is the go command of one benchmark.
type goCommand struct {
	slot  *Slot
	tc    Toolchain
	src   string
	bench suite.BenchmarkDef
	// verb is the subcommand, flags and packages are its arguments.
	verb     string
	flags    []string
	packages []string
}

// setArguments sets verb, flags and packages from the arguments of backend, profile and benchmark.
func (g *goCommand) setArguments(p suite.BenchmarkPlan) {
	args := slices.Concat(p.Backend.Args, p.Profile.Args, p.Benchmark.Args)
	g.verb = "build"
	if len(p.Profile.Args) > 0 && !strings.HasPrefix(p.Profile.Args[0], "-") {
		g.verb = p.Profile.Args[0]
		args = slices.Concat(p.Backend.Args, p.Profile.Args[1:], p.Benchmark.Args)
	}
	var compiler []string
	for _, a := range args {
		value, ofCompiler := strings.CutPrefix(a, "-gcflags=")
		switch {
		case ofCompiler && strings.HasPrefix(value, "-"):
			compiler = append(compiler, value)
		case strings.HasPrefix(a, "-"):
			g.flags = append(g.flags, a)
		default:
			g.packages = append(g.packages, a)
		}
	}
	if compiler = append(compiler, p.Benchmark.CompilerArgs...); len(compiler) > 0 {
		g.flags = append(g.flags, "-gcflags=./...="+strings.Join(compiler, " "))
	}
	if len(g.packages) == 0 {
		g.packages = []string{"./..."}
	}
}

// env returns the closed environment of the go command, with this build cache.
func (g *goCommand) env(cache string) []string {
	return append(g.slot.Env(filepath.Join(g.tc.Dir, "bin")),
		"GOROOT="+g.tc.Dir,
		"GOCACHE="+cache,
		"GOPATH="+g.slot.Path("home", "go"),
		"GOENV=off",
		"GOFLAGS="+g.goflags(),
		"GO111MODULE=on",
		"GOPROXY=off",
		"GOSUMDB=off",
		"GOTOOLCHAIN=local",
		"GOWORK=off",
		"CGO_ENABLED=0",
	)
}

// goflags returns the flags of every go command. They make the binary the same wherever it is built, and take modules
// from the program's vendor directory or not at all.
func (g *goCommand) goflags() string {
	mod := "mod"
	if _, err := os.Stat(filepath.Join(g.src, "vendor")); err == nil {
		mod = "vendor"
	}
	return "-trimpath -buildvcs=false -mod=" + mod
}

// do runs an unmeasured go command in dir.
func (g *goCommand) do(ctx context.Context, dir, cache string, args ...string) (string, error) {
	env := append(g.env(cache), g.bench.Env...)
	out, err := g.slot.Do(ctx, dir, env, append([]string{filepath.Join(g.tc.Dir, "bin", "go")}, args...))
	return string(out), err
}

// silenceTelemetry keeps the go command from counting its own use, which now and then costs a process.
func silenceTelemetry(s *Slot) error {
	config := ".config"
	if runtime.GOOS == "darwin" {
		config = "Library/Application Support"
	}
	dir := s.Path("home", config, "go", "telemetry")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "mode"), []byte("off"), 0o644)
	}
	if err != nil {
		return fmt.Errorf("switch telemetry off: %w", err)
	}
	return nil
}

// toolchainKey names the content of a toolchain in the cache. Two builds under one tag must not share compiled
// packages, and the go command itself tells releases apart only by their version.
func toolchainKey(tc Toolchain) (string, error) {
	var stamp []string
	for _, tool := range []string{"bin/go", "pkg/tool/" + runtime.GOOS + "_" + runtime.GOARCH + "/compile"} {
		file := filepath.Join(tc.Dir, filepath.FromSlash(tool))
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is no Go toolchain for %s/%s: it has no %s", tc.Dir, runtime.GOOS, runtime.GOARCH, tool)
		}
		if err != nil {
			return "", fmt.Errorf("look at the toolchain: %w", err)
		}
		stamp = append(stamp, fmt.Sprint(file, info.Size(), info.ModTime().UnixNano()))
	}
	return cacheKey(tc.Tag, stamp...), nil
}
