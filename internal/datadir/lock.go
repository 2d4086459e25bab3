package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/filelock"
)

// lockWait is how long to wait for a lock: a killed process holds its locks until the kernel has finished its last write to
// the disk.
const lockWait = 3 * time.Second

// lock takes a lock that ends with this process, however it ends. The id of the holder is in the file. If another process
// holds the lock and is not about to end, ok is false and holder is its id.
func (d Dir) lock(name string) (unlock func(), holder string, ok bool, err error) {
	path := d.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, "", false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	l, err := filelock.Await(ctx, path, filelock.Exclusive, nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, filelock.Holder(path), false, nil
	case err != nil:
		return nil, "", false, err
	}
	if err := l.Sign(); err != nil {
		l.Release()
		return nil, "", false, err
	}
	return l.Release, "", true, nil
}

// Own makes sure that no other process works on the directory. The error is a *control.RefusedError when one does.
func (d Dir) Own() (unlock func(), err error) {
	unlock, holder, ok, err := d.lock("lock")
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w; choose another with --data", err)
	}
	if ok {
		return unlock, nil
	}
	at := ""
	if r, ok := d.Find(); ok && strconv.Itoa(r.PID) == holder {
		at = ", which answers at " + r.URL
	}
	return nil, inUse("the data directory %s is in use by process %s%s: use that one, stop it, or choose another directory with --data", d, holder, at)
}

// OwnCollector makes sure that no other process on this machine runs the collector, and keeps the instance of this process.
// It returns the instance of the last process, which is now known to be dead, so its name can be taken at once.
func (d Dir) OwnCollector(name events.CollectorName, instance string) (last string, unlock func(), err error) {
	unlock, holder, ok, err := d.lock(filepath.Join("credentials", string(name)+".lock"))
	switch {
	case err != nil:
		return "", nil, err
	case !ok:
		return "", nil, inUse("collector %s already runs on this machine, as process %s: stop that one first, or register another collector", name, holder)
	}
	file := filepath.Join("credentials", string(name)+".instance")
	last = d.Read(file)
	if err := d.Write(file, instance); err != nil {
		unlock()
		return "", nil, err
	}
	return last, unlock, nil
}

// Versions returns the directory of the programs of a supervised collector.
func (d Dir) Versions(name events.CollectorName) string { return d.Path(versionsName(name)) }

func versionsName(name events.CollectorName) string { return filepath.Join("versions", string(name)) }

// OwnVersions makes sure that no other process on this machine supervises the collector.
func (d Dir) OwnVersions(name events.CollectorName) (unlock func(), err error) {
	unlock, holder, ok, err := d.lock(filepath.Join(versionsName(name), "lock"))
	if err != nil || ok {
		return unlock, err
	}
	return nil, inUse("collector %s is already supervised on this machine, by process %s: stop that one first", name, holder)
}

func inUse(format string, args ...any) error {
	return &control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(format, args...)}
}
