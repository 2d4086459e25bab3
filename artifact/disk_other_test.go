//go:build !linux

package artifact

// onSmallDisk is used only on Linux, where every user can have a disk in memory.
func onSmallDisk() { panic("no small disk on this system") }
