package pgserver

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// runsOn reports whether a process is a server that was started on data, by its arguments.
func runsOn(pid int, data string) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false // it is gone
	}
	args := bytes.Split(b, []byte{0})
	return len(args) > 2 && filepath.Base(string(args[0])) == "postgres" &&
		string(args[1]) == "-D" && string(args[2]) == data
}

// residents lists the processes of PostgreSQL that work in data. It sees only those that the caller may inspect:
// the directory of a process that is gone or belongs to another user cannot be read. PostgreSQL's own check of its
// shared memory covers the rest.
func residents(data string) []int {
	home, err := os.Stat(data)
	if err != nil {
		return nil // no cluster yet
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		cwd, err := os.Stat(filepath.Join(proc, "cwd"))
		if err != nil || !os.SameFile(cwd, home) {
			continue
		}
		exe, err := os.Readlink(filepath.Join(proc, "exe"))
		// A process that is ending has lost its program, and may still be letting go of the shared memory. After an
		// upgrade of the package the name is "postgres (deleted)".
		if errors.Is(err, fs.ErrNotExist) || err == nil && strings.HasPrefix(filepath.Base(exe), "postgres") {
			pids = append(pids, pid)
		}
	}
	return pids
}
