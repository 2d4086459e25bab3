// Package tinydisk gives tests a disk that is small enough to fill.
//
// The disk is a file system in memory that only one process sees, in namespaces of its own. Every user may make one.
package tinydisk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// inside is set in the environment of a test that runs again with its disk.
const inside = "TACHO_TINY_DISK"

// Attributes let a process make file systems that nobody else sees.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// Run runs the test again in a process of its own, where body gets a directory on a disk of some MiB.
func Run(t *testing.T, mib int, body func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv(inside); dir != "" {
		if err := syscall.Mount("tacho", dir, "tmpfs", 0, "size="+strconv.Itoa(mib)+"m"); err != nil {
			t.Fatal(err)
		}
		body(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), inside+"="+t.TempDir())
	cmd.SysProcAttr = Attributes()
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// Fill takes all room that a disk has left, and returns what gives it back.
func Fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size >= 1; {
		if _, err = f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 16
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
