package runner

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tachobench/tacho/rules/suite"
)

// diffSuffix ends the name of a patch that is a diff.
const diffSuffix = ".patch"

// unfoldDiffs turns patches that are diffs, files NAME.patch in the program, into the form of this package:
// directories of changed files. Each diff applies to the result of the ones before it.
func unfoldDiffs(ctx context.Context, s *Slot, src string, b suite.BenchmarkDef) error {
	from := []string{src}
	for _, name := range b.Patches {
		dir := filepath.Join(src, "patches", filepath.FromSlash(name))
		from = append(from, dir)
		_, err := os.Stat(dir)
		if err == nil || !strings.HasSuffix(name, diffSuffix) {
			continue // it is in our form, or takePatches reports that it is missing
		}
		diff, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(name)))
		if err == nil {
			err = unfold(ctx, s, from[:len(from)-1], dir, diff)
		}
		if err != nil {
			return fmt.Errorf("patch %s: %w", name, err)
		}
	}
	return nil
}

// unfold makes the directory dir with the files that diff changes, in their changed form. It takes the form before
// the change from the last of the directories from that has the file.
func unfold(ctx context.Context, s *Slot, from []string, dir string, diff []byte) error {
	names, err := diffNames(diff)
	if err != nil {
		return err
	}
	for _, name := range names {
		for _, root := range slices.Backward(from) {
			data, err := os.ReadFile(filepath.Join(root, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
			}
			if err != nil {
				return err
			}
			break
		}
	}
	file := s.Path("diff")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, diff, 0o644)); err != nil {
		return err
	}
	env := append(s.Env(""), "GIT_CEILING_DIRECTORIES="+s.Dir)
	argv := []string{"patch", "--batch", "--silent", "--no-backup-if-mismatch", "-p1", "-i", file}
	if _, err := lookPath("patch", env); err != nil {
		argv = []string{"git", "apply", "-p1", file}
		if _, err := lookPath("git", env); err != nil {
			return errors.New("a diff is applied by the command \"patch\" or \"git\", and neither is on this machine: install one")
		}
	}
	_, err = s.Do(ctx, dir, env, argv)
	return err
}

// diffNames returns the files that a unified diff changes, without the first element of their paths.
func diffNames(diff []byte) ([]string, error) {
	var names []string
	old := ""
	lines := bufio.NewScanner(bytes.NewReader(diff))
	lines.Buffer(nil, len(diff)+1)
	for lines.Scan() {
		before, isHeader := strings.CutPrefix(old, "--- ")
		old = lines.Text()
		after, ok := strings.CutPrefix(old, "+++ ")
		if !ok || !isHeader {
			continue
		}
		after, _, _ = strings.Cut(after, "\t")
		if strings.TrimSpace(after) == "/dev/null" {
			return nil, fmt.Errorf("it deletes %s: only changed and new files are supported", before)
		}
		_, name, _ := strings.Cut(strings.TrimSpace(after), "/")
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("it changes %q, which is not in the program", after)
		}
		names = append(names, name)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("it changes nothing: use a unified diff with paths such as a/src/lib.rs and b/src/lib.rs")
	}
	return names, nil
}
