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
// of its own), and ends with the process at the latest. It is no os.File, which the garbage collector closes.
type lock struct {
	fd   int
	path string
}

// How a lock is held.
const (
	shared    = unix.LOCK_SH
	exclusive = unix.LOCK_EX
)

// tryLock takes the lock at path, or returns nil if somebody else's lock is in the way.
func tryLock(path string, how int) (*lock, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		l := &lock{fd, path}
		if err := l.flock(how | unix.LOCK_NB); err != nil {
			l.unlock()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, nil
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// Whoever removes an entry removes its lock's file, too: a lock on a removed file says nothing.
		var mine, there unix.Stat_t
		if err := unix.Fstat(fd, &mine); err != nil {
			l.unlock()
			return nil, &os.PathError{Op: "stat", Path: path, Err: err}
		}
		if unix.Stat(path, &there) == nil && mine.Dev == there.Dev && mine.Ino == there.Ino {
			return l, nil
		}
		l.unlock()
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
	_ = os.Chtimes(l.path, now, now)
}

// share makes an exclusive lock a shared one. The kernel may let somebody else in between, so what was seen
// before has to be looked at again.
func (l *lock) share() error { return l.flock(shared) }

// remove deletes the file of an exclusive lock and ends it.
func (l *lock) remove() {
	os.Remove(l.path)
	l.unlock()
}

func (l *lock) unlock() { unix.Close(l.fd) }

func (l *lock) flock(how int) error {
	for {
		err := unix.Flock(l.fd, how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
