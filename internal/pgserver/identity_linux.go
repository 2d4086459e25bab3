package pgserver

import (
	"os"
	"syscall"
)

const (
	haveNamespaces = true
	// nobody is the unprivileged user and group, and what root is called in the namespace.
	nobody = 65534
)

// attributes start a child as who, in a process group of its own: a Ctrl-C at the terminal reaches only us, and we
// stop the child in order. The child gets the signal death when the forking thread ends.
func (who identity) attributes(death syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	switch who.how {
	case asCaller:
	case asOther:
		attr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)}
	case inNamespace:
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}
