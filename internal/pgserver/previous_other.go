//go:build !linux

package pgserver

import (
	"os/exec"
	"strconv"
	"strings"
)

// runsOn reports whether a process is a server that was started on data, by its arguments.
func runsOn(pid int, data string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "postgres -D "+data+" ")
}

// residents lists nothing: this system has no quick way to see where a process works. PostgreSQL's own check of
// its shared memory keeps a second server from starting beside the last processes of a dead one.
func residents(string) []int { return nil }
