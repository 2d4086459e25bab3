//go:build !linux

package measure

// FreeMemory is not looked up here.
func FreeMemory() (int64, bool) { return 0, false }
