package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// rust measures compiles of one crate. The toolchain is a directory with bin/rustc and bin/cargo.
//
// Cargo runs once, unmeasured, with this program in the place of the compiler (see RunWrapperIfAsked). The wrapper
// really compiles the dependencies. It only writes down the compile command of the program itself, the leaf. The
// steps run that command again and again, without cargo. Its counters are those of a run under cargo, but it takes
// less time, all its processes are ours, and no file has to look newer than another. So the touch of a benchmark is
// not needed. The driver reads from the definitions:
//
//   - The arguments of a profile are the command of cargo, "rustc", "rustdoc" or "clippy", and flags for it.
//     What follows a "--" is for the compiler. With "clippy", clippy-driver checks the leaf, with all its lints as
//     warnings, so that none can make the compile fail.
//   - The args of a benchmark are flags of cargo. Only the leaf's compiler gets its compiler_args, after those of
//     the backend.
//   - Scenarios: with the cache "none" nothing incremental is kept; with "empty" the incremental directory is
//     filled; with "warm" it is what the scenario before left; with "patched" the patches are applied too, all at
//     once if there is one such scenario (see shares). Patches are replaced files (see patches) or diffs NAME.patch
//     in the program (see unfoldDiffs). They must not change the dependencies.
//
// The metric size:artifact is the size of what the compiler wrote, in bytes: executable, library, metadata or the one
// file of JSON documentation. There is none for a tree of HTML, nor for an executable that is only checked.
//
// Two things make toolchains comparable. Both see the same hash of every crate, which otherwise covers their version
// and orders hash tables (see replaceMetadata). And every incremental result is verified, not a sample of them.
type rust struct{}

// sizeArtifact is the size of what was compiled.
const sizeArtifact events.Metric = "size:artifact"

// The commands of cargo that a profile can name.
const (
	verbRustc   = "rustc"
	verbRustdoc = "rustdoc"
	verbClippy  = "clippy"
)

// rustBuild is the build of one benchmark.
type rustBuild struct {
	slot *Slot
	bin  string
	src  string
	plan suite.BenchmarkPlan
	// verb is the command of cargo, flags are its arguments. compiler are the arguments of the leaf's compiler.
	verb     string
	flags    []string
	compiler []string
	// incremental are more arguments of the compiler for incremental compiles.
	incremental []string
}

func (rust) Prepare(ctx context.Context, s *Slot, tc Toolchain, p suite.BenchmarkPlan) (Plan, error) {
	if !slices.ContainsFunc(p.Chain, func(s suite.Scenario) bool { return s.Cache == suite.CachePatched }) {
		p.Benchmark.Patches = nil // no scenario applies them
	}
	r := &rustBuild{slot: s, bin: filepath.Join(tc.Dir, "bin"), plan: p}
	if err := r.setArguments(); err != nil {
		return Plan{}, err
	}
	for _, tool := range []string{"cargo", "rustc", r.tool()} {
		if _, err := os.Stat(filepath.Join(r.bin, tool)); err != nil {
			return Plan{}, fmt.Errorf("profile %s needs bin/%s in the toolchain %s: %w", p.Profile.Name, tool, tc.Dir, err)
		}
	}
	var err error
	if r.src, err = s.Materialise(ctx, p.Benchmark); err != nil {
		return Plan{}, err
	}
	if err := unfoldDiffs(ctx, s, r.src, p.Benchmark); err != nil {
		return Plan{}, err
	}
	changes, err := takePatches(s, r.src, p.Benchmark)
	if err != nil {
		return Plan{}, err
	}
	if len(p.Benchmark.Prepare) > 0 {
		if err := s.Prepare(ctx, r.src, r.env(), p.Benchmark.Prepare); err != nil {
			return Plan{}, err
		}
	}
	if err := changes.remember(); err != nil {
		return Plan{}, err
	}
	leaf, err := r.record(ctx)
	if err != nil {
		return Plan{}, err
	}
	return r.steps(leaf, changes)
}

