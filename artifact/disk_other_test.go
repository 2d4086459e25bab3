//go:build !linux

package artifact

// onSmallDisk is asked for on Linux only, which has disks in memory for everybody.
func onSmallDisk() { panic("no small disk on this system") }
