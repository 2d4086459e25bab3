package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/events"
)

// Tree names the content of a commit, of which ref names the repository. A commit with the same files has the same one,
// whatever its message and its parents are.
func (s *Store) Tree(ctx context.Context, ref Ref) (events.Digest, error) {
	if err := ref.check(); err != nil {
		return "", err
	}
	m, err := s.openMirror(ctx, ref)
	if err != nil {
		return "", s.explain(wrap(ref, err))
	}
	defer m.close()
	var tree string
	commit, err := m.resolve(ctx)
	if err == nil {
		tree, err = runGit(ctx, ref, m.root(), "rev-parse", "--quiet", "--verify", "--end-of-options", commit+"^{tree}")
	}
	if err != nil {
		return "", s.explain(wrap(ref, err))
	}
	return events.Digest("git-tree:" + tree), nil
}

// Content names the content of the directory of an artifact: the names of its files, what they hold, and whether they can be
// executed. The directory .git, of a checkout, is left out: it differs by chance.
func Content(ctx context.Context, dir string) (events.Digest, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			fmt.Fprintf(h, "dir %q\n", name)
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "link %q %q\n", name, to)
		case d.Type().IsRegular():
			fmt.Fprintf(h, "file %q %v %d\n", name, info.Mode()&0o111 != 0, info.Size())
			return hashFile(h, path)
		default:
			fmt.Fprintf(h, "other %q %v\n", name, d.Type())
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the content of %s: %w", dir, err)
	}
	return events.Digest(hex.EncodeToString(h.Sum(nil))), nil
}

func hashFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	_, err = io.Copy(to, f)
	return err
}
