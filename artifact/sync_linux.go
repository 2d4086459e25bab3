package artifact

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll brings everything on the file system of f to disk.
func syncAll(f *os.File) error { return unix.Syncfs(int(f.Fd())) }
