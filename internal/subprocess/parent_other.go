//go:build !linux

package subprocess

import (
	"os/exec"
	"syscall"
)

// DieWithParent keeps the signals of a terminal from the program. The kernel of this system does not kill it when this
// process dies; a collector then finds that its log does not answer any more, and its name expires.
func DieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
