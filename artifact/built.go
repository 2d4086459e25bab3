package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/events"
)

// An artifact that the farm has built is an entry by the digest of its output. All that measure the same bytes, of
// whatever commit, have the same directory.

// Built is an output that is an artifact.
type Built struct {
	Digest events.Digest
	Bytes  int64
	// Get writes the output, a tar file, and checks it on its way. What it wrote before an error is worth nothing.
	Get func(ctx context.Context, to io.Writer) error
}

// outputKey names an output among the parts of entries.
func outputKey(d events.Digest) string { return digest("output", d) }

func (s *Store) acquireBuilt(ctx context.Context, ref Ref) (dir, version string, release func(), err error) {
	if ref.Built == nil {
		return "", "", nil, &RefusedError{What: ref.String(), Reason: "the job has no output of a build to measure: its kind must need one, see docs/builds.md"}
	}
	h, err := s.obtain(ctx, ref, outputKey(ref.Built.Digest), nil, s.fetchBuilt)
	if err != nil {
		return "", "", nil, s.explain(wrap(ref, err))
	}
	return s.rootDir(h.key), h.Version, h.release(), nil
}

func (s *Store) fetchBuilt(ctx context.Context, f *fetching) error {
	b := f.ref.Built
	s.Progress(fmt.Sprintf("%s: fetching the output %.12s, %s", f.ref, b.Digest, size(b.Bytes)))
	stage := filepath.Join(f.dir(), "stage")
	if err := f.room.retry(func() error { return os.MkdirAll(stage, 0o755) }); err != nil {
		return err
	}
	err := receive(ctx, b.Get, func(r io.Reader) error { return unpack("output.tar", r, stage, f.room) })
	if err != nil {
		return named(f.ref.String(), err)
	}
	top, err := peel(stage)
	if err != nil {
		return err
	}
	if err := merge(top, f.root()); err != nil {
		return err
	}
	if err := errors.Join(checkLinks(f.root()), removeAll(stage)); err != nil {
		return named(f.ref.String(), err)
	}
	f.Version = fmt.Sprintf("built, %.12s", b.Digest)
	f.Parts = []part{{From: "output", SHA256: b.Digest, Verified: true, Bytes: b.Bytes, Disk: f.room.used, Origin: f.key}}
	return nil
}

// receive passes what get writes to use. It returns the error of get if both fail: use then saw half of it.
func receive(ctx context.Context, get func(context.Context, io.Writer) error, use func(io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	got := make(chan error, 1)
	go func() {
		err := get(ctx, w)
		w.CloseWithError(err)
		got <- err
	}()
	used := use(r)
	if used == nil {
		_, used = io.Copy(io.Discard, r)
	}
	if used != nil {
		r.CloseWithError(errUnused)
	}
	err := <-got
	if err != nil && !errors.Is(err, errUnused) {
		return err
	}
	return used
}

// errUnused stops a transfer that is of no use any more.
var errUnused = errors.New("the rest is not used")

// Unpack makes a directory and unpacks an output into it, below a directory that its caller alone uses.
func (s *Store) Unpack(ctx context.Context, b Built, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	// It is no entry: its size is not counted, and it makes room only on a full disk.
	unbounded := &Store{s.Config}
	unbounded.MaxBytes = 0
	err := receive(ctx, b.Get, func(r io.Reader) error { return unpack("output.tar", r, dir, &room{store: unbounded}) })
	if err == nil {
		err = checkLinks(dir)
	}
	if err != nil {
		return named(fmt.Sprintf("output %.12s", b.Digest), err)
	}
	return nil
}

// CheckOut puts the tree of the commit that the tag of a git artifact names into an empty directory. The directory is no
// repository: it holds the files of the commit alone. Its errors are those of Acquire.
func (s *Store) CheckOut(ctx context.Context, ref Ref, dir string) (commit string, err error) {
	if err := ref.check(); err != nil {
		return "", err
	}
	m, err := s.openMirror(ctx, ref)
	if err != nil {
		return "", s.explain(wrap(ref, err))
	}
	defer m.close()
	if commit, err = m.resolve(ctx); err == nil {
		err = m.extract(ctx, commit, dir)
	}
	if err != nil {
		return "", s.explain(wrap(ref, err))
	}
	return commit, nil
}

// extract writes the files of a commit to a directory. The index that git makes for that stays in the mirror no longer
// than it is used: a killed git may have left one.
func (m *mirror) extract(ctx context.Context, commit, dir string) error {
	drop := func() error {
		err := os.Remove(filepath.Join(m.root(), "index"))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := errors.Join(m.removeLocks(), drop()); err != nil {
		return err
	}
	_, err := runGit(ctx, m.ref, m.root(), "--git-dir="+m.root(), "--work-tree="+dir, "read-tree", "--reset", "-u", "--quiet", commit)
	return errors.Join(err, drop())
}
