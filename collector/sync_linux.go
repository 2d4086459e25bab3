package collector

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncDisk waits until the file system of a directory is on disk.
func syncDisk(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
