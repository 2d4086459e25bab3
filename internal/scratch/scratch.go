// Package scratch makes directories for the servers that tests start, in memory if there is plenty of it.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	memory     = "/dev/shm"
	wantMemory = 4 << 30 // bytes free; a server of a test binary needs some 0.1 GiB
)

// Prefix begins the name of each directory that Dir makes.
const Prefix = "tacho-scratch-"

// Dir makes the directory of a server, which the caller removes. Copying a template or a whole cluster writes a
// thousand files, which is about eight times as fast in memory. So the directory is in memory if there is plenty of it and
// TMPDIR is not set. The next caller removes what a killed process left.
func Dir() (string, error) {
	parent := os.TempDir()
	if os.Getenv("TMPDIR") == "" && plenty(memory) {
		parent = memory
	}
	sweep(parent)
	dir, err := os.MkdirTemp(parent, Prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the server: %w", err)
	}
	return dir, nil
}

func plenty(dir string) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return false
	}
	return uint64(st.Bavail)*uint64(st.Bsize) >= wantMemory
}

// sweep removes directories of test binaries that were killed before they could remove them. The directory's name says
// which process made it. What cannot be removed stays.
func sweep(parent string) {
	dirs, err := filepath.Glob(filepath.Join(parent, Prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), Prefix), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}
