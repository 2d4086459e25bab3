package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/rules/suite"
)

// prepareTimeout limits one unmeasured command, such as one that builds a standard library.
const prepareTimeout = 30 * time.Minute

// Slot is the working directory of a benchmark, as a driver sees it.
type Slot struct {
	// Dir is the directory. It is empty when a driver begins, and the runner later deletes what the driver leaves in
	// it.
	Dir string
	// Cache is the directory that outlives jobs and may be shared; see lockCache.
	Cache string

	source  func(ctx context.Context, b suite.BenchmarkDef, dir string) error
	caches  func(name string) (dir string, err error)
	measure *measure.Runner
	log     func(string)
}

// Path returns a path in the slot.
func (s *Slot) Path(elem ...string) string {
	return filepath.Join(append([]string{s.Dir}, elem...)...)
}

// Log writes one or more lines to the job's log.
func (s *Slot) Log(text string) { s.log(text) }

// clear makes the slot and empties it. Only a home and a directory for temporary files are in it then.
func (s *Slot) clear() error {
	if !filepath.IsAbs(s.Dir) || !filepath.IsAbs(s.Cache) {
		return fmt.Errorf("slot %q and cache %q must be absolute paths", s.Dir, s.Cache)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("make the slot: %w", err)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("empty the slot: %w", err)
	}
	for _, e := range entries {
		if err := removeAll(s.Path(e.Name())); err != nil {
			return fmt.Errorf("empty the slot: %w", err)
		}
	}
	for _, dir := range []string{"home", "tmp"} {
		if err := os.Mkdir(s.Path(dir), 0o755); err != nil {
			return fmt.Errorf("make the slot: %w", err)
		}
	}
	return nil
}

// removeAll deletes a tree, also one with read-only directories, as module caches have them.
func removeAll(root string) error {
	err := os.RemoveAll(root)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	walkErr := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(walkErr, os.RemoveAll(root))
}

// Materialise puts the program of b into the slot and returns the program's directory.
func (s *Slot) Materialise(ctx context.Context, b suite.BenchmarkDef) (string, error) {
	dir := s.Path("src")
	if err := s.source(ctx, b, dir); err != nil {
		return "", fmt.Errorf("get the program: %w", err)
	}
	return dir, nil
}

// Env returns the environment with which every command of the slot starts: the slot's own home and temporary
// directory, a fixed locale and time zone, and a path that begins with bin, if that is not empty.
func (s *Slot) Env(bin string) []string {
	path := "/usr/local/bin:/usr/bin:/bin"
	if bin != "" {
		path = bin + ":" + path
	}
	return []string{
		"PATH=" + path,
		"HOME=" + s.Path("home"),
		"TMPDIR=" + s.Path("tmp"),
		"LC_ALL=C",
		"TZ=UTC",
	}
}

// Command makes a command from argv. argv[0] is looked up on the PATH of env; if it has a slash and is not absolute,
// it is relative to dir. The command has no network but its own loopback.
func (s *Slot) Command(dir string, env, argv []string) (measure.Cmd, error) {
	if len(argv) == 0 || argv[0] == "" {
		return measure.Cmd{}, errors.New("the command is empty")
	}
	path := argv[0]
	switch {
	case !strings.Contains(path, "/"):
		found, err := lookPath(path, env)
		if err != nil {
			return measure.Cmd{}, err
		}
		path = found
	case !filepath.IsAbs(path):
		path = filepath.Join(dir, path)
	}
	return measure.Cmd{Path: path, Args: argv[1:], Env: lastWins(env), Dir: dir, NoNet: true}, nil
}

// lastWins drops each variable that is set again later in env. Programs do not agree on which of two values counts.
func lastWins(env []string) []string {
	last := map[string]int{}
	for i, e := range env {
		name, _, _ := strings.Cut(e, "=")
		last[name] = i
	}
	var kept []string
	for i, e := range env {
		if name, _, _ := strings.Cut(e, "="); last[name] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// lookPath finds an executable file on the PATH of env; the last PATH counts.
func lookPath(name string, env []string) (string, error) {
	var dirs string
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = value
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("there is no command %q on %s", name, dirs)
}

// Prepare runs the command that prepares a program. It alone gets the caches that it names.
func (s *Slot) Prepare(ctx context.Context, dir string, env, argv []string) error {
	argv, err := suite.ReplaceCaches(argv, func(name string) (string, error) {
		if s.caches == nil {
			return "", fmt.Errorf("the job has no cache %s", name)
		}
		return s.caches(name)
	})
	if err == nil {
		_, err = s.Do(ctx, dir, env, argv)
	}
	if err != nil {
		return fmt.Errorf("prepare the program: %w", err)
	}
	return nil
}

// Do runs an unmeasured command and returns what it wrote to stdout. When ctx ends, the command and all its
// descendants are killed.
func (s *Slot) Do(ctx context.Context, dir string, env, argv []string) ([]byte, error) {
	c, err := s.Command(dir, env, argv)
	if err != nil {
		return nil, err
	}
	c.Timeout, c.OutputLimit = prepareTimeout, 1<<20
	out, err := s.measure.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := judge(c, out); err != nil {
		return nil, err
	}
	if out.StdoutDropped > 0 {
		return nil, fmt.Errorf("%s printed more than %d bytes", argv[0], c.OutputLimit)
	}
	return out.Stdout, nil
}
