package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tachobench/tacho/internal/filelock"
	"github.com/tachobench/tacho/internal/git"
	"github.com/tachobench/tacho/internal/jobserver"
	"github.com/tachobench/tacho/rules/suite"
)

// A repository is mirrored in an entry of its own. The store holds the entry's exclusive lock while git works in it.
// The mirror is removed like any other entry when it was unused for longest.

// mirror is a repository in the cache, locked.
type mirror struct {
	*fetching
	lock *filelock.Lock
}

// openMirror returns the mirror of a repository, empty at first.
func (s *Store) openMirror(ctx context.Context, ref Ref) (*mirror, error) {
	key := entryKey(digest("mirror", ref.Source.Repository), nil)
	l, err := filelock.Await(ctx, s.lockFile(key), filelock.Exclusive, func() {
		s.Progress(fmt.Sprintf("%s: waiting for another process that uses the repository", ref))
	})
	if err != nil {
		return nil, err
	}
	m := &mirror{&fetching{manifest: manifest{Suite: ref.Suite}, store: s, ref: ref, key: key, room: &room{store: s, key: key}}, l}
	if err := m.init(ctx); err != nil {
		l.Release()
		return nil, errors.Join(err, s.sweepOne(key))
	}
	return m, nil
}

func (m *mirror) init(ctx context.Context) error {
	was, err := m.store.readManifest(m.key)
	if was != nil || err != nil {
		return err
	}
	if err := removeAll(m.dir()); err != nil {
		return err
	}
	if err := m.room.retry(func() error { return os.MkdirAll(m.root(), 0o755) }); err != nil {
		return err
	}
	if err := m.git(ctx, "init", "--quiet", "--bare"); err != nil {
		return err
	}
	return m.counted()
}

// counted records the current size of the mirror.
func (m *mirror) counted() error {
	n, err := treeBytes(m.root())
	if err != nil {
		return err
	}
	m.Parts = []part{{From: m.ref.Source.Repository, Disk: n, Origin: m.key}}
	return m.room.retry(func() error { return m.store.writeManifest(m.key, m.manifest) })
}

func (m *mirror) close() {
	m.lock.Touch()
	m.lock.Release()
}

// git runs git in the mirror. Its errors tell a repository that does not exist from trouble with reaching it.
func (m *mirror) git(ctx context.Context, args ...string) error {
	_, err := runGit(ctx, m.ref, m.root(), args...)
	return err
}

func runGit(ctx context.Context, ref Ref, dir string, args ...string) (string, error) {
	output, err := git.Command{Dir: dir, Args: args}.Run(ctx)
	var failed *git.Error
	switch {
	case err == nil:
		return strings.TrimSpace(output), nil
	case errors.Is(err, git.ErrNotInstalled):
		return "", &RefusedError{What: ref.String(), Reason: err.Error()}
	case !errors.As(err, &failed):
		return "", err
	case failed.Says("No space left on device", "Disk quota exceeded"):
		return "", fmt.Errorf("git %s: %w", failed.Verb, errDiskFull)
	case failed.Says("does not appear to be a git repository", "does not exist", "' not found"):
		return "", &NotThereError{What: ref.String(), Tried: []string{"the repository " + ref.Source.Repository}}
	case failed.Says("not our ref", "couldn't find remote ref", "unadvertised object"):
		return "", &NotThereError{What: ref.String(), Tried: []string{fmt.Sprintf("%s in %s", ref.Tag, ref.Source.Repository)}}
	}
	return "", fmt.Errorf("git %s: %w%s", failed.Verb, failed.Err, indented(failed.Said))
}

// resolve returns the commit that the tag names. If the mirror does not have it, it asks the repository.
func (m *mirror) resolve(ctx context.Context) (string, error) {
	commit, err := m.lookUp(ctx)
	if commit != "" || err != nil {
		return commit, err
	}
	repository, tag := m.ref.Source.Repository, string(m.ref.Tag)
	m.store.Progress(fmt.Sprintf("%s: fetching from %s", m.ref, repository))
	if err := m.fetchRefs(ctx, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return "", err
	}
	if commit, err = m.lookUp(ctx); commit != "" || err != nil {
		return commit, err
	}
	// Servers also give commits that no branch has, such as those of merge requests, if a client asks for them by
	// name.
	if isSHA(tag) {
		if err := m.fetchRefs(ctx, tag); err != nil && !isNotThere(err) {
			return "", err
		}
		if commit, err = m.lookUp(ctx); commit != "" || err != nil {
			return commit, err
		}
	}
	return "", &NotThereError{What: m.ref.String(), Tried: []string{fmt.Sprintf("commit %s in %s", tag, repository)}}
}

