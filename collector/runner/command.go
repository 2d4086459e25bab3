package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tachobench/tacho/rules/suite"
)

// command measures any command. The arguments of backend, profile and benchmark follow those of the command, in this
// order; {artifact} and {source} are replaced in all of them. The command runs in the program's directory. TACHO_WORK
// names a directory for what it wants to keep from one scenario to the next. A scenario with the cache "none" or
// "empty" finds that directory empty and all patches undone.
//
// The program is put into the slot if it ships with the definitions, if the command names {source}, or if the
// benchmark has patches or something to prepare.
type command struct{}

func (command) Prepare(ctx context.Context, s *Slot, tc Toolchain, p suite.BenchmarkPlan) (Plan, error) {
	b := p.Benchmark
	parse, err := ParserOf(b.Parse)
	if err != nil {
		return Plan{}, err
	}
	argv := slices.Concat(b.Command, p.Backend.Args, p.Profile.Args, b.Args)
	src := s.Path("src")
	mentioned := slices.ContainsFunc(argv, func(a string) bool { return strings.Contains(a, "{source}") })
	changes := &patches{src: src}
	if mentioned || b.SourceDigest != "" || len(b.Patches) > 0 || len(b.Prepare) > 0 {
		if _, err := s.Materialise(ctx, b); err != nil {
			return Plan{}, err
		}
		if changes, err = takePatches(s, src, b); err != nil {
			return Plan{}, err
		}
	} else if err := os.Mkdir(src, 0o755); err != nil {
		return Plan{}, fmt.Errorf("make the working directory: %w", err)
	}
	fields := strings.NewReplacer("{artifact}", tc.Dir, "{source}", src)
	work := s.Path("work")
	env := slices.Concat(s.Env(filepath.Join(tc.Dir, "bin")), []string{"TACHO_WORK=" + work}, b.Env)
	if len(b.Prepare) > 0 {
		if err := s.Prepare(ctx, src, env, replaceAll(fields, b.Prepare)); err != nil {
			return Plan{}, err
		}
	}
	if err := changes.remember(); err != nil {
		return Plan{}, err
	}
	cmd, err := s.Command(src, env, replaceAll(fields, argv))
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Steps: make([]Step, len(p.Chain))}
	parts := shares(p.Chain, len(changes.dirs))
	for i, scenario := range p.Chain {
		plan.Steps[i] = Step{Cmd: cmd, Parse: parse}
		switch scenario.Cache {
		case suite.CacheNone, suite.CacheEmpty:
			plan.Steps[i].Before = func(context.Context) error {
				return errors.Join(changes.undo(), removeAll(work), os.MkdirAll(work, 0o755))
			}
		case suite.CachePatched:
			plan.Steps[i].Before = func(context.Context) error { return changes.apply(parts[i][0], parts[i][1]) }
		}
	}
	return plan, nil
}

func replaceAll(r *strings.Replacer, texts []string) []string {
	replaced := make([]string, len(texts))
	for i, t := range texts {
		replaced[i] = r.Replace(t)
	}
	return replaced
}
