package main

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel end the process when this one dies, however that happens.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
