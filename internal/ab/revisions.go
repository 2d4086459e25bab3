package ab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tachobench/tacho/internal/git"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/subprocess"
)

// checkOut makes a worktree of each revision, builds it, and names the directories in the sides: that of the person, in each of
// the worktrees. Both have paths of one length, because the length of a path moves the memory of a program. Remove deletes them.
func (w Wish) checkOut(ctx context.Context, a, b *Side) (notes []string, remove func(), err error) {
	remove = func() {}
	place, err := w.git(ctx, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return nil, remove, w.noRepository(err)
	}
	top, prefix, _ := strings.Cut(place, "\n")
	for _, s := range []*Side{a, b} {
		// What begins with a dash would be an option.
		s.Commit, err = w.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", s.Name+"^{commit}")
		if err != nil {
			return nil, remove, w.noRevision(ctx, s.Name, top, err)
		}
	}
	changes, err := w.git(ctx, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, remove, err
	}
	if changes != "" {
		notes = append(notes, phrase.Are(strings.Count(changes, "\n")+1, "file")+" changed in the working tree and not committed: that is in neither side")
	}
	if a.Commit == b.Commit {
		notes = append(notes, "both revisions are commit "+phrase.Short(a.Commit))
	}
	dir, err := os.MkdirTemp("", "tacho-ab-")
	if err != nil {
		return notes, remove, err
	}
	remove = func() {
		for _, name := range []string{"a", "b"} {
			// One that was not made is no loss. The context may have ended, and the worktrees must go all the same.
			_, _ = w.git(context.WithoutCancel(ctx), "worktree", "remove", "--force", filepath.Join(dir, name))
		}
		_ = os.RemoveAll(dir)
	}
	for _, s := range []struct {
		name string
		side *Side
	}{{"a", a}, {"b", b}} {
		tree := filepath.Join(dir, s.name)
		if _, err := w.git(ctx, "worktree", "add", "--quiet", "--detach", tree, s.side.Commit); err != nil {
			return notes, remove, err
		}
		s.side.Dir = filepath.Join(tree, prefix)
		if err := w.build(ctx, *s.side); err != nil {
			return notes, remove, err
		}
	}
	return notes, remove, nil
}

// build builds a revision in its worktree with the shell.
func (w Wish) build(ctx context.Context, s Side) error {
	if w.Build == "" {
		return nil
	}
	if w.Say != nil {
		w.Say(fmt.Sprintf("building %s (%s)", s.Name, phrase.Short(s.Commit)))
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", w.Build)
	subprocess.Group(cmd)
	said := &subprocess.Tail{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, git.Neutral(w.Environ), said, said
	err := cmd.Run()
	subprocess.KillRest(cmd)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("build %s (%s) with %q: %w:\n%s", s.Name, phrase.Short(s.Commit), w.Build, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// git runs git where the person is.
func (w Wish) git(ctx context.Context, args ...string) (string, error) {
	out, err := git.Command{Dir: w.Dir, Args: args, Environ: w.Environ}.Run(ctx)
	return strings.TrimSpace(out), err
}

// noRepository says why there are no revisions.
func (w Wish) noRepository(err error) error {
	what := fmt.Sprintf("%s and %s are not two programs or directories", w.A, w.B)
	if w.Build != "" {
		what = "--build wants revisions"
	}
	var said *git.Error
	switch {
	case errors.Is(err, git.ErrNotInstalled):
		return &UnknownError{fmt.Sprintf("%s, and revisions need git: %v", what, err)}
	case errors.As(err, &said) && said.Says("not a git repository"):
		return &UnknownError{what + ", and there is no git repository here: go to one, or name programs or directories"}
	}
	return fmt.Errorf("find the git repository: %w", err)
}

// noRevision says that a word names nothing.
func (w Wish) noRevision(ctx context.Context, word, top string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var said *git.Error
	if !errors.As(err, &said) {
		return err
	}
	if w.Build != "" {
		return &UnknownError{fmt.Sprintf("there is no revision %q in the repository %s", word, top)}
	}
	return &UnknownError{fmt.Sprintf("%q is no program, no directory and no revision of the repository %s", word, top)}
}
