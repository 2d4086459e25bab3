package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

const (
	// programName is the file of a version's program. currentFile is the file with the name of the version that runs.
	programName = "tacho"
	currentFile = "current"
	// newPrefix begins the names of files and directories that are not complete.
	newPrefix = ".new-"
	// answerWithin is how long a program may take to say its version.
	answerWithin = 30 * time.Second
)

// program is a program that has reported its version.
type program struct{ path, version string }

// versions is a directory of versions.
type versions struct {
	dir, own string
	bind     func(*exec.Cmd)
}

// begin makes the directory, and removes the incomplete versions that a killed supervisor left.
func (v versions) begin() error {
	if err := os.MkdirAll(v.dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of versions: %w", err)
	}
	return v.sweep()
}

// sweep removes incomplete versions. A build may have outlived its supervisor and still write there: it fails when its files
// vanish, and the next sweep removes the rest. Directories never have the same name twice.
func (v versions) sweep() error {
	left, err := filepath.Glob(filepath.Join(v.dir, newPrefix+"*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
	return err
}

// current returns the program of the current version. If there is none, or if it does not work, current returns the
// supervisor's own program.
func (v versions) current(ctx context.Context) (program, error) {
	text, err := os.ReadFile(filepath.Join(v.dir, currentFile))
	if err == nil {
		if p, err := v.find(ctx, strings.TrimSpace(string(text))); err == nil {
			return p, nil
		}
	}
	version, err := v.ask(ctx, v.own)
	if err != nil {
		return program{}, fmt.Errorf("ask %s for its version: %w", v.own, err)
	}
	return program{v.own, version}, nil
}

// find returns the program of a version that is here: from its directory, or the supervisor's own.
func (v versions) find(ctx context.Context, version string) (program, error) {
	if err := events.CheckVersion(version); err != nil {
		return program{}, err
	}
	var all error
	for _, path := range []string{v.path(version), v.own} {
		err := v.is(ctx, path, version)
		if err == nil {
			return program{path, version}, nil
		}
		all = errors.Join(all, err)
	}
	return program{}, all
}

func (v versions) path(version string) string { return filepath.Join(v.dir, version, programName) }

// is returns nil if the program reports that version.
func (v versions) is(ctx context.Context, path, version string) error {
	says, err := v.ask(ctx, path)
	switch {
	case err != nil:
		return fmt.Errorf("the program does not say its version: %w", err)
	case says != version:
		return fmt.Errorf("the program says that it is version %s", says)
	}
	return nil
}

// ask asks a program for its version.
func (v versions) ask(ctx context.Context, path string) (string, error) {
	said, err := command(ctx, answerWithin, func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, path, "version", "--json")
	}, v.bind, io.Discard)
	if err != nil {
		return "", err
	}
	var answer struct{ Version string }
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		return "", fmt.Errorf("read what it says: %w", err)
	}
	return answer.Version, nil
}

// workshop returns an empty directory to make a version in, and a function that removes it.
func (v versions) workshop() (dir string, done func(), err error) {
	dir, err = os.MkdirTemp(v.dir, newPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("make room for a version: %w", err)
	}
	// A later sweep removes what cannot be removed now.
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// install makes the program at path the program of a version, if the program reports that version. It moves the program.
func (v versions) install(ctx context.Context, version, path string) (program, error) {
	dir, done, err := v.workshop()
	if err != nil {
		return program{}, err
	}
	defer done()
	fresh := filepath.Join(dir, programName)
	if err := inOrder(
		func() error { return os.Rename(path, fresh) },
		func() error { return os.Chmod(fresh, 0o755) },
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return synced(fresh, dir) },
	); err != nil {
		return program{}, fmt.Errorf("keep version %s: %w", version, err)
	}
	if err := v.is(ctx, fresh, version); err != nil {
		return program{}, err
	}
	place := filepath.Join(v.dir, version)
	if err := inOrder(
		func() error { return os.RemoveAll(place) }, // the program there did not report its version
		func() error { return os.Rename(dir, place) },
		func() error { return synced(v.dir) },
	); err != nil {
		return program{}, fmt.Errorf("keep version %s: %w", version, err)
	}
	return program{v.path(version), version}, nil
}

// use makes a version the current one, and removes all others except the previous one.
func (v versions) use(p program) error {
	file := filepath.Join(v.dir, currentFile)
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read which version runs: %w", err)
	}
	fresh := filepath.Join(v.dir, newPrefix+currentFile)
	if err := inOrder(
		func() error { return os.WriteFile(fresh, []byte(p.version+"\n"), 0o644) },
		func() error { return synced(fresh) },
		func() error { return os.Rename(fresh, file) },
		func() error { return synced(v.dir) },
	); err != nil {
		return fmt.Errorf("make version %s the current one: %w", p.version, err)
	}
	entries, err := os.ReadDir(v.dir)
	for _, e := range entries {
		old := e.IsDir() && events.CheckVersion(e.Name()) == nil && e.Name() != p.version && e.Name() != strings.TrimSpace(string(before))
		if old {
			err = errors.Join(err, os.RemoveAll(filepath.Join(v.dir, e.Name())))
		}
	}
	return err
}

// inOrder runs steps until one fails, and returns its error.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// synced writes files and directories to the disk, before anything relies on them.
func synced(paths ...string) error {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
