// Package subprocess helps to run programs: it leaves none of their processes behind, and keeps the end of their output.
package subprocess

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Group puts cmd into a process group of its own. When the program's context ends, the whole group is killed.
func Group(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
}

// KillRest kills the remaining processes of the group of a program that has ended. Usually there are none.
func KillRest(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// Tail keeps the end of what is written to it. Two writers may use it at once.
type Tail struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns the end, after a "…" if something was cut off.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "…" + strings.ToValidUTF8(string(t.kept), "")
	}
	return string(t.kept)
}

// LastLine returns the last line that is not empty.
func (t *Tail) LastLine() string { return LastLine(t.String()) }

// LastLine returns the last line of a text that is not empty.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
