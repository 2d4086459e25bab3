package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoValgrind says that instructions cannot be counted, since valgrind is not on PATH.
var ErrNoValgrind = errors.New("valgrind is not on PATH: install it to count instructions without hardware counters")

// CountInstructions executes c under valgrind and returns the number of user-mode instructions of the process (the
// metric Instructions). It does not count children that the process starts. It takes some thirty times as long as the
// command, and some seconds more. So it is a pass of its own, whose times mean nothing; noise does not change the
// count. A command that fails is an error here, since part of a count is of no use.
func (r *Runner) CountInstructions(ctx context.Context, c Cmd) (float64, error) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		return 0, fmt.Errorf("count instructions of %q: %w", c.Path, ErrNoValgrind)
	}
	if err := c.check(); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "tacho-count-")
	if err != nil {
		return 0, fmt.Errorf("count instructions of %q: %w", c.Path, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// In the name of this file, "%" would begin a placeholder.
	file := filepath.Join(dir, "count")
	c.Args = append([]string{
		"--quiet", "--tool=cachegrind", "--cache-sim=no", "--branch-sim=no",
		"--cachegrind-out-file=" + strings.ReplaceAll(file, "%", "%%"), "--", c.Path,
	}, c.Args...)
	c.Path = valgrind
	out, err := r.Run(ctx, c)
	switch {
	case err != nil:
		return 0, fmt.Errorf("count instructions: %w", err)
	case out.TimedOut:
		return 0, fmt.Errorf("count instructions of %q: %w after %v", c.Args, context.DeadlineExceeded, c.Timeout)
	case out.ExitCode != 0:
		return 0, fmt.Errorf("count instructions of %q: it ended with %d %s: %s", c.Args, out.ExitCode, out.Signal, out.Stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("count instructions of %q: %w", c.Args, err)
	}
	return parseCachegrind(data)
}

// parseCachegrind reads the total of the first event, instructions, from cachegrind's file.
func parseCachegrind(data []byte) (float64, error) {
	events := ""
	for line := range bytes.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		switch key {
		case "events":
			events, _, _ = strings.Cut(strings.TrimSpace(value), " ")
		case "summary":
			first, _, _ := strings.Cut(strings.TrimSpace(value), " ")
			n, err := strconv.ParseUint(first, 10, 64)
			if err != nil || events != "Ir" {
				return 0, fmt.Errorf("parse cachegrind's file: %q of event %q is not a count of instructions", first, events)
			}
			return float64(n), nil
		}
	}
	return 0, errors.New("parse cachegrind's file: no summary in it")
}
