package git

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/internal/filelock"
)

func TestGitSaysWhatItPrints(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_DIR", filepath.Join(dir, "elsewhere"))
	if _, err := (Command{Dir: dir, Args: []string{"init", "--quiet", "."}}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := Command{Dir: dir, Args: []string{"-c", "a.b=c", "rev-parse", "--git-dir"}}.Run(t.Context())
	if err != nil || strings.TrimSpace(got) != ".git" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestGitSaysHowItFailed(t *testing.T) {
	_, err := Command{Args: []string{"-c", "a.b=c", "fetch", "--", "nothing://me:secret@localhost/x"}, Dir: t.TempDir()}.Run(t.Context())
	var failed *Error
	if !errors.As(err, &failed) || failed.Verb != "fetch" || !failed.Says("not there", "fatal:") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if _, err := (Command{Dir: filepath.Join(t.TempDir(), "none"), Args: []string{"version"}}).Run(t.Context()); err == nil || errors.As(err, &failed) && failed.Verb == "version" {
		t.Errorf("where there is no directory: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := (Command{Args: []string{"version"}}).Run(t.Context()); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("without git: %v", err)
	}
}

func TestGitIsEnded(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	err := Command{Args: []string{"version"}}.Stream(t.Context(), func(io.Reader) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("by the reader: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = Command{Dir: t.TempDir(), Args: []string{"-c", "alias.wait=!echo begun; sleep 600", "wait"}}.Stream(ctx, func(r io.Reader) error {
		_, err := r.Read(make([]byte, 1))
		cancel(enough)
		return err
	})
	if !errors.Is(err, enough) {
		t.Errorf("by the context: %v", err)
	}
}

// A git that outlives its parent keeps the lock; one that has ended does not.
func TestGitHoldsTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := filelock.Try(path, filelock.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	err = Command{Args: []string{"-c", "alias.wait=!echo begun; sleep 600", "wait"}, Hold: lock}.Stream(t.Context(), func(r io.Reader) error {
		lock.Release()
		_, err := r.Read(make([]byte, 1))
		if other, _ := filelock.Try(path, filelock.Exclusive); other != nil {
			t.Error("nobody holds the lock")
		}
		return errors.Join(err, io.EOF)
	})
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := filelock.Await(t.Context(), path, filelock.Exclusive, nil); err != nil {
		t.Errorf("somebody holds the lock: %v", err)
	}
}

func TestTheEnvironmentIsNeutral(t *testing.T) {
	environ := []string{"GIT_DIR=x", "GIT_SSH=mine", "A=b", "LC_ALL=de_DE"}
	got := Command{Environ: environ}.environ()
	if slices.Contains(got, "GIT_DIR=x") || !slices.Contains(got, "A=b") || got[len(got)-1] != "LC_ALL=C" {
		t.Errorf("got %v", got)
	}
	if got := (Command{Environ: []string{"A=b"}}).environ(); !strings.Contains(got[len(got)-1], "BatchMode=yes") {
		t.Errorf("got %v", got)
	}
	if len(environ) != 4 || environ[0] != "GIT_DIR=x" {
		t.Errorf("the given environment became %v", environ)
	}
}
