package main

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

// dying is how long a lock is waited for: a process that was killed holds what it has until the kernel is done
// with its last write to the disk.
const dying = 3 * time.Second

// lock takes a lock that ends with this process, however it ends. Who holds it is written into the file: when
// that is another process, and it does not end right now, ok is false and holder its id.
func (d directory) lock(name string) (unlock func(), holder string, ok bool, err error) {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, "", false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dying)
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

// own makes sure that no other process works on the data directory.
func (d directory) own() (unlock func(), err error) {
	unlock, holder, ok, err := d.lock("lock")
	if err != nil {
		return nil, fmt.Errorf("take the data directory: %w; choose another with --data", err)
	}
	if ok {
		return unlock, nil
	}
	at := ""
	if r, ok := d.find(); ok && strconv.Itoa(r.PID) == holder {
		at = ", which answers at " + r.URL
	}
	return nil, &control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(
		"the data directory %s is in use by process %s%s: use that one, stop it, or choose another directory with --data", d, holder, at)}
}

// lockInstance makes sure that no other process on this machine runs the collector. The last instance is
// therefore known to be dead, and its name can be taken at once.
func lockInstance(d directory, name events.CollectorName) (unlock func(), err error) {
	unlock, holder, ok, err := d.lock(filepath.Join("credentials", string(name)+".lock"))
	if err != nil || ok {
		return unlock, err
	}
	return nil, &control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf(
		"collector %s runs already on this machine, as process %s: a name belongs to one process at a time", name, holder)}
}
