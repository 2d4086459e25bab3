package measure

import "golang.org/x/sys/unix"

// Load is the load average of the last minute.
func Load() float64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return float64(info.Loads[0]) / (1 << 16)
}
