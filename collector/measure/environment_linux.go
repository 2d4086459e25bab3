package measure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func readMachine() machine {
	m := machine{identity: machineID(), settings: map[string]string{}}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.kernel = unix.ByteSliceToString(name.Release[:])
	}
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.cpu = parseCPUModel(data)
	}
	m.cpus = len(readStat())
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if total, err := parseKilobytes(data, "MemTotal"); err == nil {
			m.memory = total
		}
	}
	knobs := map[string]string{
		"aslr":        "/proc/sys/kernel/randomize_va_space",
		"governor":    "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
		"smt":         "/sys/devices/system/cpu/smt/active",
		"turbo-boost": "/sys/devices/system/cpu/cpufreq/boost",
		"turbo-off":   "/sys/devices/system/cpu/intel_pstate/no_turbo",
	}
	for knob, pattern := range knobs {
		if value := readKnob(pattern); value != "" {
			m.settings[knob] = value
		}
	}
	return m
}

// machineID returns the identity that the system got when it was installed. An image that is not yet installed has an
// empty file, or the word "uninitialized".
func machineID() string {
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		data, err := os.ReadFile(file)
		if id := strings.TrimSpace(string(data)); err == nil && len(id) == 32 {
			return id
		}
	}
	return ""
}

// readKnob returns the different values in the files that match the pattern, or "" if there are none.
func readKnob(pattern string) string {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return ""
	}
	var values []string
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			values = append(values, strings.TrimSpace(string(data)))
		}
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ",")
}