// setArguments sets verb, flags and compiler from the arguments of backend, profile and benchmark.
func (r *rustBuild) setArguments() error {
	p := r.plan
	args := p.Profile.Args
	if len(args) == 0 || !slices.Contains([]string{verbRustc, verbRustdoc, verbClippy}, args[0]) {
		return fmt.Errorf("the args of profile %s must begin with a command of cargo: %s, %s or %s",
			p.Profile.Name, verbRustc, verbRustdoc, verbClippy)
	}
	r.verb, args = args[0], args[1:]
	var own []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, own = args[:i], args[i+1:]
	}
	r.flags = slices.Concat(args, p.Benchmark.Args)
	r.compiler = slices.Concat(p.Backend.Args, own, p.Benchmark.CompilerArgs)
	if r.verb == verbClippy {
		r.flags = append([]string{"--profile=check"}, r.flags...)
		r.compiler = append([]string{"-Wclippy::all"}, r.compiler...)
	}
	// A lint that only one of two toolchains knows must not make a difference.
	r.compiler = append(r.compiler, "-Adeprecated", "-Aunknown-lints")
	for _, s := range p.Chain {
		if r.verb == verbRustdoc && s.Cache != suite.CacheNone {
			return fmt.Errorf("scenario %s is incremental, which rustdoc is not: restrict the scenarios of profile %s to those with cache %q",
				s.Name, p.Profile.Name, suite.CacheNone)
		}
	}
	return nil
}

// tool is the program of the toolchain that compiles the leaf.
func (r *rustBuild) tool() string {
	if r.verb == verbClippy {
		return "clippy-driver"
	}
	return r.verb
}

// env returns the closed environment of cargo and of all its child processes.
func (r *rustBuild) env() []string {
	env := append(r.slot.Env(r.bin),
		"CARGO_INCREMENTAL=0",
		"CARGO_NET_OFFLINE=true",
		"CARGO_TARGET_DIR="+r.slot.Path("target"),
		"CARGO_TERM_COLOR=never",
		// Without it, releases refuse flags that begin with -Z.
		"RUSTC_BOOTSTRAP=1",
		// Unless it is told otherwise, a compiler puts its version into all its hashes.
		"RUSTC_FORCE_RUSTC_VERSION=tacho",
		"RUSTC_FORCE_INCR_COMP_ARTIFACT_HEADER=tacho",
		// Wrappers that the user's configuration puts between cargo and the compiler are switched off.
		"RUSTC_WRAPPER=",
		"RUSTC_WORKSPACE_WRAPPER=",
	)
	if !r.configured() {
		// Flags of a configuration above the slot, such as the user's, must not be measured too.
		env = append(env, "RUSTFLAGS=", "RUSTDOCFLAGS=")
	}
	if home := r.cargoHome(); home != "" {
		env = append(env, "CARGO_HOME="+home)
	}
	return append(env, r.plan.Benchmark.Env...)
}

// configured reports whether the program has its own configuration of cargo. Its flags are then part of the program.
func (r *rustBuild) configured() bool {
	return slices.ContainsFunc([]string{"config.toml", "config"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(r.src, ".cargo", name))
		return err == nil
	})
}

