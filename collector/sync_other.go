//go:build !linux

package collector

import "golang.org/x/sys/unix"

// syncDisk waits until all file systems are on disk.
func syncDisk(string) error { return unix.Sync() }
