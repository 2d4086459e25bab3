package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tachobench/tacho/internal/subprocess"
)

// ExitUpdate is the exit code of a collector that left, between two requests, for the version that is wanted.
const ExitUpdate = 75

// Variable is the variable of a collector's environment that holds its Orders.
const Variable = "TACHO_SUPERVISED"

// endWait is how long a process may take to end after it was told to.
const endWait = 20 * time.Second

// Orders are what a supervisor tells the collector that it starts. A collector that gets Orders knows that it is supervised.
type Orders struct {
	// Hold is a version that could not be installed: the collector does not leave for it before Until.
	Hold  string    `json:"hold,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// Failed says why it could not be installed; the collector writes that into the log.
	Failed string `json:"failed,omitempty"`
}

// ReadOrders reads the value of Variable. It returns nil if the value is empty: then no supervisor gave orders.
func ReadOrders(value string) (*Orders, error) {
	if value == "" {
		return nil, nil
	}
	var o Orders
	if err := json.Unmarshal([]byte(value), &o); err != nil {
		return nil, fmt.Errorf("only `tacho collector supervise` may set the variable %s, so unset it: %w", Variable, err)
	}
	return &o, nil
}

// end is how a process ended.
type end struct {
	// code is -1 if the process was killed or never began. err is set unless it ended with 0. said is its last line of
	// output.
	code int
	err  error
	said string
}

// run runs the collector until it ends. When ctx ends, run interrupts the collector.
func (s *Supervisor) run(ctx context.Context, p program, o Orders) end {
	told, err := json.Marshal(o)
	if err != nil {
		return end{code: -1, err: err}
	}
	environ := slices.DeleteFunc(slices.Clone(s.Environ), func(v string) bool { return strings.HasPrefix(v, Variable+"=") })
	if s.Dir != "" {
		environ = append(environ, Variable+"="+string(told))
	}
	said, lines := &subprocess.Tail{}, &subprocess.Lines{To: s.Output}
	defer lines.End()
	cmd := exec.CommandContext(ctx, p.path, s.Arguments...)
	cmd.Env = environ
	cmd.Stdout = io.MultiWriter(lines, said)
	cmd.Stderr = cmd.Stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = attend(cmd, s.Bind)
	code := -1
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return end{code: code, err: err, said: said.LastLine()}
}

// attend runs a process in a group of its own, and waits for it. The thread that starts the process must live as long as the
// process: if bind ties the two together, the kernel kills the process when that thread ends.
func attend(cmd *exec.Cmd, bind func(*exec.Cmd)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.WaitDelay = endWait
	if bind != nil {
		bind(cmd)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return cmd.Run()
}

// command runs a program that ends by itself and returns what it printed on stdout. output takes stdout and stderr; an error
// has the last line of both. When ctx ends, or after limit, command kills the program and all that it started.
func command(ctx context.Context, limit time.Duration, cmd func(context.Context) *exec.Cmd, bind func(*exec.Cmd), output io.Writer) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := cmd(limited)
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	said, printed := &subprocess.Tail{}, &strings.Builder{}
	c.Stdout, c.Stderr = io.MultiWriter(printed, said, output), io.MultiWriter(said, output)
	err := attend(c, bind)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return printed.String(), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", fmt.Errorf("%s was ended after %s", c.Args[0], limit)
	case errors.As(err, &exit) && said.LastLine() != "":
		return "", fmt.Errorf("%w: %s", err, said.LastLine())
	}
	return "", err
}
