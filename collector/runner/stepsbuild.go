package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/jobserver"
	"github.com/tachobench/tacho/rules/suite"
)

const (
	// srcName is the directory of a slot in which commands run, inputsName that of what other jobs yielded.
	srcName    = "src"
	inputsName = "inputs"
)

// trees puts the trees of commits into the directory of the commands. A link in one of them leads no other one out of it.
func (s *steps) trees(ctx context.Context) error {
	if len(s.job.Trees) == 0 {
		return nil
	}
	root, err := os.OpenRoot(s.src)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, c := range s.job.Trees {
		dir := filepath.Clean(filepath.FromSlash(c.Path))
		if err := root.MkdirAll(dir, 0o755); err != nil {
			if outOfSpace(err) {
				return err
			}
			return &StepsError{events.ErrorPrepare, fmt.Sprintf("the checkout %q: %v", c.Path, err)}
		}
		if there, err := os.ReadDir(filepath.Join(s.src, dir)); err != nil || len(there) > 0 {
			return &StepsError{events.ErrorPrepare, errors.Join(fmt.Errorf("the checkout %q would lie over files of another tree: use another path", c.Path), err).Error()}
		}
		if err := s.job.CheckOut(ctx, c, filepath.Join(s.src, dir)); err != nil {
			return err
		}
	}
	return nil
}

// inputs puts what other jobs yielded into the slot.
func (s *steps) inputs(ctx context.Context) error {
	if len(s.job.Inputs) == 0 {
		return nil
	}
	if err := os.Mkdir(s.slot.Path(inputsName), 0o755); err != nil {
		return err
	}
	for i, in := range s.job.Inputs {
		if err := s.job.Fetch(ctx, in, s.input(i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *steps) input(i int) string { return s.slot.Path(inputsName, strconv.Itoa(i)) }

// inputArguments returns the arguments of a command with the directories of its inputs.
func (s *steps) inputArguments(argv []string) ([]string, error) {
	return suite.ReplaceInputs(argv, func(name string) (string, error) {
		i, err := suite.Input(s.job.Inputs, name)
		return s.input(i), err
	})
}

// storeAfter stores the outputs that are stored after a step that has succeeded; 0 for after all of them.
func (s *steps) storeAfter(ctx context.Context, step int) error {
	for _, o := range s.job.Plan.Outputs {
		if o.After != step {
			continue
		}
		err := store(ctx, s.slot.Dir, srcName, o, o.Name, false, s.job.Storage, s.sink)
		var unfit *outputError
		if errors.As(err, &unfit) {
			return &StepsError{events.ErrorOutput, fmt.Sprintf("output %s: %s", o.Name, unfit.reason)}
		}
		if err != nil {
			return fmt.Errorf("output %s: %w", o.Name, err)
		}
	}
	return nil
}

// uploads stores what is kept for people. It fails nothing.
func (s *steps) uploads(ctx context.Context) {
	for _, u := range s.job.Plan.Uploads {
		keep(ctx, s.slot.Dir, srcName, u, u.Name, s.job.Storage, s.sink)
	}
}

// keep stores an upload, or says why not.
func keep(ctx context.Context, slot, src string, u suite.StoredPaths, as string, to Storage, sink Sink) {
	if ctx.Err() != nil {
		return
	}
	if err := store(ctx, slot, src, u, as, true, to, sink); err != nil {
		sink.Log(fmt.Sprintf("the upload %s is not kept: %v", as, err))
	}
}

// command returns a command of the job. What its kind sets in the environment comes last.
func (s *steps) command(t *turns, argv []string) (measure.Cmd, error) {
	bin := ""
	if s.job.Toolchain.Dir != "" {
		bin = filepath.Join(s.job.Toolchain.Dir, "bin")
	}
	cmd, err := s.slot.Command(s.src, slices.Concat(s.slot.Env(bin), t.env, s.job.Plan.Env), argv)
	cmd.Files = t.files
	return cmd, err
}

// turns are the jobserver of one command, if it has one.
type turns struct {
	steps  *steps
	name   string
	begun  time.Time
	server *jobserver.Server
	files  measure.Files
	env    []string
}

func (s *steps) newTurns(name string) (*turns, error) {
	t := &turns{steps: s, name: name, begun: time.Now()}
	if s.job.Tokens == 0 {
		return t, nil
	}
	var err error
	if t.server, err = jobserver.New(s.job.Tokens); err != nil {
		return nil, err
	}
	t.files, t.env = t.server.Files(), t.server.Env(measure.FirstFile)
	return t, nil
}

// end ends the jobserver of a command that has ended with all its descendants, and tells which tokens were not in their
// place, and how long it took.
func (t *turns) end() {
	sink := t.steps.sink
	sink.Took(func(p *events.Phases) *int64 { return &p.Run }, time.Since(t.begun))
	if t.server == nil {
		return
	}
	missing, surplus, err := t.server.Close()
	switch {
	case err != nil:
		sink.Log(fmt.Sprintf("%s: %v", t.name, err))
	case missing > 0 || surplus > 0:
		sink.Counted(events.JobserverCount{Missing: missing, Surplus: surplus})
		sink.Log(fmt.Sprintf("%s: of the tokens of its jobserver %d were not given back, and %d were written that were never taken; the next command begins with all of them",
			t.name, missing, surplus))
	}
}
