//go:build !linux

package pgserver

import "syscall"

const (
	haveNamespaces = false
	// nobody is the unprivileged user and group: -2, as macOS has it.
	nobody = 1<<32 - 2
)

// attributes start a child as who, in a process group of its own. This system sends no signal when a parent
// dies, so the next start ends the orphan.
func (who identity) attributes(syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if who.how == asOther {
		attr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)}
	}
	return attr
}
