package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// prepareCache runs the program's generator and returns a directory with a build cache. That cache holds the packages
// of the standard library that the program needs, compiled as the profile wants, and nothing else.
//
// The standard library is compiled into a cache that all benchmarks of the toolchain share. A package of the runner's
// own fills it by importing what is needed. So no package of a program ever gets into it, and it is the same for
// every subcommand. The go command keeps such a cache whole whatever happens to it. The lock only saves two
// collectors from compiling the same at the same time.
func (g *goCommand) prepareCache(ctx context.Context) (string, error) {
	key, err := toolchainKey(g.tc)
	if err != nil {
		return "", err
	}
	unlock, err := lockCache(ctx, g.slot.Cache, "go", key)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := g.awaitIndexable(ctx); err != nil {
		return "", err
	}
	shared, own := filepath.Join(g.slot.Cache, "go", key), g.slot.Path("gocache")
	if len(g.bench.Prepare) > 0 {
		// Filled once. If part of it is missing later, the generator only takes longer.
		if entries, err := os.ReadDir(shared); err == nil && len(entries) == 0 {
			if err := g.fillCache(ctx, shared, generatorPackages()); err != nil {
				return "", err
			}
		}
		if err := linkTree(shared, own); err != nil {
			return "", err
		}
		if err := g.slot.Prepare(ctx, g.src, append(g.env(own), g.bench.Env...), g.bench.Prepare); err != nil {
			return "", err
		}
	}
	list := append([]string{"list", "-deps", "-f={{if .Standard}}{{.ImportPath}}{{end}}"}, g.packages...)
	needed, err := g.do(ctx, g.src, shared, list...)
	if err != nil {
		return "", fmt.Errorf("list the packages of the program: %w", err)
	}
	if err := g.fillCache(ctx, shared, strings.Fields(needed)); err != nil {
		return "", err
	}
	std := g.slot.Path("std")
	return std, linkTree(shared, std)
}

// The go command keeps an index of the standard library in its build cache, but not of files that changed in the last
// two seconds. A cache that is filled right after the toolchain was unpacked would lack the index. Every build from
// that cache would read the sources again: a quarter more page faults in what is measured.
const (
	indexAge = 2500 * time.Millisecond
	// unpacking is how much older the first file of a toolchain may be than its last one.
	unpacking = time.Minute
)

// awaitIndexable waits until the files of a newly unpacked toolchain are old enough to be indexed.
func (g *goCommand) awaitIndexable(ctx context.Context) error {
	info, err := os.Stat(filepath.Join(g.tc.Dir, "bin", "go"))
	if err != nil {
		return fmt.Errorf("look at the toolchain: %w", err)
	}
	if time.Since(info.ModTime()) > unpacking {
		return nil
	}
	wait := time.NewTimer(indexAge)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-wait.C:
		return nil
	}
}

// generatorPackages returns the packages that most generators need. A generator that needs more compiles them each
// time.
func generatorPackages() []string {
	return []string{"bufio", "bytes", "fmt", "os", "path/filepath", "sort", "strconv", "strings"}
}

// fillCache compiles packages of the standard library, and their dependencies, into a cache.
func (g *goCommand) fillCache(ctx context.Context, cache string, packages []string) error {
	dir := g.slot.Path("warm")
	var file strings.Builder
	file.WriteString("package warm\n\nimport (\n")
	for _, p := range packages {
		// Our package cannot import those. They come along with the packages that import them.
		if internal := "/" + p + "/"; !strings.Contains(internal, "/internal/") && !strings.HasPrefix(p, "vendor/") {
			fmt.Fprintf(&file, "\t_ %q\n", p)
		}
	}
	file.WriteString(")\n")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module warm\n\ngo 1.21\n"), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "warm.go"), []byte(file.String()), 0o644)
	}
	if err != nil {
		return fmt.Errorf("fill the build cache: %w", err)
	}
	args := append([]string{g.verb}, g.flags...)
	if _, err := g.do(ctx, dir, cache, append(args, ".")...); err != nil {
		return fmt.Errorf("compile the standard library: %w", err)
	}
	return nil
}

// linkTree makes the directory to a copy of the tree from; its files are hard links where the file system allows it.
// It first deletes what was at to. Links are safe: the files of a build cache are named by their content, so a
// process that writes to one writes the same bytes.
func linkTree(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("copy the build cache: %w", err)
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if err := os.Link(path, filepath.Join(to, name)); err == nil {
			return nil
		}
		return copyFile(path, filepath.Join(to, name))
	})
	if err != nil {
		return fmt.Errorf("copy the build cache: %w", err)
	}
	return nil
}

// copyFile copies content and time: the go command checks the age of the files in its cache.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
