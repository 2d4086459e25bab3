package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// cgroup is the directory of a control group (version 2) that holds one command and its descendants.
type cgroup string

// newCgroup makes a control group below the home of this process. Its name begins with the number of this process, see
// cgroupPattern.
func newCgroup() (cgroup, error) {
	parent, err := homeCgroup()
	if err != nil {
		return "", fmt.Errorf("make a cgroup: %w", err)
	}
	dir, err := os.MkdirTemp(parent, cgroupPattern(os.Getpid()))
	if err != nil {
		// The tried name is random. Without it, equal faults have equal texts.
		var fault *fs.PathError
		if errors.As(err, &fault) {
			err = fault.Err
		}
		return "", fmt.Errorf("make a cgroup below %s: %w", parent, err)
	}
	return cgroup(dir), nil
}

// cgroupPattern matches the cgroups that the process pid makes for its commands.
func cgroupPattern(pid int) string { return fmt.Sprintf("tacho-%d-*", pid) }

// kill kills all members at once. It fails on kernels before 5.14, which have no file cgroup.kill.
func (g cgroup) kill() error {
	file, err := os.OpenFile(filepath.Join(string(g), "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("kill the cgroup: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString("1"); err != nil {
		return fmt.Errorf("kill the cgroup: %w", err)
	}
	return nil
}

// usage returns the CPU time that all present and former members used.
func (g cgroup) usage() (time.Duration, error) {
	data, err := os.ReadFile(filepath.Join(string(g), "cpu.stat"))
	if err != nil {
		return 0, fmt.Errorf("read the cgroup's usage: %w", err)
	}
	return parseUsage(data)
}

// stall returns for how long at least one member waited for a CPU since the group was made.
func (g cgroup) stall() (time.Duration, error) {
	data, err := os.ReadFile(filepath.Join(string(g), "cpu.pressure"))
	if err != nil {
		return 0, fmt.Errorf("read the cgroup's pressure: %w", err)
	}
	return parsePressure(data)
}

// remove kills the remaining members and removes the group. A group that does not exist any more is no error: shim
// and collector both remove it, since either may outlive the other. Members that were just killed may not have ended
// yet, so remove tries a busy group again until patience runs out.
func (g cgroup) remove(patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause *= 2 {
		err := os.Remove(string(g))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().Add(pause).After(deadline) {
			return fmt.Errorf("remove the cgroup: %w", err)
		}
		_ = g.kill() // without cgroup.kill the shim kills the members one by one
		time.Sleep(pause)
	}
}
