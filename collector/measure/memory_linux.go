package measure

import "os"

// FreeMemory returns how many bytes of memory new processes can have without swapping; false if the kernel does not say.
func FreeMemory() (int64, bool) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	free, err := parseKilobytes(data, "MemAvailable")
	return free, err == nil
}
