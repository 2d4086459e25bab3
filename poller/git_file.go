package poller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/internal/git"
)

// Tip implements Files.
func (g Git) Tip(ctx context.Context) (string, error) { return g.remoteTip(ctx) }

// File implements Files. If somebody has pushed since Tip was asked, it reads the newer commit: a commit that a force push
// dropped need not exist any more.
func (g Git) File(ctx context.Context, revision, path string) (File, error) {
	m, err := g.update(ctx, revision)
	if err != nil {
		return File{}, err
	}
	defer m.lock.Release()
	tip, err := m.git("rev-parse", "--verify", tipRef).Run(ctx)
	if err != nil {
		return File{}, g.unread(ctx, path, err)
	}
	file, err := m.file(ctx, strings.TrimSpace(tip), path)
	return file, g.unread(ctx, path, err)
}

// At implements Tree: the mirror has each commit that Newest yielded.
func (g Git) At(ctx context.Context, commit, path string) (File, error) {
	lock, err := g.await(ctx)
	if err != nil {
		return File{}, err
	}
	defer lock.Release()
	file, err := mirror{Git: g, lock: lock}.file(ctx, commit, path)
	return file, g.unread(ctx, path, err)
}

// unread explains why a file could not be read; nil if it could. It removes a mirror that cannot be used.
func (g Git) unread(ctx context.Context, path string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("read %s from the mirror of %s: %w", path, clean(g.URL), err)
	var failed *git.Error
	if ctx.Err() == nil && errors.As(err, &failed) && (saysDamaged(err) || !failed.Says("promisor remote")) {
		// The remote is not the cause. The next poll then fetches everything anew.
		return errors.Join(err, os.RemoveAll(g.Dir))
	}
	return err
}

// file reads a file of a commit. Git fetches the trees and the one file that the mirror lacks.
func (m mirror) file(ctx context.Context, commit, path string) (File, error) {
	file := File{Revision: commit}
	// A path is never a pattern here, and git follows no link on the way to it.
	listed, err := m.remote("--literal-pathspecs", "ls-tree", "-z", file.Revision, "--", path).Run(ctx)
	if err != nil {
		return File{}, err
	}
	var mode string
	for entry := range strings.SplitSeq(listed, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(about); name == path && len(fields) == 3 {
			mode, file.ID = fields[0], fields[2]
		}
	}
	if file = file.ofMode(path, mode); file.Refused != "" {
		return file, nil
	}
	text, err := m.remote("cat-file", "-s", file.ID).Run(ctx)
	if err != nil {
		return File{}, err
	}
	size, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return File{}, fmt.Errorf("git cat-file: the size of %s is %.40q", path, text)
	}
	if size > mostFile {
		return file.tooLarge(path, size), nil
	}
	err = m.git("cat-file", "blob", file.ID).Stream(ctx, func(r io.Reader) (err error) {
		file.Data, err = io.ReadAll(io.LimitReader(r, mostFile))
		return err
	})
	return file, err
}
