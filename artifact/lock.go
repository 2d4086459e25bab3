package artifact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock is a flock on a file. It holds between processes and between goroutines (each lock has an open file
// of its own), and ends with the process at the latest.
type lock struct{ file *os.File }

// How a lock is held.
const (
	shared    = unix.LOCK_SH
	exclusive = unix.LOCK_EX
)

// tryLock takes the lock at path, or returns nil if somebody else's lock is in the way.
func tryLock(path string, how int) (*lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		if err := flock(f, how|unix.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, nil
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// Whoever removes an entry removes its lock's file, too: a lock on a removed file says nothing.
		mine, err := f.Stat()
		if err == nil {
			var there os.FileInfo
			if there, err = os.Stat(path); err == nil && os.SameFile(mine, there) {
				return &lock{f}, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
}

// awaitLock takes the lock at path as soon as it is free, and calls waiting once if it is not at first.
func awaitLock(ctx context.Context, path string, how int, waiting func()) (*lock, error) {
	const often, seldom = 5 * time.Millisecond, 500 * time.Millisecond
	// The kernel's own waiting could not be ended by ctx.
	pause := time.NewTimer(0)
	defer pause.Stop()
	for d := often; ; d = min(d*2, seldom) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		l, err := tryLock(path, how)
		if l != nil || err != nil {
			return l, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		pause.Reset(d)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

// touch sets the time of the lock's file, which is when its entry was last used. A file system that refuses
// makes the order of removal worse and nothing else.
func (l *lock) touch() {
	now := time.Now()
	_ = os.Chtimes(l.file.Name(), now, now)
}

// share makes an exclusive lock a shared one. The kernel may let somebody else in between, so what was seen
// before has to be looked at again.
func (l *lock) share() error { return flock(l.file, shared) }

// remove deletes the file of an exclusive lock and ends it.
func (l *lock) remove() {
	os.Remove(l.file.Name())
	l.unlock()
}

func (l *lock) unlock() { l.file.Close() }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
