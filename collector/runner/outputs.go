package runner

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/suite"
)

// An output is a tar file that depends on nothing but the names and the content of its files, on their being executable,
// and on the targets of links. So an equal tree has an equal digest, wherever and whenever it was built.

// tarOverhead is at least what an entry takes in a tar file beside its content, in bytes.
const tarOverhead = 512

// outputError says why an output cannot be stored. It would be so again.
type outputError struct{ reason string }

func (e *outputError) Error() string { return e.reason }

func unfit(format string, args ...any) error { return &outputError{fmt.Sprintf(format, args...)} }

// tree is a part of a directory.
type tree struct {
	root    *os.Root
	entries []treeEntry
}

type treeEntry struct {
	name string
	mode fs.FileMode
	size int64
	// link is the target of a symbolic link.
	link string
}

// collect returns what the paths match in a directory, sorted by name. The root must stay open while the tree is used.
func collect(root *os.Root, paths suite.Paths, to Storage) (tree, error) {
	t := tree{root: root}
	var total int64
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return unfit("%q cannot be read: %v", name, err)
		case err != nil:
			return fmt.Errorf("look for outputs: %w", err)
		case name == ".":
			return nil
		}
		matches, below := paths.Match(name)
		switch {
		case !matches && !below && d.IsDir():
			return fs.SkipDir
		case !matches:
			return nil
		}
		e, err := t.entry(name, d)
		if err != nil {
			return err
		}
		if total += e.size + tarOverhead; total > to.MaxBytes {
			return unfit("it has more than %d MiB", to.MaxBytes>>20)
		}
		if t.entries = append(t.entries, e); len(t.entries) > to.MaxFiles {
			return unfit("it has more than %d files", to.MaxFiles)
		}
		return nil
	})
	slices.SortFunc(t.entries, func(a, b treeEntry) int { return strings.Compare(a.name, b.name) })
	return t, err
}

func (t *tree) entry(name string, d fs.DirEntry) (treeEntry, error) {
	switch d.Type() {
	case fs.ModeDir:
		return treeEntry{name: name, mode: fs.ModeDir | 0o755}, nil
	case fs.ModeSymlink:
		target, err := t.root.Readlink(name)
		if err != nil {
			return treeEntry{}, fmt.Errorf("look for outputs: %w", err)
		}
		return treeEntry{name: name, mode: fs.ModeSymlink | 0o777, link: target}, t.inside(name, target)
	case 0:
		info, err := d.Info()
		if err != nil {
			return treeEntry{}, fmt.Errorf("look for outputs: %w", err)
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		return treeEntry{name: name, mode: mode, size: info.Size()}, nil
	}
	return treeEntry{}, unfit("%q is neither a file, a directory nor a link", name)
}

// inside checks that a link does not lead out of the directory, by itself or through other links.
func (t *tree) inside(name, target string) error {
	if target == "" || path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
		return unfit("the link %q leads to %q, out of the directory of the steps", name, target)
	}
	_, err := t.root.Stat(name)
	// A link to nothing is harmless, and so is one to itself.
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return unfit("the link %q leads to %q, out of the directory of the steps: %v", name, target, err)
}

// describe returns the output of a name that has the tree.
func (t *tree) describe(ctx context.Context, name string) (events.Output, error) {
	hash := sha256.New()
	counted := &counter{to: hash}
	if err := t.write(ctx, counted); err != nil {
		return events.Output{}, err
	}
	return events.Output{Name: name, Digest: events.Digest(hex.EncodeToString(hash.Sum(nil))), Bytes: counted.n}, nil
}

// write writes the tree as a tar file.
func (t *tree) write(ctx context.Context, to io.Writer) error {
	w := tar.NewWriter(to)
	for _, e := range t.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.writeEntry(w, e); err != nil {
			return err
		}
	}
	return w.Close()
}

func (t *tree) writeEntry(w *tar.Writer, e treeEntry) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode.Perm()), Size: e.size, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	switch e.mode.Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
	case fs.ModeSymlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
	}
	if err := w.WriteHeader(h); err != nil {
		return unfit("%q cannot be in a tar file: %v", e.name, err)
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	// If a pipe has taken the place of the file, opening it does not wait.
	f, err := t.root.OpenFile(e.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return unfit("%q cannot be read: %v", e.name, err)
	case err != nil:
		return fmt.Errorf("read an output: %w", err)
	}
	defer f.Close()
	n, err := io.Copy(w, io.LimitReader(f, e.size))
	if err == nil && n < e.size {
		return unfit("%q became shorter while it was stored", e.name)
	}
	if err != nil {
		return fmt.Errorf("read an output: %w", err)
	}
	return nil
}

// counter counts what is written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// Storage is where outputs go.
type Storage struct {
	// MaxBytes is how large one can be, MaxFiles how many files, directories and links it can have.
	MaxBytes int64
	MaxFiles int
	// Store stores an output of the job, or an upload, and says so. It returns ErrOutput if that would fail again.
	Store func(ctx context.Context, o events.Output, upload bool, content io.Reader) error
}

// ErrOutput says that an output cannot be stored, and could not be later.
var ErrOutput = errors.New("the output cannot be stored")

// store stores what the paths match in the directory src of a slot. It returns an *outputError if there is nothing, or nothing that can be stored.
func store(ctx context.Context, slot, src string, what suite.StoredPaths, as string, upload bool, to Storage, sink Sink) error {
	begun := time.Now()
	defer func() { sink.Took(func(p *events.Phases) *int64 { return &p.Store }, time.Since(begun)) }()
	around, err := os.OpenRoot(slot)
	if err != nil {
		return fmt.Errorf("look for outputs: %w", err)
	}
	defer around.Close()
	root, err := around.OpenRoot(src) // a link that a step has put there may not lead out
	if err != nil {
		return unfit("the directory of the steps is no directory any more: %v", err)
	}
	defer root.Close()
	t, err := collect(root, what.Paths, to)
	switch {
	case err != nil:
		return err
	case !slices.ContainsFunc(t.entries, func(e treeEntry) bool { return !e.mode.IsDir() }):
		return unfit("no file matches its paths")
	}
	o, err := t.describe(ctx, as)
	if err != nil {
		return err
	}
	if o.Bytes > to.MaxBytes {
		return unfit("it has more than %d MiB", to.MaxBytes>>20)
	}
	sink.Log(fmt.Sprintf("storing %s: %s, %d bytes, %.12s", as, phrase.Count(len(t.entries), "file"), o.Bytes, o.Digest))
	r, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.CloseWithError(t.write(ctx, w))
	}()
	err = to.Store(ctx, o, upload, r)
	r.Close()
	<-written
	if errors.Is(err, ErrOutput) {
		return unfit("%v", err)
	}
	return err
}
