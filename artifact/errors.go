package artifact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// NotThereError says that an artifact does not exist in any of its places. It is permanent.
type NotThereError struct {
	// What is the artifact.
	What string
	// Tried are the places, in the form in which a person would look there.
	Tried []string
}

func (e *NotThereError) Error() string {
	return fmt.Sprintf("%s does not exist: check the tag and the suite's [artifact]; looked for %s", e.What, strings.Join(e.Tried, ", "))
}

// RefusedError says that an artifact exists but cannot be used, or that it may not be fetched. It is permanent.
type RefusedError struct {
	// What is the artifact or the part of it.
	What string
	// Reason says why, and what to do about it if that is known.
	Reason string
}

func (e *RefusedError) Error() string { return e.What + ": " + e.Reason }

// NoSpaceError says that there is no room for an artifact and that no more entries could be removed. It is transient:
// artifacts that are now in use may be released.
type NoSpaceError struct {
	// Dir is the directory of the cache.
	Dir string
	// Needed is how many bytes the artifact needs at least.
	Needed int64
	// Free is how many bytes are free on the file system.
	Free int64
	// Limit is the configured bound if that was reached; 0 if the disk is full.
	Limit int64
}

func (e *NoSpaceError) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("no room in the artifact cache %s: at least %s more needed, and what is in use leaves less of the limit of %s; raise the limit, or let fewer collectors share the cache",
			e.Dir, size(e.Needed), size(e.Limit))
	}
	return fmt.Sprintf("the disk of the artifact cache %s is full: at least %s needed, %s free; free some space there, or configure another cache directory",
		e.Dir, size(e.Needed), size(e.Free))
}

// Unwrap lets errors.Is find syscall.ENOSPC.
func (e *NoSpaceError) Unwrap() error { return syscall.ENOSPC }

// Permanent reports whether trying the same again cannot help.
func Permanent(err error) bool {
	var refused *RefusedError
	return isNotThere(err) || errors.As(err, &refused)
}

func isNotThere(err error) bool {
	var e *NotThereError
	return errors.As(err, &e)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// machineFault reports whether the machine is the cause and not the archive.
func machineFault(err error) bool {
	for _, fault := range []syscall.Errno{
		syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EROFS, syscall.EACCES, syscall.EPERM,
	} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// explain turns the system's error for a full disk into a *NoSpaceError.
func (s *Store) explain(err error) error {
	var already *NoSpaceError
	if err == nil || !isFull(err) || errors.As(err, &already) {
		return err
	}
	return noSpace(s.Dir, 0)
}

func noSpace(dir string, needed int64) *NoSpaceError {
	return &NoSpaceError{Dir: dir, Needed: max(needed, 1), Free: freeBytes(dir)}
}

// freeBytes returns how many bytes normal users have left on the file system of dir; 0 if that is unknown.
func freeBytes(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// errDiskFull says that a program that we ran reported a full disk.
var errDiskFull = fmt.Errorf("reported by the program: %w", syscall.ENOSPC)

func containsAny(text string, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}
