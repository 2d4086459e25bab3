package artifact

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll writes all data of the file system of f to disk.
func syncAll(f *os.File) error { return unix.Syncfs(int(f.Fd())) }
