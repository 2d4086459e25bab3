// Package git runs git.
//
// Git works in the given directory, whatever the environment says. It never asks a person, and it speaks English. It
// runs in a process group of its own; no process of the group stays behind.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/tachobench/tacho/internal/filelock"
	"github.com/tachobench/tacho/internal/subprocess"
)

// mostOutput is how many bytes of git's output Run returns at most.
const mostOutput = 64 << 20

// ErrNotInstalled says that git is not installed.
var ErrNotInstalled = errors.New("no git command on PATH: install git")

// Command is one run of git.
type Command struct {
	// Dir is where git runs; empty is the directory of this process.
	Dir  string
	Args []string
	// Environ is the environment to begin with; nil is that of this process.
	Environ []string
	// Hold is a lock that git holds too: if this process is killed, the lock ends with git.
	Hold *filelock.Lock
	// Bind prepares the process; nil does nothing. The thread that starts the process lives as long as the process.
	Bind func(*exec.Cmd)
}

// Error says how git failed and what it said, without the passwords of URLs.
type Error struct {
	Verb string
	Err  error
	Said string
}

func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("git %s: %v", e.Verb, e.Err)
	}
	return fmt.Sprintf("git %s: %s", e.Verb, e.Said)
}

func (e *Error) Unwrap() error { return e.Err }

// Says reports whether git's message contains any of these.
func (e *Error) Says(any ...string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(e.Said, s) })
}

// Run returns what git wrote to its standard output.
func (c Command) Run(ctx context.Context) (string, error) {
	var out bytes.Buffer
	err := c.Stream(ctx, func(r io.Reader) error {
		_, err := io.Copy(&out, io.LimitReader(r, mostOutput))
		return err
	})
	return out.String(), err
}

// Stream passes git's standard output to read while git writes it. If read returns an error, Stream kills git and
// returns that error.
func (c Command) Stream(ctx context.Context, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.environ()
	if c.Hold != nil {
		file, err := c.Hold.Copy()
		if err != nil {
			return err
		}
		defer file.Close()
		cmd.ExtraFiles = []*os.File{file}
	}
	if c.Bind != nil {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c.Bind(cmd)
	}
	subprocess.Group(cmd)
	said := &subprocess.Tail{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return ErrNotInstalled
		}
		return fmt.Errorf("start git: %w", err)
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	subprocess.KillRest(cmd)
	switch {
	case readErr != nil:
		return readErr
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &Error{Verb: c.verb(), Err: err, Said: userInfo.ReplaceAllString(strings.TrimSpace(said.String()), "://xxxxx@")}
	}
	return nil
}

// userInfo matches names and passwords in URLs.
var userInfo = regexp.MustCompile(`://[^/\s@]*@`)

// verb returns git's subcommand among its arguments.
func (c Command) verb() string {
	for i := 0; i < len(c.Args); i++ {
		switch a := c.Args[i]; {
		case a == "-c":
			i++
		case !strings.HasPrefix(a, "-"):
			return a
		}
	}
	return ""
}

// elsewhere are variables that would make git work in another place than the given one.
var elsewhere = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"}

// Neutral returns an environment without those variables, for programs that call git.
func Neutral(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(elsewhere, name)
	})
}

func (c Command) environ() []string {
	environ := c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	environ = append(Neutral(environ), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	if !slices.ContainsFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, "GIT_SSH_COMMAND=") || strings.HasPrefix(v, "GIT_SSH=")
	}) {
		environ = append(environ, "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=30")
	}
	return environ
}
