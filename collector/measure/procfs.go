package measure

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// The parsers of the kernel's files under /proc and /sys. They take bytes, so that they can be tested and fuzzed
// anywhere. They refuse what they do not understand: a wrong number is worse than a missing one.

// tick is the unit of /proc/stat: USER_HZ is 100 on every platform that we run on.
const tick = 10 * time.Millisecond

// cpuTicks is how one CPU spent its time since boot.
type cpuTicks struct {
	busy, steal uint64
}

// parseStat reads /proc/stat: the ticks of each online CPU, by number.
func parseStat(data []byte) (map[int]cpuTicks, error) {
	cpus := map[int]cpuTicks{}
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 {
			continue
		}
		number, found := strings.CutPrefix(fields[0], "cpu")
		if !found || number == "" {
			continue
		}
		cpu, err := strconv.Atoi(number)
		if err != nil || cpu < 0 {
			return nil, fmt.Errorf("parse stat: CPU %q", fields[0])
		}
		if len(fields) < 9 {
			return nil, fmt.Errorf("parse stat: %s has %d fields, want 9", fields[0], len(fields))
		}
		var v [8]uint64 // user nice system idle iowait irq softirq steal; guest is part of user
		for i := range v {
			if v[i], err = strconv.ParseUint(fields[i+1], 10, 64); err != nil {
				return nil, fmt.Errorf("parse stat: %s: %w", fields[0], err)
			}
		}
		cpus[cpu] = cpuTicks{busy: v[0] + v[1] + v[2] + v[5] + v[6], steal: v[7]}
	}
	if len(cpus) == 0 {
		return nil, errors.New("parse stat: no CPU in it")
	}
	return cpus, nil
}

// shares compares two readings of /proc/stat, taken elapsed apart, over the given CPUs (all, if none are given). It
// returns the share that processes other than the measured one used, which itself used own, and the share that the
// hypervisor withheld. Counting in ticks is off by up to one tick per CPU, in favour of the command. If the time is
// too short for that, the shares are unknown.
func shares(before, after map[int]cpuTicks, only []int, elapsed, own time.Duration) (foreign, steal Share) {
	if len(only) == 0 {
		for cpu := range before {
			only = append(only, cpu)
		}
	}
	var busy, stolen time.Duration
	for _, cpu := range only {
		b, there := before[cpu]
		a, still := after[cpu]
		if !there || !still || a.busy < b.busy || a.steal < b.steal {
			return Share{}, Share{}
		}
		busy += time.Duration(a.busy-b.busy) * tick
		stolen += time.Duration(a.steal-b.steal) * tick
	}
	rounding := time.Duration(len(only)) * tick
	whole := time.Duration(len(only)) * elapsed
	if whole < 10*rounding {
		return Share{}, Share{}
	}
	return share(busy-own-rounding, whole), share(stolen-rounding, whole)
}

// share returns part/whole, limited to 0 to 1.
func share(part, whole time.Duration) Share {
	if whole <= 0 {
		return Share{}
	}
	return Share{Value: min(max(float64(part)/float64(whole), 0), 1), Known: true}
}

// parseUsage reads the CPU time of a whole cgroup from its cpu.stat.
func parseUsage(data []byte) (time.Duration, error) {
	for line := range bytes.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if key == "usage_usec" {
			return microseconds(value)
		}
	}
	return 0, errors.New("parse cpu.stat: no usage_usec in it")
}

// parseEvents reads from a memory.events file how often an event happened.
func parseEvents(data []byte, event string) (uint64, error) {
	for line := range bytes.Lines(data) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if name != event {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse memory.events: %w", err)
		}
		return n, nil
	}
	return 0, fmt.Errorf("parse memory.events: no %s in it", event)
}

// parsePressure reads from a cpu.pressure file for how long in total some task waited for a CPU.
func parsePressure(data []byte) (time.Duration, error) {
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || fields[0] != "some" {
			continue
		}
		for _, field := range fields[1:] {
			if value, found := strings.CutPrefix(field, "total="); found {
				return microseconds(value)
			}
		}
	}
	return 0, errors.New("parse cpu.pressure: no total of some in it")
}

func microseconds(s string) (time.Duration, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse microseconds: %w", err)
	}
	if n > math.MaxInt64/uint64(time.Microsecond) {
		return 0, fmt.Errorf("parse microseconds: %d is out of range", n)
	}
	return time.Duration(n) * time.Microsecond, nil
}

// parseParent reads the parent's process id from /proc/<pid>/stat. The name in parentheses may hold anything,
// parentheses included, so the fields are counted from the last parenthesis.
func parseParent(data []byte) (int, error) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return 0, errors.New("parse process stat: no name in it")
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 2 {
		return 0, errors.New("parse process stat: no parent in it")
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil || parent < 0 {
		return 0, fmt.Errorf("parse process stat: parent %q", fields[1])
	}
	return parent, nil
}

// parseKilobytes reads a value such as "VmHWM:   3456 kB" from a file of such lines, in bytes.
func parseKilobytes(data []byte, key string) (int64, error) {
	for line := range bytes.Lines(data) {
		name, value, _ := strings.Cut(string(line), ":")
		if name != key {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || unit != "kB" || n < 0 || n > math.MaxInt64>>10 {
			return 0, fmt.Errorf("parse %s: %q is not a number of kB", key, strings.TrimSpace(value))
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("parse %s: not there", key)
}

// findCgroup returns the directory of our own cgroup in the unified hierarchy, from the texts of
// /proc/self/mountinfo and /proc/self/cgroup.
func findCgroup(mountinfo, cgroup []byte) (string, error) {
	own, found := "", false
	for line := range bytes.Lines(cgroup) {
		if own, found = strings.CutPrefix(strings.TrimRight(string(line), "\n"), "0::"); found {
			break
		}
	}
	if !found || !strings.HasPrefix(own, "/") {
		return "", errors.New("this process is in no cgroup of version 2")
	}
	for line := range bytes.Lines(mountinfo) {
		// id parent major:minor root mount-point options optional… - type source options
		before, after, _ := strings.Cut(string(line), " - ")
		fields := strings.Fields(before)
		if kind := strings.Fields(after); len(fields) < 6 || len(kind) == 0 || kind[0] != "cgroup2" {
			continue
		}
		root, mount := unescapeMount(fields[3]), unescapeMount(fields[4])
		if rest, inside := cutPath(own, root); inside && path.IsAbs(mount) {
			return path.Join(mount, rest), nil
		}
	}
	return "", errors.New("no cgroup file system of version 2 is mounted")
}

// cutPath returns p relative to root, and whether p lies below root.
func cutPath(p, root string) (string, bool) {
	p, root = path.Clean(p), path.Clean(root)
	if root == "/" || p == root {
		return strings.TrimPrefix(p, root), true
	}
	return strings.CutPrefix(p, root+"/")
}

// unescapeMount undoes the octal escapes that mountinfo uses for blanks and backslashes.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
