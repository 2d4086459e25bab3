package room

import (
	"fmt"
	"syscall"
)

// Disk is a file system.
type Disk struct {
	// Size is all of it that ordinary users may take, Free what is left of that.
	Size, Free int64
	// ID tells file systems of this machine apart.
	ID uint64
}

// DiskOf returns the disk that holds a file or directory.
func DiskOf(path string) (Disk, error) {
	var fs syscall.Statfs_t
	var st syscall.Stat_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return Disk{}, fmt.Errorf("look at the disk of %s: %w", path, err)
	}
	if err := syscall.Stat(path, &st); err != nil {
		return Disk{}, fmt.Errorf("look at the disk of %s: %w", path, err)
	}
	block := int64(fs.Bsize)
	free := int64(fs.Bavail) * block
	return Disk{Size: (int64(fs.Blocks)-int64(fs.Bfree))*block + free, Free: free, ID: uint64(st.Dev)}, nil
}

// reserve is what the log leaves free on its disk: a server whose disk is really full breaks off in the middle of a write.
const reserve = 64 << 20

// Reserve is what the log leaves free on a disk.
func (d Disk) Reserve() int64 { return min(reserve, d.Size/20) }
