package poller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tachobench/tacho/internal/filelock"
)

// gitCommand is one run of git as a child process.
type gitCommand struct {
	args []string
	// hold is a lock that the child holds, too: should this process be killed, the lock ends with the child.
	hold *filelock.Lock
}

// gitError says how a git failed and what it said.
type gitError struct {
	verb string
	err  error
	said string
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.verb, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.verb, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

func (e *gitError) says(any ...string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(e.said, s) })
}

// unset are variables that would make git work elsewhere than it is told to.
var unset = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE", "LC_ALL"}

// run returns what git wrote to its standard output.
func (c gitCommand) run(ctx context.Context) (string, error) {
	var out bytes.Buffer
	err := c.stream(ctx, func(r io.Reader) error {
		_, err := io.Copy(&out, io.LimitReader(r, mostBody))
		return err
	})
	return out.String(), err
}

// stream gives the standard output to read while git writes it. When read returns an error git is ended, and the
// error is returned. Git runs in a process group of its own, of which nothing is left.
func (c gitCommand) stream(ctx context.Context, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", c.args...)
	cmd.Env = environment(os.Environ())
	if c.hold != nil {
		file, err := c.hold.Copy()
		if err != nil {
			return err
		}
		defer file.Close()
		cmd.ExtraFiles = []*os.File{file}
	}
	said := &ending{}
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return errors.New("no git command on PATH: install git")
		}
		return fmt.Errorf("start git: %w", err)
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case readErr != nil:
		return readErr
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &gitError{verb: c.verb(), err: err, said: said.text()}
	}
	return nil
}

// verb is the command of git among its arguments.
func (c gitCommand) verb() string {
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case a == "-c":
			i++
		case !strings.HasPrefix(a, "-"):
			return a
		}
	}
	return ""
}

// environment is ours, but git never asks a person and speaks English.
func environment(ours []string) []string {
	var out []string
	ssh := false
	for _, v := range ours {
		name, _, _ := strings.Cut(v, "=")
		ssh = ssh || name == "GIT_SSH_COMMAND" || name == "GIT_SSH"
		if !slices.Contains(unset, name) {
			out = append(out, v)
		}
	}
	if !ssh {
		out = append(out, "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=30")
	}
	return append(out, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// ending keeps the end of what is written to it.
type ending struct{ kept []byte }

// Write implements io.Writer.
func (e *ending) Write(p []byte) (int, error) {
	const most = 4 << 10
	e.kept = append(e.kept, p...)
	if over := len(e.kept) - most; over > 0 {
		e.kept = append(e.kept[:0], e.kept[over:]...)
	}
	return len(p), nil
}

func (e *ending) text() string {
	return clean(strings.TrimSpace(strings.ToValidUTF8(string(e.kept), "")))
}
