// Package filelock locks files.
//
// A lock works between processes and between goroutines. It ends when it is released, and at the latest when the
// process ends, in whatever way: the lock is the kernel's (flock). A child process with a copy of the file holds the
// lock too, until it ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/internal/retry"
)

// Mode is how a lock is held.
type Mode int

// Many may hold a lock in the mode Shared, only one in the mode Exclusive.
const (
	Shared    Mode = unix.LOCK_SH
	Exclusive Mode = unix.LOCK_EX
)

// Lock is a held lock. It is not an os.File, which the garbage collector closes: a lock that is never released stays
// held.
type Lock struct {
	fd   int
	path string
	// copied is set when a child may hold the lock too.
	copied bool
}

// Try takes the lock at path. It makes the file if it does not exist. It returns nil if another lock is in the way.
func Try(path string, how Mode) (*Lock, error) {
	for {
		// A symbolic link might lead to a file of another program, which Sign would empty.
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		l := &Lock{fd: fd, path: path}
		if err := l.flock(how | unix.LOCK_NB); err != nil {
			l.Release()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, nil
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// A lock on a file that was removed meanwhile is worth nothing.
		var mine, there unix.Stat_t
		if err := unix.Fstat(fd, &mine); err != nil {
			l.Release()
			return nil, &os.PathError{Op: "stat", Path: path, Err: err}
		}
		if unix.Stat(path, &there) == nil && mine.Dev == there.Dev && mine.Ino == there.Ino {
			return l, nil
		}
		l.Release()
	}
}

// Await takes the lock at path as soon as it is free. If it is not free at first, Await calls waiting once. If ctx
// ends before, it returns the cause.
func Await(ctx context.Context, path string, how Mode, waiting func()) (*Lock, error) {
	// ctx could not end the kernel's own waiting.
	pauses := retry.Pauses(5*time.Millisecond, 200*time.Millisecond)
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		l, err := Try(path, how)
		if l != nil || err != nil {
			return l, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		retry.Sleep(ctx, pauses.NextBackOff())
	}
}

// Copy returns a copy of the file for a child process to hold. The lock lasts until all copies are closed too.
func (l *Lock) Copy() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(l.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("copy the lock %s: %w", l.path, err)
	}
	l.copied = true
	return os.NewFile(uintptr(fd), l.path), nil
}

// Share turns an exclusive lock into a shared one. The kernel may let another process in between, so check again what
// you saw before.
func (l *Lock) Share() error { return l.flock(Shared) }

// Sign writes the id of this process into the file, for a process that finds it locked.
func (l *Lock) Sign() error {
	err := unix.Ftruncate(l.fd, 0)
	if err == nil {
		_, err = unix.Pwrite(l.fd, fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		return fmt.Errorf("sign %s: %w", l.path, err)
	}
	return nil
}

// Holder returns what the last signer of the lock at path wrote; empty if it was never signed.
func Holder(path string) string {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	signed, _ := io.ReadAll(io.LimitReader(file, 20)) // only for a message: the lock itself has decided
	return strings.TrimSpace(string(signed))
}

// Touch sets the time of the file, which tells when the lock was last used. A refusal by the file system does no
// harm.
func (l *Lock) Touch() {
	now := time.Now()
	_ = os.Chtimes(l.path, now, now)
}

// Remove deletes the file of an exclusive lock and releases it.
func (l *Lock) Remove() {
	_ = os.Remove(l.path) // if this fails, an empty file remains
	l.Release()
}

// Release ends the lock in this process. It may be called more than once.
func (l *Lock) Release() {
	if !l.copied {
		// A child that is being started has all files of this process until it runs its program. It must not hold the lock.
		_ = l.flock(unix.LOCK_UN)
	}
	_ = unix.Close(l.fd) // nothing that matters was written
	l.fd = -1
}

func (l *Lock) flock(how Mode) error {
	for {
		err := unix.Flock(l.fd, int(how))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
