package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tachobench/tacho/internal/subprocess"
)

// command is a program that fetches, builds or probes an artifact.
type command struct {
	dir  string
	argv []string
	// env is added to this process's environment, and unset is removed from it.
	env, unset []string
	// line takes each line that the program writes to its standard error; it may be nil.
	line func(string)
}

// run returns what the program wrote to its standard output, and the end of all its output. The program runs in a
// process group of its own. run kills the rest of that group at the end: a remaining process would disturb the next
// measurement.
func (c command) run(ctx context.Context) (output, said string, err error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !contains(c.unset, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, c.env...)
	subprocess.Group(cmd)
	var out, all subprocess.Tail
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), io.MultiWriter(&all, &lines{to: c.line})
	err = cmd.Run()
	subprocess.KillRest(cmd)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.String(), all.String(), err
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name || strings.HasSuffix(n, "*") && strings.HasPrefix(name, strings.TrimSuffix(n, "*")) {
			return true
		}
	}
	return false
}

// probe asks an artifact for its version. It returns "" if the suite has no probe.
func probe(ctx context.Context, ref Ref, dir string, env ...string) (string, error) {
	argv := ref.Source.Probe
	if len(argv) == 0 {
		return "", nil
	}
	if !filepath.IsLocal(argv[0]) {
		return "", &RefusedError{What: ref.String(), Reason: fmt.Sprintf("the probe %q is not in the artifact: correct the suite file", argv[0])}
	}
	const limit = 2 * time.Minute
	timed, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the probe %s has not ended after %v", strings.Join(argv, " "), limit))
	defer cancel()
	c := command{dir: dir, argv: append([]string{filepath.Join(dir, argv[0])}, argv[1:]...), env: env}
	output, said, err := c.run(timed)
	if err == nil {
		return strings.TrimSpace(output), nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
		return "", &RefusedError{What: ref.String(), Reason: fmt.Sprintf("it does not run on this machine: %s: %v%s", strings.Join(argv, " "), err, indented(said))}
	}
	return "", fmt.Errorf("probe %s: %w", strings.Join(argv, " "), err)
}

// indented returns the output of a program in the form that ends an error.
func indented(said string) string {
	said = strings.TrimSpace(said)
	if said == "" {
		return ""
	}
	return ":\n\t" + strings.ReplaceAll(said, "\n", "\n\t")
}

// lines passes whole lines to a function.
type lines struct {
	to   func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	if l.to == nil {
		return len(p), nil
	}
	for _, b := range p {
		if b != '\n' {
			l.rest = append(l.rest, b)
			continue
		}
		l.to(string(l.rest))
		l.rest = l.rest[:0]
	}
	return len(p), nil
}
