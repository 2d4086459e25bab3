package artifact

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// unpack writes the content of the archive r to the directory dir. The name tells the form of the archive. An error
// that is the archive's fault is a *RefusedError; an archive that ends too early is io.ErrUnexpectedEOF.
func unpack(name string, r io.Reader, dir string, room *room) error {
	in, err := decompress(name, bufio.NewReaderSize(r, 256<<10))
	if err != nil {
		return damaged(err)
	}
	// No name or link in the archive can lead out of a Root.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	u := &unpacker{root: root, room: room, buffer: make([]byte, 256<<10), made: map[string]bool{".": true}}
	return errors.Join(u.all(in), u.closeParent(), root.Close())
}

func decompress(name string, r io.Reader) (io.Reader, error) {
	switch {
	case strings.HasSuffix(name, ".tar"):
		return r, nil
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		return gzip.NewReader(r)
	case strings.HasSuffix(name, ".tar.xz"), strings.HasSuffix(name, ".txz"):
		return xz.NewReader(r)
	}
	return nil, &RefusedError{Reason: "not a kind of archive that can be unpacked: use .tar, .tar.gz or .tar.xz in the suite's [artifact] urls"}
}

// damaged turns an error of a decompressor or the tar reader into one of ours.
func damaged(err error) error {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return &RefusedError{Reason: "the archive is damaged: " + err.Error()}
}

func unsafe(name, why string) error {
	return &RefusedError{Reason: fmt.Sprintf("the archive is not safe to unpack: %q %s", name, why)}
}

// entryName returns the path of an entry below the directory of the unpacked archive; "." is that directory.
func entryName(name string) (string, error) {
	if strings.ContainsRune(name, 0) || name == "" {
		return "", unsafe(name, "is not a valid name")
	}
	clean := path.Clean(name)
	if path.IsAbs(name) || !filepath.IsLocal(clean) {
		return "", unsafe(name, "leads out of it")
	}
	for step := range strings.SplitSeq(name, "/") {
		if step == ".." {
			return "", unsafe(name, "has a step up")
		}
	}
	return clean, nil
}

// linkTarget checks that the symbolic link name does not lead out of the archive.
func linkTarget(name, target string) error {
	if target == "" || strings.ContainsRune(target, 0) || path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
		return unsafe(name, fmt.Sprintf("links to %q, out of it", target))
	}
	return nil
}

type unpacker struct {
	root   *os.Root
	room   *room
	buffer []byte
	// made are the directories that are known to exist.
	made map[string]bool
	// parent is the directory of the last file. It stays open because the next file is usually beside it.
	parent     *os.Root
	parentName string
}

// tarBlock is the size of a tar archive's blocks.
const tarBlock = 512

// counted is a reader that counts its bytes.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func (u *unpacker) all(archive io.Reader) error {
	in := &counted{Reader: archive}
	tr := tar.NewReader(in)
	for {
		before := in.n
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			// The reader takes the end of its input for the end of the archive. An archive has an end of its own: at
			// least one block of zeros. Without compression, this is the only sign of half a download.
			if in.n-before < tarBlock {
				return io.ErrUnexpectedEOF
			}
			break
		}
		if err != nil {
			return damaged(err)
		}
		if err := u.entry(h, tr); err != nil {
			return err
		}
	}
	// Read the rest too: the decompressor checks its sums only at the end.
	if _, err := io.Copy(io.Discard, in); err != nil {
		return damaged(err)
	}
	return nil
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := entryName(h.Name)
	if err != nil {
		return err
	}
	if name == "." {
		if h.Typeflag != tar.TypeDir {
			return unsafe(h.Name, "is not the name of a file")
		}
		return nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.mkdir(name)
	case tar.TypeReg:
		return u.file(name, h, content)
	case tar.TypeSymlink:
		if err := linkTarget(name, h.Linkname); err != nil {
			return err
		}
		return u.replace(name, onDisk(0), func(dir *os.Root, base string) error { return dir.Symlink(h.Linkname, base) })
	case tar.TypeLink:
		old, err := entryName(h.Linkname)
		if err != nil {
			return err
		}
		return u.replace(name, 0, func(*os.Root, string) error { return u.root.Link(old, name) })
	}
	return unsafe(h.Name, "is neither a file, a directory nor a link")
}

func (u *unpacker) mkdir(name string) error {
	if u.made[name] {
		return nil
	}
	if err := u.room.take(onDisk(0)); err != nil {
		return err
	}
	if err := u.do(name, func() error { return u.root.MkdirAll(name, 0o755) }); err != nil {
		return err
	}
	u.made[name] = true
	return nil
}

func (u *unpacker) file(name string, h *tar.Header, content io.Reader) error {
	mode := fs.FileMode(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	var f *os.File
	err := u.replace(name, onDisk(h.Size), func(dir *os.Root, base string) (err error) {
		f, err = dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	if err != nil {
		return err
	}
	if err := u.copy(f, content); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// copy writes the content. When the disk is full, it makes room and continues.
func (u *unpacker) copy(f *os.File, content io.Reader) error {
	for {
		n, err := content.Read(u.buffer)
		rest := u.buffer[:n]
		if werr := u.room.retry(func() error {
			k, err := f.Write(rest)
			rest = rest[k:]
			return err
		}); werr != nil {
			return werr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
	}
}

// replace makes a file or a link in its directory. If an archive has two entries of one name, the later wins, as in
// tar.
func (u *unpacker) replace(name string, bytes int64, create func(dir *os.Root, base string) error) error {
	if err := u.room.take(bytes); err != nil {
		return err
	}
	dir, err := u.enter(path.Dir(name))
	if err != nil {
		return err
	}
	base := path.Base(name)
	return u.do(name, func() error {
		err := create(dir, base)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := dir.Remove(base); err != nil {
			return err
		}
		return create(dir, base)
	})
}

// enter opens the directory of a file. It makes the directory if it does not exist.
func (u *unpacker) enter(name string) (*os.Root, error) {
	if u.parent != nil && u.parentName == name {
		return u.parent, nil
	}
	if err := u.mkdir(name); err != nil {
		return nil, err
	}
	if err := u.closeParent(); err != nil {
		return nil, err
	}
	err := u.do(name, func() (err error) {
		u.parent, err = u.root.OpenRoot(name)
		return err
	})
	u.parentName = name
	return u.parent, err
}

func (u *unpacker) closeParent() error {
	if u.parent == nil {
		return nil
	}
	err := u.parent.Close()
	u.parent = nil
	return err
}

// do makes one file, directory or link. The directory is new and belongs to us, so a failure is the archive's fault,
// unless the disk is full or the machine at fault.
func (u *unpacker) do(name string, make func() error) error {
	err := u.room.retry(make)
	if err == nil || isFull(err) || machineFault(err) {
		return err
	}
	return unsafe(name, "could not be made: "+err.Error())
}
