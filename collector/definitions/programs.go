package definitions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Programs are the sources of a suite: each program is a directory, or a txtar archive with the extension ".txtar".
type Programs struct{ files fs.FS }

// Digest names the content of a program: the SHA-256 over the names and contents of its files, in the order of
// their names.
func (p Programs) Digest(source string) (events.Digest, error) {
	files, err := p.read(source)
	if err != nil {
		return "", fmt.Errorf("program %s: %w", source, err)
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d:%s,%d:", len(f.Name), f.Name, len(f.Data))
		h.Write(f.Data)
	}
	return events.Digest(hex.EncodeToString(h.Sum(nil))), nil
}

// Materialise writes the files of a program into dir, which must be empty or not exist. It writes them beside dir and
// moves them there at the end. So after an error or a crash dir is unchanged.
func (p Programs) Materialise(source, dir string) error {
	files, err := p.read(source)
	if err == nil {
		err = write(files, dir)
	}
	if err != nil {
		return fmt.Errorf("write program %s: %w", source, err)
	}
	return nil
}

func (p Programs) digestOf(b suite.BenchmarkDef) (events.Digest, error) { return p.Digest(b.Source) }

// read returns the files of a program by name.
func (p Programs) read(source string) ([]txtar.File, error) {
	if !fs.ValidPath(source) {
		return nil, errors.New("its source must be a relative path without \"..\"")
	}
	files, err := p.archive(source + ".txtar")
	if errors.Is(err, fs.ErrNotExist) {
		files, err = p.directory(source)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is neither a directory %s nor %s.txtar", source, path.Base(source))
	case err != nil:
		return nil, err
	case len(files) == 0:
		return nil, errors.New("it has no files")
	}
	slices.SortFunc(files, func(a, b txtar.File) int { return cmp.Compare(a.Name, b.Name) })
	for i, f := range files {
		if !fs.ValidPath(f.Name) || f.Name == "." {
			return nil, fmt.Errorf("file name %q must be a relative path without \"..\"", f.Name)
		}
		if i > 0 && files[i-1].Name == f.Name {
			return nil, fmt.Errorf("file %s is there twice", f.Name)
		}
	}
	return files, nil
}

func (p Programs) archive(name string) ([]txtar.File, error) {
	data, err := fs.ReadFile(p.files, name)
	if err != nil {
		return nil, err
	}
	return txtar.Parse(data).Files, nil
}

func (p Programs) directory(root string) ([]txtar.File, error) {
	sub, err := fs.Sub(p.files, root)
	if err != nil {
		return nil, err
	}
	var files []txtar.File
	err = fs.WalkDir(sub, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		// A link counts as the file that it leads to, if that is among the programs.
		info, err := fs.Stat(sub, name)
		if err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a regular file nor a link to one among the programs", name)
		}
		data, err := fs.ReadFile(sub, name)
		files = append(files, txtar.File{Name: name, Data: data})
		return err
	})
	return files, err
}

func write(files []txtar.File, dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".program-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	for _, f := range files {
		name := filepath.Join(part, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	return os.Rename(part, dir)
}
