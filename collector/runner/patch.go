package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/rules/suite"
)

// patches are the changes that the patched scenarios make to a program. A patch NAME is the directory patches/NAME of
// the program. Each file in it replaces the file of the same path in the program, or is new. Patches are applied one
// after another; the later one wins.
type patches struct {
	src  string
	dirs []string
	// originals are the contents of the files that patches change; nil means that the file did not exist.
	originals map[string][]byte
}

// takePatches moves the patches of a program out of it, so that they are not built with the program.
func takePatches(s *Slot, src string, b suite.BenchmarkDef) (*patches, error) {
	p := &patches{src: src, originals: map[string][]byte{}}
	away := s.Path("patches")
	if err := os.Rename(filepath.Join(src, "patches"), away); err != nil {
		if errors.Is(err, fs.ErrNotExist) && len(b.Patches) == 0 {
			return p, nil
		}
		return nil, fmt.Errorf("take the patches out of the program: %w", err)
	}
	for _, name := range b.Patches {
		dir := filepath.Join(away, filepath.FromSlash(name))
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("patch %q: the program has no directory patches/%s with the changed files", name, name)
		}
		p.dirs = append(p.dirs, dir)
	}
	return p, nil
}

// remember reads the files that patches will change. Call it when the program is complete.
func (p *patches) remember() error {
	for _, dir := range p.dirs {
		err := eachFile(dir, func(name string) error {
			data, err := os.ReadFile(filepath.Join(p.src, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			p.originals[name] = data
			return nil
		})
		if err != nil {
			return fmt.Errorf("read what patches change: %w", err)
		}
	}
	return nil
}

// apply applies the patches with the indexes from, from+1, … below to.
func (p *patches) apply(from, to int) error {
	for _, dir := range p.dirs[from:to] {
		err := eachFile(dir, func(name string) error {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			return p.write(name, data)
		})
		if err != nil {
			return fmt.Errorf("apply patch %s: %w", filepath.Base(dir), err)
		}
	}
	return nil
}

// undo brings the program back to its original state.
func (p *patches) undo() error {
	for name, data := range p.originals {
		var err error
		if data != nil {
			err = p.write(name, data)
		} else if err = os.Remove(filepath.Join(p.src, name)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("take the patches back: %w", err)
		}
	}
	return nil
}

func (p *patches) write(name string, data []byte) error {
	file := filepath.Join(p.src, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// shares says which patches each scenario of a chain applies, as pairs of from and to. The first patched scenario
// takes the first patch, the next one the second, and the last one all that are left.
func shares(chain []suite.Scenario, count int) [][2]int {
	all := make([][2]int, len(chain))
	last, next := -1, 0
	for i, s := range chain {
		if s.Cache != suite.CachePatched {
			all[i] = [2]int{next, next}
			continue
		}
		last = i
		all[i] = [2]int{next, min(next+1, count)}
		next = all[i][1]
	}
	if last >= 0 {
		all[last][1] = count
	}
	return all
}

// eachFile calls f with the path of each file below dir, relative to it.
func eachFile(dir string, f func(name string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return f(name)
	})
}
