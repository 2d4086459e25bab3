//go:build !linux

package main

import (
	"os/exec"
	"syscall"
)

// dieWithParent keeps the terminal's signals from the process. Here the kernel does not end it when this
// one dies; its log then does not answer any more, and its name expires.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