// cargoHome returns the directory with the dependencies of the program. It returns "" when cargo has nothing to fetch
// for the program: then the slot's home serves. Dependencies cannot be fetched here. The user's own cargo must have
// fetched them, or its configuration must say where they are.
func (r *rustBuild) cargoHome() string {
	lock, err := os.ReadFile(filepath.Join(r.src, "Cargo.lock"))
	if err != nil || !strings.Contains(string(lock), "\nsource = ") {
		return ""
	}
	if home := os.Getenv("CARGO_HOME"); home != "" {
		return home
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cargo")
}

// record runs cargo and returns the command that compiles the leaf.
func (r *rustBuild) record(ctx context.Context) (recording, error) {
	s := r.slot
	if err := linkWrapper(s.Path("wrap")); err != nil {
		return recording{}, err
	}
	if err := r.verifyAll(ctx); err != nil {
		return recording{}, err
	}
	command := r.verb
	if r.verb == verbClippy {
		command = verbRustc
	}
	argv := []string{filepath.Join(r.bin, "cargo"), command, "--offline"}
	if _, err := os.Stat(filepath.Join(r.src, "Cargo.lock")); err == nil {
		argv = append(argv, "--locked")
	}
	argv = slices.Concat(argv, r.flags, []string{"--", leafMark}, r.compiler)
	file := s.Path("leaf")
	env := append(r.env(), wrapperEnv(s.Path("wrap"), r.bin, file, s.Dir)...)
	_, err := s.Do(ctx, r.src, env, argv)
	leaf, missing := readRecording(file)
	switch {
	case err != nil && r.cargoHome() != "":
		return recording{}, fmt.Errorf("build the dependencies of the program (run \"cargo fetch\" in its directory if they are not on this machine): %w",
			errors.Join(err, faultOf(missing)))
	case err != nil:
		return recording{}, fmt.Errorf("build the dependencies of the program: %w", errors.Join(err, faultOf(missing)))
	case errors.Is(missing, fs.ErrNotExist):
		return recording{}, fmt.Errorf("cargo %s succeeded without compiling anything to measure: check the args of the benchmark", command)
	case missing != nil:
		return recording{}, missing
	}
	return leaf, nil
}

// faultOf returns an error of the wrapper itself, nil if nothing was recorded.
func faultOf(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// verifyAll makes the compiler verify every incremental result that it reuses. Without it the compiler picks some by
// their hash, so different ones after every change of the compiler. Steps that are not incremental do without the
// flag: there it would only cost time that no user spends.
func (r *rustBuild) verifyAll(ctx context.Context) error {
	const flag = "-Zincremental-verify-ich"
	_, err := r.slot.Do(ctx, r.src, r.env(), []string{filepath.Join(r.bin, "rustc"), flag, "--print=sysroot"})
	var failed *commandError
	switch {
	case err == nil:
		r.incremental = append(r.incremental, flag)
		return nil
	case errors.As(err, &failed) && !outOfSpace(err):
		r.slot.Log("this rustc has no " + flag + ", so it verifies some of the incremental results only: " + failed.tail)
		return nil
	}
	return err
}

// steps makes the steps of one iteration.
func (r *rustBuild) steps(leaf recording, changes *patches) (Plan, error) {
	s := r.slot
	out, cache := s.Path("out"), s.Path("incremental")
	argv := append([]string{filepath.Join(r.bin, r.tool())}, leaf.arguments(out, s.Path("dep-info"))...)
	env := leaf.environment()
	var sizes map[events.Metric]string
	if leaf.writesFiles(r.verb) {
		sizes = map[events.Metric]string{sizeArtifact: filepath.Join(out, "*")}
	}
	plan := Plan{Steps: make([]Step, len(r.plan.Chain))}
	parts := shares(r.plan.Chain, len(changes.dirs))
	for i, scenario := range r.plan.Chain {
		whole := argv
		if scenario.Cache != suite.CacheNone {
			whole = slices.Concat(argv, r.incremental, []string{"-C", "incremental=" + cache})
		}
		cmd, err := s.Command(leaf.Dir, env, whole)
		if err != nil {
			return Plan{}, err
		}
		step := Step{Cmd: cmd, Sizes: sizes}
		switch scenario.Cache {
		case suite.CacheNone, suite.CacheEmpty:
			step.Before = func(context.Context) error {
				return errors.Join(changes.undo(), removeAll(out), removeAll(cache))
			}
		case suite.CachePatched:
			step.Before = func(context.Context) error {
				return errors.Join(removeAll(out), changes.apply(parts[i][0], parts[i][1]))
			}
		default:
			step.Before = func(context.Context) error { return removeAll(out) }
		}
		plan.Steps[i] = step
	}
	return plan, nil
}
