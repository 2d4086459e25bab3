package subprocess

import (
	"os/exec"
	"syscall"
)

// DieWithParent makes the kernel kill the program when the thread that started it dies, however that happens. The program
// gets a process group of its own, so that the signals of a terminal do not reach it.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