func (m *mirror) fetchRefs(ctx context.Context, specs ...string) error {
	if err := m.removeLocks(); err != nil {
		return err
	}
	args := append([]string{"fetch", "--quiet", "--no-auto-gc", "--", m.ref.Source.Repository}, specs...)
	if err := m.room.retry(func() error { return m.git(ctx, args...) }); err != nil {
		return err
	}
	return m.counted()
}

// removeLocks removes the lock files of a git command that was killed. No other git command runs now: the mirror is
// locked.
func (m *mirror) removeLocks() error {
	return filepath.WalkDir(m.root(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "objects":
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(d.Name(), ".lock"):
			return os.Remove(path)
		}
		return nil
	})
}

// lookUp returns the commit that the tag names, "" if the mirror does not know the tag.
func (m *mirror) lookUp(ctx context.Context) (string, error) {
	commit, err := runGit(ctx, m.ref, m.root(), "rev-parse", "--quiet", "--verify", "--end-of-options", string(m.ref.Tag)+"^{commit}")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", nil
	}
	return commit, err
}

func isSHA(tag string) bool {
	return len(tag) == 40 && strings.Trim(tag, "0123456789abcdef") == ""
}

func (s *Store) readyGit(ctx context.Context, ref Ref) error {
	m, err := s.openMirror(ctx, ref)
	if err != nil {
		return s.explain(err)
	}
	defer m.close()
	_, err = m.resolve(ctx)
	return s.explain(err)
}

// fetchGit checks the commit out and builds it in its final place, since builds remember their directory.
func (s *Store) fetchGit(ctx context.Context, f *fetching) error {
	commit, err := s.checkOut(ctx, f)
	if err != nil {
		return err
	}
	argv := f.ref.Source.Build
	if len(argv) == 0 {
		return &RefusedError{What: f.ref.String(), Reason: fmt.Sprintf("artifacts of kind %q need a build command: correct the suite file", suite.ArtifactGit)}
	}
	if f.ref.Caches != nil {
		if argv, err = suite.ReplaceCaches(argv, f.ref.Caches); err != nil {
			return err
		}
	}
	s.Progress(fmt.Sprintf("%s: building commit %.12s", f.ref, commit))
	_, said, err := command{dir: f.root(), argv: argv, unset: jobserver.Variables()}.run(ctx)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && containsAny(strings.ToLower(said), "no space left on device", "disk quota exceeded"):
		return noSpace(s.Dir, 0)
	case errors.As(err, &exit) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission):
		return &RefusedError{What: f.ref.String(), Reason: fmt.Sprintf("the build of %.12s has failed: %s: %v%s", commit, strings.Join(argv, " "), err, indented(said))}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // ErrWaitDelay is a success that left a process running
		return err
	}
	n, err := treeBytes(f.root())
	if err != nil {
		return err
	}
	f.Version = commit
	f.Parts = []part{{From: f.ref.Source.Repository + "@" + commit, Disk: n, Origin: f.key}}
	return f.room.take(n)
}

// checkOut makes the entry's root a clone at the commit. Its objects are hard links to those of the mirror.
func (s *Store) checkOut(ctx context.Context, f *fetching) (commit string, err error) {
	m, err := s.openMirror(ctx, f.ref)
	if err != nil {
		return "", err
	}
	defer m.close()
	if commit, err = m.resolve(ctx); err != nil {
		return "", err
	}
	err = f.room.retry(func() error {
		if err := removeAll(f.root()); err != nil {
			return err
		}
		if _, err := runGit(ctx, f.ref, f.dir(), "clone", "--quiet", "--local", "--no-checkout", "--", m.root(), filepath.Base(f.root())); err != nil {
			return err
		}
		_, err := runGit(ctx, f.ref, f.root(), "checkout", "--quiet", "--detach", commit, "--")
		return err
	})
	return commit, err
}
