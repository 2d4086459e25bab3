package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Archives of programs wrap their content in directories of their own. One is named after the release. In archives
// that are parts of an installation, one more is named after the part. Both are removed:
//
//	go1.25.3/bin/go                                   -> bin/go
//	rustc-nightly-x86_64/install.sh, components       -> dropped
//	rustc-nightly-x86_64/rustc/lib/librustc_driver.so -> lib/librustc_driver.so

// arrange moves the artifact's files from the unpacked archive in stage to root, which holds those of the earlier
// archives. Files of a later archive replace those of an earlier one.
func arrange(stage, root string) error {
	top, err := peel(stage)
	if err != nil {
		return err
	}
	parts, err := installed(top)
	if err != nil {
		return err
	}
	if parts == nil {
		return merge(top, root)
	}
	for _, p := range parts {
		// This file lists what the installer would copy.
		if err := os.Remove(filepath.Join(p, "manifest.in")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := merge(p, root); err != nil {
			return err
		}
	}
	return nil
}

// isProgramDir reports whether a directory of that name is part of an installed program and not a wrapping.
func isProgramDir(name string) bool {
	switch name {
	case "bin", "sbin", "lib", "lib64", "libexec", "include", "share", "etc", "src", "usr", "pkg":
		return true
	}
	return false
}

// peel descends while the directory holds nothing but one directory that wraps the rest.
func peel(dir string) (string, error) {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", err
		}
		if len(entries) != 1 || !entries[0].IsDir() || isProgramDir(entries[0].Name()) {
			return dir, nil
		}
		dir = filepath.Join(dir, entries[0].Name())
	}
}

// installed returns the directories of the parts if dir is an archive with an installer, else nil.
func installed(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var directories []string
	installer := false
	for _, e := range entries {
		switch {
		case e.IsDir() && isProgramDir(e.Name()):
			return nil, nil
		case e.IsDir():
			directories = append(directories, e.Name())
		case e.Type().IsRegular() && (e.Name() == "install.sh" || e.Name() == "components"):
			installer = true
		}
	}
	if !installer || len(directories) == 0 {
		return nil, nil
	}
	list, err := componentList(filepath.Join(dir, "components"))
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, d := range directories {
		if list == nil || slices.Contains(list, d) {
			parts = append(parts, filepath.Join(dir, d))
		}
	}
	if parts == nil {
		return nil, &RefusedError{Reason: fmt.Sprintf("the archive's list of components names none of its directories (%s)", strings.Join(directories, ", "))}
	}
	return parts, nil
}

// componentList reads the names of the directories to install; nil without such a list.
func componentList(file string) ([]string, error) {
	const most = 64 << 10
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Size() > most) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file)
	return strings.Fields(string(b)), err
}

// merge moves everything in from to the directory to. It only renames, since both are on one file system. It merges
// directories that exist in both.
func merge(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		info, err := os.Lstat(target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.IsDir() && e.IsDir():
			if err := merge(source, target); err != nil {
				return err
			}
			continue
		case info.IsDir() != e.IsDir():
			return &RefusedError{Reason: fmt.Sprintf("%s is a directory in one archive and not in another", e.Name())}
		}
		if err := os.Rename(source, target); err != nil {
			return err
		}
	}
	return nil
}

// checkLinks refuses a tree with a symbolic link that leads out of it. A link to nothing is harmless.
func checkLinks(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink {
			return err
		}
		_, err = root.Stat(name)
		if err == nil || errors.Is(err, fs.ErrNotExist) || machineFault(err) {
			return nil
		}
		target, _ := root.Readlink(name)
		return unsafe(name, fmt.Sprintf("links to %q, out of the artifact", target))
	})
}
