package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// leafName is the name of the cgroup into which EnableLimits moves this process.
const leafName = "tacho.collector"

// homeCgroup returns the cgroup below which this process makes others: its own, or the one around it if EnableLimits
// moved it.
func homeCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	dir, err := findCgroup(mounts, own)
	if err == nil && filepath.Base(dir) == leafName {
		dir = filepath.Dir(dir)
	}
	return dir, err
}

// controllers are those that limits need.
var controllers = []string{"memory", "cpu"}

// EnableLimits lets this process limit its commands. The kernel gives limits to cgroups only if no process is in the
// one around them. So if need be, EnableLimits moves this process into a cgroup of its own below its present one, and
// with it the process supervisor, unless that is 0. Processes started later are in that cgroup too. It moves no other
// process: an error says what is in the way.
func EnableLimits(supervisor int) error {
	home, err := homeCgroup()
	if err != nil {
		return fmt.Errorf("find the cgroup: %w", err)
	}
	err = enable(home)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	if err := settle(home, supervisor); err != nil {
		return err
	}
	return enable(home)
}

// enable gives the cgroups below home their controllers.
func enable(home string) error {
	control := filepath.Join(home, "cgroup.subtree_control")
	has, err := os.ReadFile(control)
	if err != nil {
		return fmt.Errorf("read the controllers: %w", err)
	}
	may, err := os.ReadFile(filepath.Join(home, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read the controllers: %w", err)
	}
	for _, c := range controllers {
		switch {
		case slices.Contains(strings.Fields(string(has)), c):
		case !slices.Contains(strings.Fields(string(may)), c):
			return fmt.Errorf("cgroup %s has no controller %q: delegate it to the collector (Delegate=yes in a unit of systemd)", home, c)
		default:
			if err := write(control, "+"+c); err != nil {
				return fmt.Errorf("enable the controller %q: %w", c, err)
			}
		}
	}
	return nil
}

// settle moves this process and its supervisor into a cgroup of their own, so that home has no process.
func settle(home string, supervisor int) error {
	data, err := os.ReadFile(filepath.Join(home, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("read who is in the cgroup: %w", err)
	}
	movable := []string{strconv.Itoa(os.Getpid()), strconv.Itoa(supervisor)}
	there := strings.Fields(string(data))
	for _, pid := range there {
		if !slices.Contains(movable, pid) {
			return fmt.Errorf("process %s is in cgroup %s too: start the collector in one of its own (a unit of systemd with Delegate=yes, or a container)", pid, home)
		}
	}
	leaf := filepath.Join(home, leafName)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make a cgroup for the collector: %w", err)
	}
	for _, pid := range there {
		if err := write(filepath.Join(leaf, "cgroup.procs"), pid); err != nil {
			return fmt.Errorf("move process %s to cgroup %s: %w", pid, leaf, err)
		}
	}
	return nil
}

// cpuPeriod is the time over which the kernel counts what a cgroup used of its CPUs, in microseconds.
const cpuPeriod = 100_000

// limit sets the limits of the group and returns which took effect.
func (g cgroup) limit(l Limits) map[string]string {
	took := map[string]string{}
	if l.Memory > 0 {
		// Beyond the limit there is no swap, and all processes end together. Kernels without these still keep the limit.
		_ = g.set("memory.swap.max", "0")
		_ = g.set("memory.oom.group", "1")
		took[SettingMemory] = effect(strconv.FormatInt(l.Memory, 10)+" bytes", g.set("memory.max", strconv.FormatInt(l.Memory, 10)))
	}
	if l.CPUs > 0 {
		took[SettingCPUTime] = effect(strconv.Itoa(l.CPUs), g.set("cpu.max", fmt.Sprintf("%d %d", l.CPUs*cpuPeriod, cpuPeriod)))
	}
	return took
}

// set writes a value to one of the group's files.
func (g cgroup) set(file, value string) error {
	err := write(filepath.Join(string(g), file), value)
	var fault *fs.PathError
	if errors.As(err, &fault) { // the name of the group is random; equal faults have equal texts
		err = fmt.Errorf("%s: %w", file, fault.Err)
	}
	return err
}

// memory reports whether the group reached its limit and the kernel killed a member for it, and the most memory that
// the group held, in bytes; 0 if the kernel does not tell. Members that were killed because the machine had no memory
// left do not count.
func (g cgroup) memory() (exceeded bool, peak int64) {
	// A group without controllers has neither file.
	if data, err := os.ReadFile(filepath.Join(string(g), "memory.peak")); err == nil {
		if peak, err = strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err != nil {
			peak = 0
		}
	}
	data, err := os.ReadFile(filepath.Join(string(g), "memory.events"))
	if err != nil {
		return false, peak
	}
	for _, event := range []string{"oom", "oom_kill"} {
		if n, err := parseEvents(data, event); err != nil || n == 0 {
			return false, peak
		}
	}
	return true, peak
}

// write writes to a file that exists, and makes none.
func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
